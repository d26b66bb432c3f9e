/** Spec §12.1: every operation once, answered exactly as the contract says. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { paths } from "../../src/api/paths.ts";
import { ServerRig } from "./rig.ts";
import { twoNodes } from "./sample-app.ts";

describe("the operations of the contract", () => {
  test("12.1 are all there, and answer what the contract says", async (t) => {
    const rig = await ServerRig.start(t);
    await workflows(rig);
    await instances(rig);
    await nodes(rig);
    await code(rig);
    await schedules(rig);
    await jobs(rig);
    await cluster(rig);
    await security(rig);
    const left = Object.keys(paths).filter((name) => !rig.done.has(name as keyof typeof paths));
    assert.deepEqual(left, []);
    assert.deepEqual(rig.problems, []);
  });
});

async function workflows(rig: ServerRig): Promise<void> {
  const made = await rig.ok("createWorkflow", { body: { name: "two", dagSpec: twoNodes } });
  const list = await rig.ok("listWorkflows");
  assert.deepEqual(
    list.items.map(({ name, origin }) => [name, origin]),
    [
      ["fails", "code"],
      ["hello", "code"],
      ["holds", "code"],
      ["order", "code"],
      ["pauses", "code"],
      ["talk", "code"],
      ["two", "catalogue"],
    ],
  );
  const searched = await rig.ok("listWorkflows", { query: { search: "two" } });
  assert.deepEqual(
    searched.items.map(({ name }) => name),
    ["two"],
  );
  for (const id of ["two", made.id]) {
    const { dagSpec, nodes: count, version } = await rig.ok("getWorkflow", { params: { id } });
    assert.deepEqual([dagSpec?.nodes.length, count, version], [2, 2, made.version]);
  }
  const ofProgram = await rig.ok("getWorkflow", { params: { id: "talk" } });
  assert.deepEqual([ofProgram.kind, ofProgram.dagSpec, ofProgram.inputSchema], ["code", null, null]);
  const { inputSchema } = await rig.ok("getWorkflow", { params: { id: "order" } });
  assert.deepEqual([inputSchema?.["type"], inputSchema?.["required"]], ["object", ["customer", "amount"]]);
  await checks(rig);
  const changed = { ...twoNodes, edges: [] };
  const saved = await rig.ok("updateWorkflow", {
    params: { id: "two" },
    body: { dagSpec: changed, ifVersion: made.version },
  });
  assert.notEqual(saved.version, made.version);
  await rig.refused(
    "updateWorkflow",
    { params: { id: "two" }, body: { dagSpec: twoNodes, ifVersion: made.version } },
    { status: 409, code: "VERSION_CHANGED" },
  );
  const versions = await rig.ok("listWorkflowVersions", { params: { id: "two" } });
  assert.deepEqual(
    versions.items.map(({ version, isCurrent, by }) => [version, isCurrent, by]),
    [
      [saved.version, true, "local"],
      [made.version, false, "local"],
    ],
  );
  const diff = await rig.ok("diffWorkflow", { params: { id: "two" }, query: { from: made.version } });
  assert.deepEqual([diff.to, diff.changes.map(({ op }) => op)], [saved.version, ["removed"]]);
  const back = await rig.ok("rollBackWorkflow", { params: { id: "two" }, body: { version: made.version } });
  assert.equal(back.version, made.version);
  await rig.ok("scheduleWorkflow", {
    params: { id: "two" },
    body: { cronExpr: "0 3 * * *", timeZone: "UTC", overlap: "queue", misfire: "none", enable: true },
  });
  const { spec } = (await rig.ok("getSchedule", { params: { id: "two" } })) as unknown as { spec: object };
  assert.deepEqual(spec, {
    workflow: "two",
    every: { cron: "0 3 * * *", timeZone: "UTC" },
    whenBusy: "queue",
    whenMissed: "none",
  });
  const scheduled = await rig.ok("getWorkflow", { params: { id: "two" } });
  assert.deepEqual([scheduled.enableSchedule, scheduled.nextFireTimes.length], [true, 5]);
  assert.deepEqual([scheduled.overlap, scheduled.misfire], ["queue", "none"]);
  await schedulesOfWorkflow(rig);
  const { instanceId } = await rig.ok("triggerWorkflow", { params: { id: made.id }, body: { colour: "red" } });
  assert.deepEqual((await rig.end(instanceId)).output, { a: "hello", b: "world" });
  await rig.ok("deleteWorkflow", { params: { id: "two" } });
  await rig.refused("triggerWorkflow", { params: { id: "two" } }, { status: 404, code: "WORKFLOW_UNKNOWN" });
  await rig.refused("getWorkflow", { params: { id: "two" } }, { status: 404, code: "WORKFLOW_UNKNOWN" });
}

/** Everything that is wrong with a definition is listed with its task, and nothing is saved. */
async function checks(rig: ServerRig): Promise<void> {
  const check = async (nodes: object[], edges: object[] = []): Promise<unknown[]> => {
    const { problems } = await rig.ok("checkWorkflow", { body: { name: "draft", dagSpec: { nodes, edges } } });
    return problems.map(({ code, task, mayStillCome }) => [code, task, mayStillCome]);
  };
  assert.deepEqual(await check(twoNodes.nodes, twoNodes.edges), []);
  const faults = await check([
    { nodeId: 1, nodeName: "a", jobName: "gone" },
    { nodeId: 2, nodeName: "b", nodeType: 2, nodeParams: "1 +" },
    { nodeId: 3, nodeName: "c", nodeType: 3, workflowName: "none" },
    { nodeId: 4, nodeName: "d", jobName: "say", domain: "moon" },
  ]);
  assert.deepEqual(faults, [
    ["JOB_MISSING", "a", true],
    ["DECISION_INVALID", "b", false],
    ["DOMAIN_UNKNOWN", "d", true],
    ["WORKFLOW_UNKNOWN", "c", true],
  ]);
  const circle = [
    { from: 1, to: 2 },
    { from: 2, to: 1 },
  ];
  assert.deepEqual(await check(twoNodes.nodes, circle), [["WORKFLOW_CYCLE", undefined, false]]);
  await rig.refused("getWorkflow", { params: { id: "draft" } }, { status: 404, code: "WORKFLOW_UNKNOWN" });
}

