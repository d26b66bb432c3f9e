import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { CodeRig, activity, child, timer } from "../kernel/code/code.rig.ts";
import { DagRig, nested } from "../kernel/dag/dag.rig.ts";
import type { Wait } from "./wait.ts";
import { type LiveWaits, viewWaiting, waitsListedMax } from "./waiting.ts";
import { noLiveWaits } from "./waiting.rig.ts";

/** The fields that are there, without those of every wait of that kind. */
function waitsOf({ machine }: DagRig | CodeRig, live: Partial<LiveWaits> = {}): Partial<Wait>[] {
  return viewWaiting(machine, { ...noLiveWaits, ...live }).waiting.map((wait) =>
    Object.fromEntries(Object.entries(wait).filter(([, value]) => value !== undefined)),
  );
}

function textsOf(rig: DagRig | CodeRig, live?: Partial<LiveWaits>): string[] {
  return waitsOf(rig, live).map(({ text = "", since }) => `${text} since ${since}`);
}

describe("a DAG waits for", () => {
  test("tasks that run, and tasks in the dispatcher", () => {
    const rig = DagRig.started("a b", { nodes: { a: { jobName: "job-a" } } });
    rig.at = 2000;
    rig.begin("a");
    const slots = { domain: "etl", size: 2, running: 2, waiting: 61 };
    const taskWait = (task: number) =>
      task === 1 ? ({ reason: "domain", text: "a free slot", slots } as const) : undefined;
    assert.deepEqual(waitsOf(rig, { taskWait }), [
      {
        kind: "task",
        text: 'task "a", which runs on w1',
        since: 2000,
        task: 0,
        taskName: "a",
        job: "job-a",
        attempt: 1,
        reason: "running",
        worker: "w1",
      },
      {
        kind: "task",
        text: 'task "b", which waits for a free slot',
        since: 1000,
        task: 1,
        taskName: "b",
        attempt: 1,
        reason: "domain",
        slots,
      },
    ]);
    assert.deepEqual(textsOf(DagRig.started("a")), ['task "a", which is being started since 1000']);
  });

  test("its own limit, since the last task before has ended", () => {
    const rig = DagRig.started("a>b a>c", { maxConcurrentTasks: 1 });
    rig.at = 3000;
    rig.succeed("a").begin("b");
    assert.deepEqual(textsOf(rig), [
      `task "c", which waits for a place among the instance's 1 concurrent tasks since 3000`,
      'task "b", which runs on w1 since 3000',
    ]);
    assert.equal((waitsOf(rig)[0] as { max?: number }).max, 1);
  });

  test("the next attempt of a task, since the last one failed", () => {
    const rig = DagRig.started("a", { nodes: { a: { retryCount: 1 } } });
    rig.at = 5000;
    rig.fail("a");
    const [wait] = waitsOf(rig) as { reason?: string; retryAt?: number }[];
    assert.deepEqual([wait?.reason, wait?.retryAt], ["retry", 6000]);
    assert.deepEqual(textsOf(rig), [
      'task "a", which waits for its next attempt at 1970-01-01T00:00:06.000Z since 5000',
    ]);
  });

  test("a child", () => {
    const rig = DagRig.started("n", { nodes: { n: { ...nested, workflowVersion: "1" } } });
    assert.deepEqual(waitsOf(rig), [
      {
        kind: "child",
        text: 'child instance "i/n" of workflow "inner"',
        since: 1000,
        task: 0,
        taskName: "n",
        workflowName: "inner",
        childInstanceId: "i/n",
      },
    ]);
  });

  test("a resume by whoever, and the tasks that still run", () => {
    const rig = DagRig.started("a>b").begin("a");
    rig.at = 4000;
    rig.tell({ type: "PauseInstance", by: "ann", reason: "db move" });
    assert.deepEqual(waitsOf(rig)[0], {
      kind: "instance",
      reason: "paused",
      text: "the instance to be resumed, which ann has paused: db move",
      since: 4000,
      by: "ann",
      note: "db move",
    });
    assert.equal(waitsOf(rig).length, 2);
    rig.succeed("a");
    assert.equal(rig.status, "Paused");
    assert.deepEqual(textsOf(rig), [
      "the instance to be resumed, which ann has paused: db move since 4000",
      'task "b", which waits for the instance to be resumed since 4000',
    ]);
    rig.resume().pause();
    assert.deepEqual(textsOf(rig)[0], "the instance to be resumed since 4000");
  });

  test("a place among the instances of its workflow", () => {
    const rig = DagRig.started("a");
    assert.equal(waitsOf(rig).length, 1);
    const queued = new DagRig(rig.machine.state.graph).start({ admission: "queue" });
    assert.deepEqual(waitsOf(queued, { instancesMax: 3 }), [
      {
        kind: "instance",
        reason: "workflow-limit",
        text: 'a place among the 3 instances of workflow "w" that may run at a time',
        since: 1000,
        max: 3,
      },
    ]);
  });

  test("nothing after its end", () => {
    assert.deepEqual(waitsOf(DagRig.started("a").succeed("a")), []);
  });

  test("as much as is listed, and the rest is counted", () => {
    const names = Array.from({ length: waitsListedMax + 20 }, (_, place) => `t${place}`);
    const { machine } = DagRig.started(names.join(" "));
    const { waiting, waitingTotal } = viewWaiting(machine, noLiveWaits);
    assert.deepEqual([waiting.length, waitingTotal], [waitsListedMax, waitsListedMax + 20]);
  });
});

