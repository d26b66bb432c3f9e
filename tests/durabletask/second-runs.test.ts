import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { ServerRig } from "../server/rig.ts";
import { portOf } from "./clients.rig.ts";
import { type Orchestration, scene, startWorker } from "./orchestrations.rig.ts";
import { RawClient } from "./raw-client.rig.ts";
import { microsoftClient, microsoftWorker, status, tasksOf } from "./sdk.rig.ts";
import {
  getHistoryRequest,
  getHistoryResponse,
  listAllIdsRequest,
  listAllIdsResponse,
  rerunRequest,
  rerunResponse,
} from "../../src/durabletask/client-messages.ts";

const notFound = 5;
const failedPrecondition = 9;
const invalidArgument = 3;

describe("the history of an orchestration over the protocol [8.5]", () => {
  test("has the events that Microsoft's server has, in their order", async (t) => {
    const { client, worker, rig } = await scene(t, microsoftClient, microsoftWorker);
    worker.addNamedActivity("greet", (_context, name: string) => `hello ${name}`);
    worker.addNamedOrchestrator("child", async () => "child");
    worker.addNamedOrchestrator("all", async function* (ctx: Orchestration) {
      yield ctx.callActivity("greet", "Ada");
      yield ctx.createTimer(new Date(ctx.currentUtcDateTime.getTime() + 100));
      yield ctx.callSubOrchestrator("child");
      return "done";
    });
    await startWorker(t, worker);
    const id = await client.scheduleNewOrchestration("all");
    await client.waitForOrchestrationCompletion(id, true, 30);
    assert.ok(client.getOrchestrationHistory !== undefined);
    const history = await client.getOrchestrationHistory(id);
    assert.deepEqual(
      history.map(({ type }) => type),
      [
        "OrchestratorStarted",
        "ExecutionStarted",
        "TaskScheduled",
        "OrchestratorStarted",
        "TaskCompleted",
        "TimerCreated",
        "OrchestratorStarted",
        "TimerFired",
        "SubOrchestrationInstanceCreated",
        "OrchestratorStarted",
        "SubOrchestrationInstanceCompleted",
        "ExecutionCompleted",
      ],
    );
    assert.deepEqual(await client.getOrchestrationHistory("nobody"), []);
    const raw = await RawClient.connect(t, portOf(rig));
    const answer = await raw.call("GetInstanceHistory", getHistoryRequest.encode({ instanceId: id }));
    assert.ok(Buffer.isBuffer(answer));
    assert.equal(getHistoryResponse.decode(answer).events.length, history.length);
    const missing = await raw.call("GetInstanceHistory", getHistoryRequest.encode({ instanceId: "nobody" }));
    assert.ok("code" in missing);
    assert.equal(missing.code, notFound);
    const dag = await client.scheduleNewOrchestration("hello");
    await assert.rejects(client.getOrchestrationHistory(dag), /is a DAG/);
  });

  test("shows suspensions, which its worker does not hear of", async (t) => {
    const { client, worker } = await scene(t, microsoftClient, microsoftWorker);
    worker.addNamedOrchestrator("waits", async function* (ctx: Orchestration) {
      yield ctx.waitForExternalEvent("go");
    });
    await startWorker(t, worker);
    const id = await client.scheduleNewOrchestration("waits");
    await client.waitForOrchestrationStart(id, false, 30);
    await client.suspendOrchestration(id);
    await client.resumeOrchestration(id);
    await client.raiseOrchestrationEvent(id, "go", 1);
    await client.waitForOrchestrationCompletion(id, true, 30);
    const types = (await client.getOrchestrationHistory?.(id))?.map(({ type }) => type) ?? [];
    assert.ok(types.includes("ExecutionSuspended") && types.includes("ExecutionResumed"));
  });
});