/** What a workflow says of its schedule is changed through the workflow, whichever way it is asked for. */
async function schedulesOfWorkflow(rig: ServerRig): Promise<void> {
  const params = { id: "two" };
  const isEnabled = async (): Promise<unknown[]> => [
    (await rig.ok("getWorkflow", { params })).enableSchedule,
    (await rig.ok("getSchedule", { params }))["isEnabled"],
  ];
  await rig.ok("pauseSchedule", { params });
  while ((await isEnabled())[1] === true) await new Promise((resolve) => setTimeout(resolve, 5));
  assert.deepEqual(await isEnabled(), [false, false]);
  await rig.ok("resumeSchedule", { params });
  while ((await isEnabled())[1] === false) await new Promise((resolve) => setTimeout(resolve, 5));
  assert.deepEqual(await isEnabled(), [true, true]);
  const body = { workflow: "two", every: { rateMs: 1000 } };
  const owned = { status: 409, code: "SCHEDULE_OWNED" };
  const refusals = [
    await rig.refused("changeSchedule", { params, body }, owned),
    await rig.refused("deleteSchedule", { params }, owned),
  ];
  for (const { message } of refusals) assert.match(message ?? "", /PUT \/api\/workflow\/two\/schedule/);
  await rig.refused("pauseSchedule", { params: { id: "nobody" } }, { status: 404, code: "SCHEDULE_UNKNOWN" });
}