describe("code waits for", () => {
  test("timers, as far as its history tells", () => {
    const rig = CodeRig.started([timer(5000), timer(9000)]);
    assert.deepEqual(waitsOf(rig), [
      { kind: "timer", text: "its timer, due at 1970-01-01T00:00:05.000Z", dueAt: 5000 },
      { kind: "timer", text: "its timer, due at 1970-01-01T00:00:09.000Z", dueAt: 9000 },
    ]);
    assert.equal(waitsOf(rig.pass(4500)).length, 1);
  });

  test("events, timers and tasks, with their lines while it is in memory", () => {
    const rig = CodeRig.started([timer(5000), timer(9000), activity("charge"), child("ship", { childId: "s" })]);
    const line = { file: "order.ts", line: 41 };
    const waits: NonNullable<LiveWaits["code"]>["waits"] = [
      { kind: "timer", dueAt: 5000, since: 1000, line },
      { kind: "event", name: "go", dueAt: 9000, since: 1001, line },
      { kind: "event", name: "now", dueAt: undefined, since: 1002, line: undefined },
      { kind: "task", task: 0, since: 1003, line },
    ];
    const untakenEvents = [{ name: "Go", count: 2, since: 7 }];
    const view = viewWaiting(rig.machine, { ...noLiveWaits, code: { waits, untakenEvents } });
    assert.deepEqual(view.untakenEvents, untakenEvents);
    assert.deepEqual(
      view.waiting.map(({ kind, text, since, ...rest }) => [kind, text, since, "line" in rest ? rest.line?.line : 0]),
      [
        ["timer", "its timer, due at 1970-01-01T00:00:05.000Z", 1000, 41],
        ["event", 'event "go", until 1970-01-01T00:00:09.000Z', 1001, 41],
        ["event", 'event "now"', 1002, undefined],
        ["task", 'task "charge", which is being started', 1000, 41],
        ["child", 'child instance "s" of workflow "ship"', 1000, undefined],
      ],
    );
  });

  test("its own answer to an update", () => {
    const rig = CodeRig.started([timer(5000)]);
    rig.at = 3000;
    rig.tell({ type: "RequestUpdate", update: "u1", name: "approve" });
    assert.deepEqual(waitsOf(rig).at(-1), {
      kind: "update",
      text: 'the code to answer update "approve"',
      since: 3000,
      name: "approve",
      update: "u1",
    });
    rig.take({ type: "answer", update: "u1" });
    assert.equal(waitsOf(rig).length, 1);
  });

  test("its code, if that is missing or has changed", () => {
    const blocked = { reason: "code", text: "its code: it is missing", since: 1500 } as const;
    assert.deepEqual(waitsOf(CodeRig.started([timer(5000)]), { blocked })[0], { kind: "instance", ...blocked });
  });

  test("its next step, while it has yet to begin", () => {
    assert.deepEqual(waitsOf(CodeRig.started([])), [
      {
        kind: "instance",
        reason: "code",
        text: "its code to go on: what that waits for is known while it is in memory",
      },
    ]);
  });

  test("a resume, also if it was paused before it could start", () => {
    const rig = new CodeRig().start({ admission: "queue" });
    rig.at = 2000;
    rig.tell({ type: "PauseInstance", by: "ann" });
    rig.at = 3000;
    rig.tell({ type: "AdmitInstance" });
    assert.equal(rig.status, "Paused");
    assert.deepEqual(textsOf(rig), ["the instance to be resumed, which ann has paused since 2000"]);
  });
});
