/** Spec §8.5: what the SDKs of other languages send and expect, byte by byte. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { ServerRig } from "../server/rig.ts";
import { until } from "../support/until.ts";
import { int, intIn, messageIn, part, type Read, read, text, textIn, wrapped } from "./bytes.rig.ts";
import { portOf } from "./clients.rig.ts";
import { RawClient } from "./raw-client.rig.ts";

interface Sdk {
  readonly name: string;
  readonly dialect: "microsoft" | "dapr" | "common";
  /** What it asks for work with. */
  readonly request: Buffer;
  readonly headers: Readonly<Record<string, string>>;
  /** The id of its first action. */
  readonly firstId: number;
  readonly complete: string;
  /** Fields of Dapr that it adds to what it answers. */
  readonly sendsDaprFields: boolean;
  readonly echoesTokens: boolean;
}

const none = Buffer.alloc(0);
const dapr = { complete: "CompleteOrchestratorTask", sendsDaprFields: true, echoesTokens: true };
const microsoft = { complete: "CompleteOrchestratorTask", sendsDaprFields: false, echoesTokens: true };
const token = { "dapr-api-token": "root" };
const bearer = { authorization: "Bearer root" };
const taskHub = { taskhub: "default", "x-user-agent": "durabletask-dotnet/1.0", workerid: "w", ...bearer };

const sdks: readonly Sdk[] = [
  {
    ...dapr,
    name: "Dapr's for Go",
    dialect: "dapr",
    request: none,
    headers: token,
    firstId: 0,
    complete: "CompleteWorkflowTask",
  },
  {
    ...dapr,
    name: "Dapr's for Python",
    dialect: "dapr",
    request: part(4, Buffer.from([2])),
    headers: token,
    firstId: 1,
  },
  { ...dapr, name: "Dapr's for .NET", dialect: "dapr", request: none, headers: token, firstId: 0 },
  { ...dapr, name: "Dapr's for Java", dialect: "dapr", request: none, headers: token, firstId: 0 },
  {
    ...dapr,
    name: "Dapr's for Go, without a token",
    dialect: "common",
    request: none,
    headers: bearer,
    firstId: 0,
    echoesTokens: false,
  },
  {
    ...microsoft,
    name: "Microsoft's for .NET",
    dialect: "microsoft",
    request: Buffer.concat([int(1, 100), int(2, 100), int(3, 100), part(10, Buffer.from([1]))]),
    headers: taskHub,
    firstId: 0,
  },
  {
    ...microsoft,
    name: "Microsoft's for Python",
    dialect: "microsoft",
    request: Buffer.concat([int(1, 10), int(2, 10)]),
    headers: bearer,
    firstId: 1,
  },
];

const [running, completed] = [0, 1];

for (const sdk of sdks) {
  describe(`the SDK of Durable Task: ${sdk.name} [8.5]`, () => {
    test("runs an orchestration of one activity, with bytes that are its own", async (t) => {
      const rig = await ServerRig.start(t, { grpcPort: 0, adminToken: "root" });
      const raw = await RawClient.connect(t, portOf(rig));
      const call = async (method: string, ...parts: readonly Buffer[]): Promise<Read> => {
        const answer = await raw.call(method, Buffer.concat(parts), "root");
        assert.ok(Buffer.isBuffer(answer), "code" in answer ? answer.details : "");
        return read(answer);
      };
      const items = raw.open(t, "GetWorkItems", { bytes: sdk.request, headers: sdk.headers });
      const next = async (place: number): Promise<Read> => {
        await until(() => items.length > place);
        return read(items[place] ?? none);
      };
      const started = await call("StartInstance", text(1, "o-1"), text(2, "checkout"), wrapped(4, "5"));
      assert.equal(textIn(started, 1), "o-1");
      const first = await next(0);
      checkFirstTurn(messageIn(first, 1));
      const tokenOf = (item: Read): Buffer => (sdk.echoesTokens ? text(4, textIn(item, 10)) : none);
      const dialectFields = sdk.sendsDaprFields ? [text(5, "execution-1")] : [];
      const router = sdk.sendsDaprFields ? [part(9, text(1, "app"))] : [];
      const schedule = part(2, text(1, "pay"), wrapped(3, "5"), ...dialectFields);
      const scheduled = part(2, int(1, sdk.firstId), schedule, ...router);
      await call(sdk.complete, text(1, "o-1"), scheduled, wrapped(3, ""), tokenOf(first));
      const second = await next(1);
      const activity = messageIn(second, 2);
      checkActivity(activity, sdk);
      const activityToken = sdk.echoesTokens ? text(5, textIn(second, 10)) : none;
      await call("CompleteActivityTask", text(1, "o-1"), int(2, intIn(activity, 5)), wrapped(3, "6"), activityToken);
      const third = await next(2);
      checkLastTurn(messageIn(third, 1), sdk);
      assert.equal(intIn(messageIn(await call("GetInstance", text(1, "o-1")), 2), 4), running);
      const end = part(2, int(1, sdk.firstId + 1), part(6, int(1, completed), wrapped(2, "7")), ...router);
      await call(sdk.complete, text(1, "o-1"), end, tokenOf(third));
      const state = messageIn(await call("WaitForInstanceCompletion", text(1, "o-1"), int(2, 1)), 2);
      assert.equal(intIn(state, 4), completed);
      assert.equal(textIn(messageIn(state, 8), 1), "5");
      assert.equal(textIn(messageIn(state, 9), 1), "7");
    });
  });
}

/** Field numbers that the dialects use for different things are not sent to anybody. */
function checkFirstTurn(request: Read): void {
  for (const field of [5, 6, 7, 8, 9]) assert.ok(!request.has(field), `the request has a field ${field}`);
  assert.equal(textIn(request, 1), "o-1");
  const executionId = textIn(messageIn(request, 2), 1);
  assert.match(executionId, /^[0-9a-f]{32}$/);
  assert.equal(request.get(4)?.length, 2);
  const [orchestratorStarted, executionStarted] = [messageIn(request, 4, 0), messageIn(request, 4, 1)];
  assert.ok(orchestratorStarted.has(14) && orchestratorStarted.has(2));
  const begun = messageIn(executionStarted, 3);
  assert.equal(textIn(begun, 1), "checkout");
  assert.equal(textIn(messageIn(begun, 3), 1), "5");
  assert.equal(textIn(messageIn(messageIn(begun, 4), 2), 1), executionId);
}

function checkActivity(activity: Read, { dialect }: Sdk): void {
  assert.equal(textIn(activity, 1), "pay");
  assert.equal(textIn(messageIn(activity, 3), 1), "5");
  assert.equal(textIn(messageIn(activity, 4), 1), "o-1");
  assert.ok(intIn(activity, 5) > 0);
  assert.equal(activity.has(7), dialect === "dapr");
}

function checkLastTurn(request: Read, { firstId }: Sdk): void {
  assert.equal(request.get(3)?.length, 3);
  const scheduled = messageIn(request, 3, 2);
  assert.equal(intIn(scheduled, 1), firstId);
  const task = messageIn(scheduled, 6);
  assert.equal(textIn(task, 1), "pay");
  assert.ok(!task.has(5) && !scheduled.has(30));
  const done = messageIn(messageIn(request, 4, 1), 7);
  assert.equal(intIn(done, 1), firstId);
  assert.equal(textIn(messageIn(done, 2), 1), "6");
}