/** Spec §3.13: by the start request, and what cannot be is refused. */
async function startedWithLimit(rig: ServerRig): Promise<void> {
  const dagSpec = { nodes: [1, 2, 3].map((nodeId) => ({ nodeId, jobName: "hold" })), edges: [] };
  await rig.ok("createWorkflow", { body: { name: "three", dagSpec } });
  const three = { params: { id: "three" }, key: "limited" };
  const { instanceId } = await rig.ok("triggerWorkflow", { ...three, query: { maxConcurrentTasks: 2 } });
  const waiting = await rig.ok("listWaitingNodes", { query: { limit: 1 } });
  const [node] = waiting;
  assert.deepEqual([waiting.length, node?.wait?.reason], [1, "instance-limit"]);
  assert.deepEqual([node?.status, node?.statusText, node?.nodeType], ["WAITING", "Pending", "TASK"]);
  const counts = await rig.ok("countQueuedNodes");
  assert.deepEqual(
    [counts.waiting.total, counts.waiting.byReason, counts.waiting.byWorkflow, counts.running.total],
    [1, [{ name: "instance-limit", count: 1 }], [{ name: "three", count: 1 }], 2],
  );
  await rig.ok("triggerWorkflow", { ...three, query: { maxConcurrentTasks: 2 } });
  const reused = { status: 409, code: "IDEMPOTENCY_KEY_REUSED" };
  await rig.refused("triggerWorkflow", { ...three, query: { maxConcurrentTasks: 3 } }, reused);
  const invalid = { status: 400, code: "REQUEST_INVALID" };
  for (const maxConcurrentTasks of ["0", "many", "1.5"]) {
    await rig.refused("triggerWorkflow", { ...three, query: { maxConcurrentTasks } }, invalid);
  }
  await rig.refused("triggerWorkflow", { params: { id: "talk" }, query: { maxConcurrentTasks: 2 } }, invalid);
  const body = { maxConcurrentTasks: [] };
  await rig.refused("triggerWorkflow", { params: { id: "three" }, body }, { status: 400, code: "OPTION_INVALID" });
  await rig.ok("terminateInstance", { params: { id: instanceId }, body: {} });
  await rig.ok("deleteWorkflow", { params: { id: "three" } });
}

async function instances(rig: ServerRig): Promise<void> {
  const { instanceId: id } = await rig.ok("triggerWorkflow", {
    params: { id: "hello" },
    query: { instanceId: "first" },
    body: { colour: "red" },
  });
  assert.equal(id, "first");
  await startedWithLimit(rig);
  assert.deepEqual((await rig.end(id)).output, { greet: "hi" });
  const view = await rig.ok("getInstance", { params: { id } });
  assert.deepEqual([view.status, view.tasks[0]?.status], ["Success", "Success"]);
  const listed = await rig.ok("listInstances", { query: { workflow: "hello", status: "Success,Failed" } });
  assert.deepEqual(
    listed.items.map(({ instanceId }) => instanceId),
    ["first"],
  );
  const history = await rig.ok("getHistory", { params: { id } });
  assert.equal(history.items[0]?.events[0]?.type, "InstanceCreated");
  const attempts = await rig.ok("listAttempts", { params: { id } });
  assert.deepEqual(
    attempts.items.map(({ name, attempt, status }) => [name, attempt, status]),
    [["greet", 1, "Success"]],
  );
  const { completedTasks } = await rig.ok("getBreakpoint", { params: { id } });
  assert.deepEqual(completedTasks, ["greet"]);
  assert.deepEqual(await rig.ok("getContext", { params: { id } }), { colour: "red" });
  const logs = await rig.ok("getLogs", { params: { id } });
  assert.deepEqual(
    logs.items.map(({ message, taskName, level }) => [message, taskName, level]),
    [["said", "greet", "info"]],
  );
  assert.equal((await rig.ok("getLogs", { params: { id }, query: { task: "greet", last: true } })).items.length, 1);
  assert.deepEqual((await rig.ok("getLogs", { params: { id }, query: { task: "other" } })).items, []);
  const [sample] = logs.items;
  const search = sample?.message.slice(0, 5).toUpperCase() ?? "";
  assert.ok((await rig.ok("getLogs", { params: { id }, query: { search } })).items.length > 0);
  assert.ok((await rig.ok("getLogs", { params: { id }, query: { search, last: true } })).items.length > 0);
  assert.deepEqual((await rig.ok("getLogs", { params: { id }, query: { search: "nowhere to be found" } })).items, []);
  const monitored = await rig.ok("monitorInstance", { params: { instanceId: id } });
  const [node] = monitored.nodes;
  assert.deepEqual([monitored.completedNodes, node?.result, node?.nodeType], [1, "hi", "TASK"]);
  await rig.ok("triggerWorkflow", { params: { id: "hello" }, query: { instanceId: "first-like" } });
  await rig.end("first-like");
  await rig.ok("deleteInstance", { params: { id } });
  await rig.refused("getInstance", { params: { id } }, { status: 404, code: "INSTANCE_UNKNOWN" });
  await rig.refused("getLogs", { params: { id } }, { status: 404, code: "INSTANCE_UNKNOWN" });
  assert.equal((await rig.ok("getLogs", { params: { id: "first-like" } })).items.length, 1);
  await rig.refused("getLogs", { params: { id: "never" } }, { status: 404, code: "INSTANCE_UNKNOWN" });
}