describe("lists of ids [8.5]", () => {
  test("are of ended instances for Microsoft's clients, and of all for Dapr's; both in pages", async (t) => {
    const rig = await ServerRig.start(t, { grpcPort: 0 });
    const client = await microsoftClient(t, portOf(rig));
    const ids: string[] = [];
    for (let n = 0; n < 5; n++) ids.push(await client.scheduleNewOrchestration("hello", undefined, `ids-${n}`));
    for (const id of ids) await client.waitForOrchestrationCompletion(id, false, 10);
    await client.scheduleNewOrchestration("talk", undefined, "ids-open");
    assert.ok(client.listInstanceIds !== undefined);
    const first = await client.listInstanceIds({ pageSize: 3 });
    const second = await client.listInstanceIds({ pageSize: 3, lastInstanceKey: first.continuationToken });
    assert.deepEqual([...first.values, ...second.values].toSorted(), ids);
    assert.equal(second.hasMoreResults, false);
    const later = new Date(Date.now() + 60_000);
    assert.deepEqual((await client.listInstanceIds({ completedTimeFrom: later })).values, []);
    assert.equal((await client.listInstanceIds({ completedTimeTo: later })).values.length, 5);
    assert.deepEqual((await client.listInstanceIds({ runtimeStatus: [status.failed] })).values, []);
    const raw = await RawClient.connect(t, portOf(rig));
    const found: string[] = [];
    let token = "";
    do {
      const asked = listAllIdsRequest.encode({ continuationToken: token, limit: 4 });
      const answer = await raw.call("ListInstanceIDs", asked);
      assert.ok(Buffer.isBuffer(answer));
      const { instanceIds, continuationToken } = listAllIdsResponse.decode(answer);
      found.push(...instanceIds);
      token = continuationToken;
    } while (token !== "");
    assert.deepEqual(found.toSorted(), [...ids, "ids-open"]);
  });
});

