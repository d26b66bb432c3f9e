/** Every request is answered, whatever it is about and whatever the store does. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { join } from "node:path";
import { describe, test, type TestContext } from "node:test";
import { paths, type RouteName } from "../../src/api/paths.ts";
import { sqlite } from "../../src/sqlite.ts";
import type { HistoryRow, Store } from "../../src/stores/store.ts";
import { type Answered, ServerRig } from "./rig.ts";
import { twoNodes } from "./sample-app.ts";
import { type Subjects, validRequests } from "./valid-requests.ts";

const every = { rateMs: 86_400_000 };
const token = "root-root-root-root";

/** A store that answers nothing while it is away, as one behind a broken network does. */
class HangingStore {
  readonly #return = Promise.withResolvers<void>();
  #isAway = false;
  /** What comes back of histories. */
  tamper: (row: HistoryRow) => HistoryRow = (row) => row;
  readonly store: Store;

  constructor(inner: Store) {
    const names = new Set<string>();
    for (let owner: object = inner; owner !== Object.prototype; owner = Object.getPrototypeOf(owner) as object) {
      for (const name of Object.getOwnPropertyNames(owner)) if (name !== "constructor") names.add(name);
    }
    // Members are read when they are used: some are there only while the store is open.
    const members = [...names].map((name) => [name, { get: () => this.#member(inner, name as keyof Store) }] as const);
    this.store = Object.defineProperties({}, Object.fromEntries(members)) as Store;
  }

  goAway(): void {
    this.#isAway = true;
  }

  /** And answers what it was asked meanwhile. */
  comeBack(): void {
    this.#isAway = false;
    this.#return.resolve();
  }

  #member(inner: Store, name: keyof Store): unknown {
    const value: unknown = inner[name];
    if (typeof value !== "function") return value;
    const answer = (given: unknown[]): unknown => {
      const result: unknown = Reflect.apply(value, inner, given);
      if (name !== "loadHistory") return result;
      return (result as Promise<HistoryRow[]>).then((rows) => rows.map(this.tamper));
    };
    return (...given: unknown[]): unknown =>
      this.#isAway ? this.#return.promise.then(() => answer(given)) : answer(given);
  }
}

interface Answer {
  readonly name: RouteName;
  readonly answered: Answered;
}

/** All operations at once; one that is not answered fails the test by its timeout, and by name. */
async function askAll(rig: ServerRig, subjects: Subjects): Promise<Answer[]> {
  const requests = Object.entries(validRequests(subjects)) as [RouteName, object][];
  const waiting = new Set(requests.map(([name]) => name));
  const late = setTimeout(() => {
    throw new Error(`not answered: ${[...waiting].join(", ")}`);
  }, 40_000);
  const answers: Answer[] = [];
  // What ends something comes last; within a group all come at once.
  const isLast = (name: RouteName): boolean => name.startsWith("delete") || name.startsWith("terminate");
  for (const group of [requests.filter(([name]) => !isLast(name)), requests.filter(([name]) => isLast(name))]) {
    await Promise.all(
      group.map(async ([name, sent]) => {
        answers.push({ name, answered: await rig.send(name, { ...sent, token }) });
        waiting.delete(name);
      }),
    );
  }
  clearTimeout(late);
  return answers;
}

function refusalsOf(answers: readonly Answer[]): Record<string, string> {
  const entries = answers.map(({ name, answered }) => [name, String(answered.envelope.code)] as const);
  return Object.fromEntries(entries.filter(([, code]) => code !== "0"));
}

async function begin(t: TestContext): Promise<ServerRig> {
  const rig = await ServerRig.start(t, { adminToken: token, requestTimeoutSeconds: 3 });
  await rig.ok("createWorkflow", { token, body: { name: "two", dagSpec: twoNodes } });
  await rig.ok("createSchedule", { token, body: { scheduleId: "often", workflow: "two", every } });
  await rig.ok("triggerWorkflow", { token, params: { id: "talk" }, query: { instanceId: "code" }, body: {} });
  await rig.ok("triggerWorkflow", { token, params: { id: "holds" }, query: { instanceId: "dag" }, body: {} });
  return rig;
}

const subjects: Subjects = { instance: "code", workflow: "two", schedule: "often", token: "none" };

describe("every operation is answered in time", () => {
  test("when instances and the schedule's own instance are paused", { timeout: 60_000 }, async (t) => {
    const rig = await begin(t);
    for (const id of ["code", "dag"]) await rig.ok("pauseInstance", { token, params: { id } });
    await rig.server.engine.pauseWorkflowInstance("schedule:often");
    const ofCode = refusalsOf(await askAllBut(rig, subjects, ["resumeInstance", "resumeSchedule"]));
    assert.equal(ofCode["updateInstance"], "INSTANCE_STATE");
    for (const name of ["triggerSchedule", "backfillSchedule", "changeSchedule", "pauseSchedule"]) {
      assert.equal(ofCode[name], "INSTANCE_STATE", name);
    }
    const late = Object.entries(ofCode).filter(([, code]) => code === "DEADLINE_EXCEEDED" || code === "QUERY_TIMEOUT");
    assert.deepEqual(late, []);
    await askAll(rig, { ...subjects, instance: "dag" });
  });

  test("when the workflow of a schedule was deleted", { timeout: 60_000 }, async (t) => {
    const rig = await begin(t);
    await rig.ok("deleteWorkflow", { token, params: { id: "two" } });
    const { message } = await rig.refused(
      "triggerSchedule",
      { token, params: { id: "often" } },
      { status: 404, code: "WORKFLOW_UNKNOWN" },
    );
    assert.match(message ?? "", /schedule "often" starts workflow "two", which is not registered/);
    const refusals = refusalsOf(await askAll(rig, subjects));
    assert.equal(refusals["backfillSchedule"], "WORKFLOW_UNKNOWN");
    assert.equal(refusals["deleteSchedule"], undefined);
  });

  test("when instances are quarantined", { timeout: 60_000 }, async (t) => {
    const rig = await begin(t);
    await rig.stop();
    const hanging = new HangingStore(sqlite(join(rig.folder, "heddle.db")));
    hanging.tamper = (row) => ({ ...row, turn: row.turn + 1 });
    await rig.begin({ adminToken: token, requestTimeoutSeconds: 3, store: hanging.store });
    const view = await rig.send("getInstance", { token, params: { id: "code" } });
    assert.equal(view.envelope.code, "INSTANCE_QUARANTINED", view.text);
    const refusals = refusalsOf(await askAll(rig, subjects));
    for (const name of ["updateInstance", "triggerSchedule", "backfillSchedule", "pauseInstance"]) {
      assert.equal(refusals[name], "INSTANCE_QUARANTINED", name);
    }
    await askAll(rig, { ...subjects, instance: "dag" });
  });

  test("when the store answers nothing", { timeout: 60_000 }, async (t) => {
    const rig = await begin(t);
    await rig.stop();
    const hanging = new HangingStore(sqlite(join(rig.folder, "heddle.db")));
    await rig.begin({ adminToken: token, requestTimeoutSeconds: 2, store: hanging.store });
    await rig.ok("getSchedule", { token, params: { id: "often" } });
    hanging.goAway();
    const answers = await askAll(rig, subjects).finally(() => hanging.comeBack());
    assert.equal(answers.length, Object.keys(paths).length);
    const refusals = refusalsOf(answers);
    assert.equal(refusals["triggerWorkflow"], "DEADLINE_EXCEEDED");
    assert.equal(refusals["listInstances"], "QUERY_TIMEOUT");
  });
});

/** Some would make the others possible. */
async function askAllBut(rig: ServerRig, of: Subjects, left: readonly RouteName[]): Promise<Answer[]> {
  const requests = Object.entries(validRequests(of)) as [RouteName, object][];
  const answers: Answer[] = [];
  for (const [name, sent] of requests) {
    if (left.includes(name) || name === "terminateInstance" || name.startsWith("delete")) continue;
    answers.push({ name, answered: await rig.send(name, { ...sent, token }) });
  }
  return answers;
}

async function answerOf(socket: Socket): Promise<string> {
  let text = "";
  socket.on("data", (chunk: Buffer) => (text += chunk.toString()));
  socket.on("error", () => undefined);
  await once(socket, "close");
  return text;
}

describe("a request that does not arrive", () => {
  const head = [
    "POST /api/workflow/hello/trigger HTTP/1.1",
    "Host: 127.0.0.1",
    `Authorization: Bearer ${token}`,
    "Content-Type: application/json",
  ].join("\r\n");

  for (const [what, sent, drip] of [
    ["with a body that stalls", `${head}\r\nContent-Length: 1000\r\n\r\n{"a":`, undefined],
    ["with a body that drips", `${head}\r\nTransfer-Encoding: chunked\r\n\r\n`, "1\r\n \r\n"],
    ["with a head that stalls", `${head}\r\nX-a: `, undefined],
    ["with a head that drips", `${head}\r\n`, "x: 1\r\n"],
    ["without a byte", "", undefined],
  ] as const) {
    test(`${what} is refused in words`, { timeout: 30_000 }, async (t) => {
      const rig = await ServerRig.start(t, { adminToken: token, requestTimeoutSeconds: 1 });
      const { hostname, port } = new URL(rig.server.url);
      const socket = connect(Number(port), hostname);
      const answered = answerOf(socket);
      socket.write(sent);
      const dripping = setInterval(() => drip !== undefined && socket.writable && socket.write(drip), 100);
      const text = await answered;
      clearInterval(dripping);
      assert.match(text, /^HTTP\/1\.1 408 Request Timeout\r\n/);
      assert.match(text, /"code":"REQUEST_TIMEOUT","message":"the request did not arrive completely in time/);
    });
  }
});
