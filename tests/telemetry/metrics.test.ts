/** Spec §13.1: counters and gauges for Prometheus. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { ownVersion } from "../../src/engine/own-version.ts";
import type { MemberEvent } from "../../src/cluster/member-event.ts";
import type { GaugedEngine } from "../../src/telemetry/engine-gauges.ts";
import { Metrics } from "../../src/telemetry/metrics.ts";
import { change, created, ended, failed, noon, started, succeeded, taskView } from "./rig.ts";

/** The value of one line as Prometheus reads it; undefined if it is not there. */
async function valueOf(metrics: Metrics, line: string): Promise<number | undefined> {
  const found = (await metrics.text()).split("\n").find((each) => each.startsWith(`${line} `));
  return found === undefined ? undefined : Number(found.slice(line.length + 1));
}

async function values(metrics: Metrics, expected: Readonly<Record<string, number | undefined>>): Promise<void> {
  for (const [line, value] of Object.entries(expected)) assert.equal(await valueOf(metrics, line), value, line);
}

describe("counters", () => {
  test("count what is submitted and every end, whatever its status", async () => {
    const metrics = new Metrics();
    metrics.observe(change({ events: [created, started] }));
    metrics.observe(change({ events: [ended("Success")], at: noon + 2000 }));
    metrics.observe(change({ events: [ended("Failed")], at: noon + 2000 }));
    metrics.observe(change({ events: [ended("Terminated")], at: noon + 2000, startedAt: undefined }));
    await values(metrics, {
      'dag_workflow_submitted_total{namespace="default",workflow="orders"}': 1,
      'dag_workflow_completed_total{namespace="default",workflow="orders",status="Success"}': 1,
      'dag_workflow_completed_total{namespace="default",workflow="orders",status="Failed"}': 1,
      'dag_workflow_completed_total{namespace="default",workflow="orders",status="Terminated"}': 1,
      'dag_workflow_failed_total{namespace="default",workflow="orders"}': 1,
      'dag_workflow_duration_seconds_sum{namespace="default",workflow="orders",status="Success"}': 2,
    });
  });

  test("count attempts of tasks by status and worker, also those that are tried again", async () => {
    const metrics = new Metrics();
    const tasks = [taskView("a", { number: 7 }), taskView("b", { number: 4 })];
    metrics.observe(change({ tasks, events: [failed(7, { retryAt: noon }), succeeded(4)], at: noon + 500 }));
    metrics.observe(change({ tasks, events: [failed(7, { timedOut: true, attempt: 2 })], at: noon + 500 }));
    await values(metrics, {
      'dag_task_executed_total{namespace="default",workflow="orders",task="a",status="Failed",worker="here"}': 1,
      'dag_task_executed_total{namespace="default",workflow="orders",task="a",status="TimeoutFailed",worker="here"}': 1,
      'dag_task_executed_total{namespace="default",workflow="orders",task="b",status="Success",worker="here"}': 1,
      'dag_task_failed_total{namespace="default",workflow="orders",task="a"}': 2,
      'dag_task_failed_total{namespace="default",workflow="orders",task="b"}': 0,
      'dag_task_duration_seconds_sum{namespace="default",workflow="orders",task="b",status="Success"}': 0.5,
      'dag_task_duration_seconds_count{namespace="default",workflow="orders",task="a",status="TimeoutFailed"}': 1,
    });
  });

  test("take the name of a task from the right place when the change shows all tasks", async () => {
    const metrics = new Metrics();
    const tasks = [taskView("a"), taskView("b"), taskView("c")];
    metrics.observe(change({ tasks, events: [succeeded(2), ended("Success")] }));
    metrics.observe(
      change({ tasks, events: [{ type: "DecisionMade", task: 1, result: "true", edgesOff: [] }, started] }),
    );
    await values(metrics, {
      'dag_task_executed_total{namespace="default",workflow="orders",task="c",status="Success",worker="here"}': 1,
      'dag_task_executed_total{namespace="default",workflow="orders",task="b",status="Success",worker=""}': 1,
      'dag_task_duration_seconds_count{namespace="default",workflow="orders",task="b",status="Success"}': undefined,
    });
  });

  test("count sub-tasks under their job, so that a wide fan-out does not use up the names of other tasks", async () => {
    const metrics = new Metrics();
    const item = { parentTask: "split", job: "convert" };
    const tasks = [taskView("split"), ...Array.from({ length: 500 }, (_, at) => taskView(`item-${at}`, item))];
    metrics.observe(change({ tasks, events: tasks.map((_, at) => succeeded(at)) }));
    metrics.observe(change({ tasks: [taskView("late")], events: [succeeded(0)] }));
    await values(metrics, {
      'dag_task_executed_total{namespace="default",workflow="orders",task="convert",status="Success",worker="here"}': 500,
      'dag_task_executed_total{namespace="default",workflow="orders",task="split",status="Success",worker="here"}': 1,
      'dag_task_executed_total{namespace="default",workflow="orders",task="late",status="Success",worker="here"}': 1,
    });
  });

  test("do not count again what a fork has copied", async () => {
    const metrics = new Metrics();
    const forked = { ...created, forkedFrom: { id: "order-0", generation: 1 } } as typeof created;
    metrics.observe(change({ tasks: [taskView("a")], events: [forked, started, succeeded(0)] }));
    await values(metrics, {
      'dag_workflow_submitted_total{namespace="default",workflow="orders"}': 1,
      'dag_task_executed_total{namespace="default",workflow="orders",task="a",status="Success",worker="here"}':
        undefined,
    });
  });

  test("keep the number of time series within bounds, whatever users call their things", async () => {
    const metrics = new Metrics();
    for (let i = 0; i < 1000; i++) {
      const tasks = Array.from({ length: 20 }, (_, task) => taskView(`task-${i}-${task}`));
      const events = tasks.map((_, task) => succeeded(task, { worker: `worker-${i}` }));
      metrics.observe(change({ workflowName: `workflow-${i}`, tasks, events: [created, ...events, ended("Success")] }));
    }
    const lines = (await metrics.text()).split("\n");
    const workflows = lines.filter((line) => line.startsWith("dag_workflow_submitted_total{"));
    assert.equal(workflows.length, 201);
    assert.equal(await valueOf(metrics, 'dag_workflow_submitted_total{namespace="default",workflow="other"}'), 800);
    const tasks = new Set(lines.flatMap((line) => /^dag_task_executed_total.*task="([^"]*)"/.exec(line)?.[1] ?? []));
    assert.equal(tasks.size, 201);
    assert.ok(lines.length < 40_000, `${lines.length} lines`);
  });

  test("of two engines in one process are apart", async () => {
    const [one, other] = [new Metrics(), new Metrics()];
    one.observe(change({ events: [created] }));
    assert.equal(
      await valueOf(other, 'dag_workflow_submitted_total{namespace="default",workflow="orders"}'),
      undefined,
    );
  });
});