describe("a second run [8.5]", () => {
  test("restarts with the same input and tags, under its own id or a new one", async (t) => {
    const { client, worker } = await scene(t, microsoftClient, microsoftWorker);
    worker.addNamedOrchestrator("double", async (_ctx: Orchestration, n: number) => n * 2);
    worker.addNamedOrchestrator("waits", async function* (ctx: Orchestration) {
      yield ctx.waitForExternalEvent("go");
    });
    await startWorker(t, worker);
    assert.ok(client.restartOrchestration !== undefined);
    const id = await client.scheduleNewOrchestration("double", 21, { instanceId: "again", tags: { team: "looms" } });
    assert.equal((await client.waitForOrchestrationCompletion(id, true, 30))?.serializedOutput, "42");
    assert.equal(await client.restartOrchestration("again"), "again");
    const second = await client.waitForOrchestrationCompletion("again", true, 30);
    assert.equal(second?.serializedOutput, "42");
    assert.deepEqual(second.tags, { team: "looms" });
    const other = await client.restartOrchestration("again", true);
    assert.notEqual(other, "again");
    assert.equal((await client.waitForOrchestrationCompletion(other, true, 30))?.serializedInput, "21");
    await client.scheduleNewOrchestration("waits", undefined, "open");
    await client.waitForOrchestrationStart("open", false, 30);
    await assert.rejects(client.restartOrchestration("open"), /cannot be restarted/);
    assert.notEqual(await client.restartOrchestration("open", true), "open");
    await assert.rejects(client.restartOrchestration("nobody"), /was not found/);
  });

  test("rewinds: what succeeded is kept, what failed runs again, in children too", async (t) => {
    const { client, worker } = await scene(t, microsoftClient, microsoftWorker);
    const { whenAll } = await tasksOf("@microsoft/durabletask-js");
    const runs: string[] = [];
    let isBroken = true;
    worker.addNamedActivity("sound", (_context, name: string) => {
      runs.push(name);
      return name;
    });
    worker.addNamedActivity("flaky", (_context, name: string) => {
      runs.push(name);
      if (isBroken) throw new Error("no such luck");
      return name;
    });
    worker.addNamedOrchestrator("child", async function* (ctx: Orchestration) {
      yield ctx.callActivity("sound", "child 1");
      return (yield ctx.callActivity("flaky", "child 2")) as string;
    });
    worker.addNamedOrchestrator("parent", async function* (ctx: Orchestration) {
      const first = (yield ctx.callActivity("sound", "first")) as string;
      const tasks = [ctx.callActivity("sound", "second"), ctx.callSubOrchestrator("child")];
      const others = (yield whenAll(tasks)) as string[];
      return [first, others];
    });
    await startWorker(t, worker);
    assert.ok(client.rewindInstance !== undefined);
    const id = await client.scheduleNewOrchestration("parent", undefined, "rewound");
    const failed = await client.waitForOrchestrationCompletion(id, true, 30);
    assert.equal(failed?.runtimeStatus, status.failed);
    isBroken = false;
    await client.rewindInstance(id, "the fault is mended");
    const ended = await client.waitForOrchestrationCompletion(id, true, 30);
    assert.equal(ended?.serializedOutput, '["first",["second","child 2"]]');
    assert.deepEqual(runs.toSorted(), ["child 1", "child 2", "child 2", "first", "second"]);
    await assert.rejects(client.rewindInstance(id, "again"), /does not allow/);
    await assert.rejects(client.rewindInstance("nobody", "x"), /was not found/);
  });

  test("rewinds code that failed by itself: its last part runs again", async (t) => {
    const { client, worker } = await scene(t, microsoftClient, microsoftWorker);
    let [activities, attempts] = [0, 0];
    worker.addNamedActivity("count", () => ++activities);
    worker.addNamedOrchestrator("throws", async function* (ctx: Orchestration) {
      yield ctx.callActivity("count");
      if (++attempts === 1) throw new Error("first attempt");
      return attempts;
    });
    await startWorker(t, worker);
    const id = await client.scheduleNewOrchestration("throws");
    await client.waitForOrchestrationCompletion(id, true, 30);
    await client.rewindInstance?.(id, "again");
    assert.equal((await client.waitForOrchestrationCompletion(id, true, 30))?.serializedOutput, "2");
    assert.equal(activities, 1);
  });

  test("begins with an event of another run, with another input if one is given", async (t) => {
    const { client, worker, rig } = await scene(t, microsoftClient, microsoftWorker);
    const runs: number[] = [];
    worker.addNamedActivity("add", (_context, n: number) => {
      runs.push(n);
      return n + 1;
    });
    worker.addNamedOrchestrator("sums", async function* (ctx: Orchestration) {
      let n = 0;
      for (let at = 0; at < 3; at++) n = (yield ctx.callActivity("add", n)) as number;
      yield ctx.createTimer(0.1);
      return n;
    });
    await startWorker(t, worker);
    const id = await client.scheduleNewOrchestration("sums", undefined, "source");
    await client.waitForOrchestrationCompletion(id, true, 30);
    const raw = await RawClient.connect(t, portOf(rig));
    const rerun = async (request: Parameters<typeof rerunRequest.encode>[0]): Promise<string> => {
      const answer = await raw.call("RerunWorkflowFromEvent", rerunRequest.encode(request));
      return Buffer.isBuffer(answer) ? rerunResponse.decode(answer).newId : `${answer.code}`;
    };
    const input = { overwritesInput: true, input: "40" };
    assert.equal(await rerun({ sourceId: id, eventId: 2, newId: "rerun", ...input }), "rerun");
    const ended = await client.waitForOrchestrationCompletion("rerun", true, 30);
    assert.equal(ended?.serializedOutput, "42");
    assert.deepEqual(runs, [0, 1, 2, 40, 41]);
    const named = await rerun({ sourceId: id, eventId: 4 });
    assert.equal((await client.waitForOrchestrationCompletion(named, true, 30))?.serializedOutput, "3");
    assert.equal(runs.length, 5);
    assert.equal(await rerun({ sourceId: "nobody", eventId: 1 }), `${notFound}`);
    assert.equal(await rerun({ sourceId: id, eventId: 9 }), `${notFound}`);
    assert.equal(await rerun({ sourceId: id, eventId: 5 }), `${notFound}`);
    assert.equal(await rerun({ sourceId: id, eventId: 1, newId: id }), `${invalidArgument}`);
    assert.equal(await rerun({ sourceId: id, eventId: 4, ...input }), `${invalidArgument}`);
    for (const newId of ["@acme/rerun", "a\0b", "r".repeat(513), "key:a"])
      assert.equal(await rerun({ sourceId: id, eventId: 1, newId }), `${invalidArgument}`, newId.slice(0, 20));
    assert.equal(await rerun({ sourceId: id, eventId: 1, newId: "rerun" }), "6");
    const dag = await client.scheduleNewOrchestration("hello");
    await client.waitForOrchestrationCompletion(dag, true, 30);
    assert.equal(await rerun({ sourceId: dag, eventId: 1 }), `${failedPrecondition}`);
  });
});

test("8.5 the tags of an orchestration are kept when it begins anew", async (t) => {
  const { client, worker } = await scene(t, microsoftClient, microsoftWorker);
  worker.addNamedOrchestrator("count", async function* (ctx: Orchestration, n: number) {
    if (n < 3) ctx.continueAsNew(n + 1, true);
    yield ctx.createTimer(0.01);
    return n;
  });
  await startWorker(t, worker);
  const id = await client.scheduleNewOrchestration("count", 1, { tags: { team: "looms", size: "3" } });
  const ended = await client.waitForOrchestrationCompletion(id, true, 30);
  assert.equal(ended?.serializedOutput, "3");
  assert.deepEqual(ended.tags, { team: "looms", size: "3" });
});