async function nodes(rig: ServerRig): Promise<void> {
  const start = async (workflow: string): Promise<string> =>
    (await rig.ok("triggerWorkflow", { params: { id: workflow } })).instanceId;
  const held = await start("holds");
  const running = async (): Promise<number> => (await rig.ok("listRunningNodes")).length;
  while ((await running()) === 0) await new Promise((resolve) => setTimeout(resolve, 5));
  assert.deepEqual(await rig.ok("listWaitingNodes"), []);
  assert.equal((await rig.ok("countOwnTasks")).count, 1);
  assert.deepEqual((await rig.ok("listStuckInstances")).items, []);
  const [stuck] = (await rig.ok("listStuckInstances", { query: { minutes: 0 } })).items;
  const stats = await rig.ok("getStats", { query: { hours: 2, buckets: 3 } });
  assert.deepEqual([stats.buckets.length, stats.isComplete, stats.bucketMs], [3, true, 2_400_000]);
  const heldView = await rig.ok("getInstance", { params: { id: held } });
  assert.deepEqual([stuck?.instanceId, stuck?.workflowName], [held, "holds"]);
  assert.deepEqual([heldView.trigger, heldView.historyLength > 1], ["api", true]);
  const topology = await rig.ok("monitorTopology", { params: { instanceId: held } });
  assert.deepEqual(topology.edges, [{ from: 1, to: 2, property: null, enable: true }]);
  await rig.ok("patchContext", { params: { id: held }, body: { size: 3 } });
  await rig.ok("changeNodeParams", { params: { id: held, nodeId: 2 }, body: { params: "otherwise" } });
  await rig.ok("pauseInstance", { params: { id: held } });
  await rig.ok("resumeInstance", { params: { id: held } });
  await rig.refused("deleteInstance", { params: { id: held } }, { status: 409, code: "INSTANCE_STATE" });
  const waiting = await rig.ok("getNode", { params: { id: held, nodeId: "wait" } });
  assert.deepEqual([waiting.number, waiting.status, waiting.subTasks], [0, "Running", {}]);
  const isNoMap = { status: 422, code: "TASK_INVALID" } as const;
  await rig.refused("listMapItems", { params: { id: held, nodeId: "wait" } }, isNoMap);
  await maps(rig);
  await rig.refused("getNode", { params: { id: held, nodeId: "nobody" } }, { status: 404, code: "TASK_UNKNOWN" });
  await rig.refused("stopNode", { params: { id: held, nodeId: "nobody" } }, { status: 404, code: "TASK_UNKNOWN" });
  await rig.refused("stopNode", { params: { id: held, nodeId: 2 } }, { status: 409, code: "TASK_STATE" });
  const stopped = await start("holds");
  await rig.ok("stopNode", { params: { id: stopped, nodeId: 1 }, body: { reason: "enough" } });
  assert.equal((await rig.end(stopped)).reason, 'task "wait" failed: enough');
  const askedToken = async (): Promise<{ instanceId: string; token: string }> => {
    const { instanceId } = await rig.ok("runJob", { params: { name: "ask" } });
    for (;;) {
      const [line] = (await rig.ok("getLogs", { params: { id: instanceId } })).items;
      if (line !== undefined) return { instanceId, token: String(line.fields["token"]) };
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
  };
  const answered = await askedToken();
  const ofAnswered = { params: { token: answered.token } };
  const { instanceId } = answered;
  const misspelt = { status: 400, code: "REQUEST_INVALID" };
  await rig.refused("completeTask", { ...ofAnswered, body: { outptu: [1] } }, misspelt);
  await rig.refused("failTask", { ...ofAnswered, body: { message: "no", retriable: false } }, misspelt);
  assert.deepEqual(await rig.ok("completeTask", { ...ofAnswered, body: { output: [1] } }), { instanceId });
  assert.deepEqual((await rig.end(instanceId)).output, { ask: [1] });
  await rig.refused("completeTask", ofAnswered, { status: 409, code: "COMPLETION_LATE" });
  const declined = await askedToken();
  await rig.ok("failTask", { params: { token: declined.token }, body: { message: "no", retryable: false } });
  assert.equal((await rig.end(declined.instanceId)).reason, 'task "ask" failed: no');
  const nobody = { params: { token: "hct_none.none" } };
  const unknown = { status: 404, code: "COMPLETION_TOKEN_INVALID" } as const;
  await rig.refused("completeTask", nobody, unknown);
  await rig.refused("failTask", { ...nobody, body: { message: "no" } }, unknown);
  await rig.ok("terminateInstance", { params: { id: held }, body: { reason: "enough" } });
  assert.deepEqual(await rig.end(held), { hasEnded: true, status: "Terminated", reason: "enough", output: null });

  const failed = await start("fails");
  assert.equal((await rig.end(failed)).status, "Failed");
  const ofFailed = { operation: "retry" as const, filter: { idPrefix: failed } };
  assert.equal((await rig.ok("countBulk", { body: ofFailed })).count, 1);
  assert.deepEqual((await rig.ok("bulkInstances", { body: ofFailed })).instanceIds, [failed]);
  await rig.end(failed);
  const monitored = await rig.ok("monitorInstance", { params: { instanceId: failed } });
  assert.deepEqual(
    monitored.nodes.map(({ nodeName, result }) => [nodeName, result]),
    [
      ["greet", "hi"],
      ["stumble", null],
    ],
  );
  await rig.ok("retryInstance", { params: { id: failed } });
  await rig.end(failed);
  await rig.ok("rerunInstance", { params: { id: failed }, body: { task: "greet", params: "again" } });
  await rig.end(failed);
  await rig.ok("retryNode", { params: { id: failed, nodeId: "stumble" } });
  await rig.end(failed);
  await rig.ok("succeedNode", { params: { id: failed, nodeId: 2 }, body: { output: "so be it" } });
  assert.deepEqual((await rig.end(failed)).output, { greet: "again", stumble: "so be it" });
  const skipped = await start("fails");
  await rig.end(skipped);
  await rig.ok("skipNode", { params: { id: skipped, nodeId: "stumble" } });
  assert.equal((await rig.end(skipped)).status, "Success");
  await rig.refused("skipNode", { params: { id: skipped, nodeId: "nobody" } }, { status: 404, code: "TASK_UNKNOWN" });
}

async function maps(rig: ServerRig): Promise<void> {
  const nodes = [{ nodeId: 7, nodeName: "m", jobName: "say", executeType: 4, map: { items: ["x", "y", "z"] } }];
  await rig.ok("createWorkflow", { body: { name: "mapped", dagSpec: { nodes } } });
  const { instanceId: id } = await rig.ok("triggerWorkflow", { params: { id: "mapped" } });
  await rig.end(id);
  const first = await rig.ok("listMapItems", { params: { id, nodeId: 7 }, query: { limit: 2, status: "Success" } });
  assert.deepEqual([first.counts.succeeded, first.items.map(({ output }) => output)], [3, ["x", "y"]]);
  const cursor = first.next ?? "";
  const second = await rig.ok("listMapItems", { params: { id, nodeId: "m" }, query: { limit: 2, cursor } });
  assert.deepEqual([second.items.map(({ index, item }) => [index, item]), second.next], [[[2, "z"]], null]);
  await rig.ok("deleteWorkflow", { params: { id: "mapped" } });
}

async function code(rig: ServerRig): Promise<void> {
  const { instanceId: id } = await rig.ok("triggerWorkflow", { params: { id: "talk" }, body: { topic: "tea" } });
  assert.equal(await rig.ok("updateInstance", { params: { id, name: "add" }, body: 2 }), 2);
  await rig.refused(
    "updateInstance",
    { params: { id, name: "add" }, body: -1 },
    { status: 422, code: "HANDLER_FAILED" },
  );
  assert.equal(await rig.ok("queryInstance", { params: { id, name: "words" } }), 2);
  await rig.refused("queryInstance", { params: { id, name: "none" } }, { status: 404, code: "HANDLER_UNKNOWN" });
  await rig.ok("raiseEvent", { params: { id, name: "go" }, body: { by: "test" } });
  assert.deepEqual((await rig.end(id)).output, { said: "first", heard: { by: "test" }, words: 2 });
  assert.deepEqual((await rig.ok("getInstance", { params: { id } })).customStatus, { topic: "tea" });
  const fork = await rig.ok("forkInstance", { params: { id }, body: { task: 0 } });
  assert.notEqual(fork.instanceId, id);
  await rig.ok("cancelInstance", { params: { id: fork.instanceId }, body: {} });
  assert.equal((await rig.end(fork.instanceId)).status, "Terminated");
}

async function schedules(rig: ServerRig): Promise<void> {
  const every = { cron: "0 0 * * *", timeZone: "UTC" };
  const { times } = await rig.ok("previewSchedule", { body: { every, from: 0, count: 2 } });
  assert.deepEqual(times, [86_400_000, 172_800_000]);
  await rig.ok("createSchedule", { body: { scheduleId: "nightly", workflow: "hello", every } });
  await rig.refused(
    "createSchedule",
    { body: { scheduleId: "nightly", workflow: "hello", every } },
    { status: 409, code: "INSTANCE_EXISTS" },
  );
  assert.equal((await rig.ok("listSchedules")).items.length, 1);
  const view = await rig.ok("getSchedule", { params: { id: "nightly" } });
  assert.equal((view["nextFireTimes"] as number[]).length, 5);
  await rig.ok("changeSchedule", {
    params: { id: "nightly" },
    body: { workflow: "hello", every: { cron: "0 * * * *" } },
  });
  await rig.ok("pauseSchedule", { params: { id: "nightly" } });
  await rig.ok("resumeSchedule", { params: { id: "nightly" } });
  const { instanceId } = await rig.ok("triggerSchedule", { params: { id: "nightly" } });
  await rig.end(instanceId);
  const from = Date.now() - 7_200_000;
  const { runs } = await rig.ok("backfillSchedule", {
    params: { id: "nightly" },
    body: { from, to: from + 3_600_000 },
  });
  assert.ok(runs >= 1);
  const everything = { params: { id: "nightly" }, body: { from: 0, to: Date.now() } };
  await rig.refused("backfillSchedule", everything, { status: 422, code: "SCHEDULE_INVALID" });
  await rig.ok("deleteSchedule", { params: { id: "nightly" } });
  await rig.refused("getSchedule", { params: { id: "nightly" } }, { status: 404, code: "SCHEDULE_UNKNOWN" });
  await rig.refused(
    "previewSchedule",
    { body: { every: { cron: "61 * * * *" } } },
    { status: 422, code: "SCHEDULE_INVALID" },
  );
}

/** Spec §4.9: a job is run and scheduled by itself. */
async function jobs(rig: ServerRig): Promise<void> {
  const sent = { params: { name: "say" }, body: "hi" };
  const { instanceId } = await rig.ok("runJob", { ...sent, query: { instanceId: "said" } });
  assert.equal(instanceId, "said");
  assert.deepEqual((await rig.end("said")).output, { say: "hi" });
  const { workflowName } = await rig.ok("getInstance", { params: { id: "said" } });
  assert.equal(workflowName, "job:say");
  const exists = { status: 409, code: "INSTANCE_EXISTS" };
  await rig.refused("runJob", { ...sent, query: { instanceId: "said" } }, exists);
  await rig.refused("runJob", { params: { name: "sya" } }, { status: 422, code: "JOB_MISSING" });
  const reserved = { ...sent, query: { instanceId: "key:mine" } };
  await rig.refused("runJob", reserved, { status: 400, code: "REQUEST_INVALID" });
  const every = { cron: "0 0 * * *", timeZone: "UTC" };
  await rig.ok("createSchedule", { body: { scheduleId: "saying", job: "say", params: "ho", every } });
  const params = { id: "saying" };
  const { spec } = await rig.ok("getSchedule", { params });
  assert.deepEqual(spec, { job: "say", params: "ho", every });
  const { instanceId: run } = await rig.ok("triggerSchedule", { params });
  assert.deepEqual((await rig.end(run)).output, { say: "ho" });
  await rig.ok("deleteSchedule", { params });
  for (const target of [{}, { job: "say", workflow: "hello" }, { job: "say", input: 1 }]) {
    const body = { scheduleId: "none", every, ...target };
    await rig.refused("createSchedule", { body }, { status: 422, code: "SCHEDULE_INVALID" });
  }
  const body = { scheduleId: "none", every, job: "sya" };
  await rig.refused("createSchedule", { body }, { status: 422, code: "JOB_MISSING" });
}

async function cluster(rig: ServerRig): Promise<void> {
  const status = await rig.ok("getCluster");
  assert.deepEqual([status.totalMembers, status.upMembers, status.members[0]?.isLeader], [1, 1, true]);
  assert.deepEqual(status.members[0]?.roles, ["server", "worker"]);
  assert.equal((await rig.ok("listWorkers"))[0]?.status, "up");
  assert.equal((await rig.ok("getClusterTopology")).nodes.length, 1);
  assert.deepEqual((await rig.ok("listJobs")).items.map(({ name }) => name).toSorted(), [
    "ask",
    "hold",
    "pause",
    "refuse",
    "repeat",
    "say",
  ]);
  assert.equal((await rig.ok("listDomains")).items[0]?.domain, "default");
  assert.deepEqual(await rig.ok("getExecutor"), { poolSize: 10, workerSlots: 0, runningTasks: 0, waitingTasks: 0 });
  await rig.ok("resizePool", { body: { poolSize: 9 } });
  assert.equal((await rig.ok("getExecutor")).poolSize, 9);
  await rig.ok("resizeDomain", { params: { name: "declared" }, body: { size: 2, priority: 3 } });
  await rig.refused("resizePool", { body: { poolSize: 1 } }, { status: 422, code: "POOL_SIZE_INVALID" });
  await rig.refused(
    "resizeDomain",
    { params: { name: "wide" }, body: { size: 8 } },
    { status: 422, code: "POOL_SIZE_INVALID" },
  );
  await rig.refused("drain", { body: { worker: "nobody" } }, { status: 404, code: "WORKER_UNKNOWN" });
  await rig.restart({ domains: { small: { size: 2 } } });
  await rig.ok("resizeDomain", { params: { name: "small" }, body: { size: 3 } });
  const { items: domains } = await rig.ok("listDomains");
  assert.deepEqual(
    domains.map(({ domain, size, priority }) => [domain, size, priority]),
    [
      ["declared", 2, 3],
      ["default", 5, 0],
      ["small", 3, 0],
    ],
  );
  await rig.ok("drain");
  const drained = await rig.ok("getCluster");
  assert.deepEqual([drained.upMembers, drained.members[0]?.status], [0, "draining"]);
  const { status: ready, text } = await rig.fetch("/actuator/health/readiness");
  assert.deepEqual([ready, (JSON.parse(text) as { status: string }).status], [503, "OUT_OF_SERVICE"]);
  await rig.restart();
}

async function security(rig: ServerRig): Promise<void> {
  const { token } = await rig.ok("createToken", { body: { name: "root", role: "admin" } });
  assert.match(token, /^hdl_[\w-]{43}$/);
  assert.deepEqual(await rig.ok("listNamespaces", { token }), { items: [{ name: "default" }] });
  const { items } = await rig.ok("listTokens", { token });
  assert.deepEqual(
    items.map(({ name, role, expiresAt }) => [name, role, expiresAt]),
    [["root", "admin", null]],
  );
  const audit = await rig.ok("listAudit", { token });
  assert.deepEqual([audit.items[0]?.what, audit.items[0]?.who, audit.items[0]?.status], ["createToken", "local", 201]);
  await rig.ok("deleteToken", { params: { name: "root" }, query: { force: true }, token });
}