describe("gauges", () => {
  const health = {
    status: "up",
    problem: undefined,
    unfinishedInstances: 9,
    instancesInMemory: 7,
    quarantinedInstances: 0,
    stuckInstances: [],
    waitingTasks: 3,
    runningTasks: 2,
    oldestRunningAt: (noon - 90_000) as number | undefined,
    unreadMessages: 5,
    droppedReports: 0,
    refusedWorkerMessages: 4,
    bus: undefined,
    workers: 1,
  } as const;
  const member = {
    id: "a",
    address: "a",
    isSuspected: false,
    roles: [],
    version: ownVersion(),
    isDraining: false,
    shards: 1,
    isSelf: true,
    isOldest: true,
  };
  const engine = (told: Partial<GaugedEngine> = {}): GaugedEngine & { subscribeAll(): () => void } => ({
    health,
    members: () => [],
    onMemberEvent: () => () => undefined,
    countWaitReasons: () =>
      new Map([
        ["slot", 2],
        ["retry", 1],
      ] as const),
    subscribeAll: () => () => undefined,
    ...told,
  });

  test("are read from the engine when they are asked for", async () => {
    const metrics = new Metrics();
    metrics.watch(engine(), () => noon);
    await values(metrics, {
      dag_queue_waiting_size: 3,
      'dag_queue_waiting_reason_size{reason="slot"}': 2,
      'dag_queue_waiting_reason_size{reason="retry"}': 1,
      dag_queue_running_size: 2,
      dag_task_running_oldest_seconds: 90,
      dag_mailbox_size: 5,
      dag_instances_in_memory: 7,
      dag_cluster_members: 1,
      dag_cluster_members_up: 1,
      dag_cluster_unreachable: 0,
      dag_cluster_bus_connected: 1,
      dag_cluster_workers: 1,
      dag_worker_messages_refused_total: 4,
    });
    assert.ok(((await valueOf(metrics, "nodejs_eventloop_lag_seconds")) ?? -1) >= 0);
  });

  test("show a bus that is away", async () => {
    const metrics = new Metrics();
    let isConnected = true;
    const told = {
      get health() {
        return { ...health, bus: { kind: "nats", isConnected } };
      },
    };
    metrics.watch(Object.defineProperties(engine(), Object.getOwnPropertyDescriptors(told)), () => noon);
    await values(metrics, { dag_cluster_bus_connected: 1 });
    isConnected = false;
    await values(metrics, { dag_cluster_bus_connected: 0 });
  });

  test("count a member that was lost until another has come, or it is not expected any more", async () => {
    let now = noon;
    let tell: (event: MemberEvent) => void = () => assert.fail("nobody listens");
    const onMemberEvent = (listener: typeof tell): (() => void) => {
      tell = listener;
      return () => undefined;
    };
    const metrics = new Metrics();
    metrics.watch(engine({ onMemberEvent }), () => now);
    const who = { member: "b", address: "b" };
    tell({ type: "joined", ...who });
    tell({ type: "left", ...who });
    await values(metrics, { dag_cluster_unreachable: 0 });
    tell({ type: "lost", ...who });
    tell({ type: "lost", ...who });
    await values(metrics, { dag_cluster_unreachable: 2 });
    tell({ type: "joined", ...who });
    await values(metrics, { dag_cluster_unreachable: 1 });
    now += 16 * 60_000;
    await values(metrics, { dag_cluster_unreachable: 0 });
  });

  test("tell suspected members from those that are up, and an engine that is not there from one that is", async () => {
    const members = [member, { ...member, id: "b", isSuspected: true }, { ...member, id: "c" }];
    const several = new Metrics();
    several.watch(engine({ members: () => members, health: { ...health, oldestRunningAt: undefined } }), () => noon);
    await values(several, {
      dag_cluster_members: 3,
      dag_cluster_members_up: 2,
      dag_cluster_unreachable: 1,
      dag_task_running_oldest_seconds: 0,
    });
    const stopped = new Metrics();
    stopped.watch(engine({ health: { ...health, status: "stopped" } }));
    await values(stopped, { dag_cluster_members: 0, dag_cluster_members_up: 0 });
  });
});
