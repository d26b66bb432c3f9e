import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { Outcome } from "../input.ts";
import { failureOf } from "../machine.rig.ts";
import type { NodeSpec } from "../node-spec.ts";
import { Phase } from "../task-state.ts";
import { Turn } from "../turn.ts";
import { DagRig, failed } from "./dag.rig.ts";
import { firstItemNumber } from "./map-items.ts";

/** A DAG `m>z` whose first task has items; items and hooks are named by their place. */
class HookRig {
  readonly rig: DagRig;

  constructor(node: Partial<NodeSpec>) {
    this.rig = DagRig.started("m>z", { nodes: { m: { jobName: "j", ...node } } });
  }

  get state() {
    return this.rig.machine.state;
  }

  /** The items that were handed out since, by place. */
  feed(): number[] {
    const turn = new Turn(this.rig.at, 0);
    this.rig.machine.feedMaps(turn);
    this.rig.history.push(...turn.events.map((event) => ({ at: this.rig.at, event })));
    return turn.commands.flatMap((each) =>
      each.type === "RunTasks" ? each.tasks.map((task) => task - firstItemNumber) : [],
    );
  }

  list(count: number): number[] {
    const pages = count === 0 ? [] : [{ count, items: "[]" }];
    this.rig.tell({ type: "ItemsListed", task: 0, attempt: this.state.attempt(0), pages });
    return this.feed();
  }

  listWorkers(...workers: string[]): number[] {
    this.rig.tell({ type: "ItemsListed", task: 0, attempt: this.state.attempt(0), pages: [], workers });
    return this.feed();
  }

  end(place: number, output?: string): number[] {
    return this.#report(place, { kind: "success", ...(output !== undefined && { output }) });
  }

  fail(place: number): number[] {
    return this.#report(place, failed);
  }

  #report(place: number, outcome: Outcome): number[] {
    const task = firstItemNumber + place;
    const report = { task, attempt: this.state.attempt(task), generation: this.state.generation };
    this.rig.tell({ type: "AttemptEnded", ...report, outcome });
    return this.feed();
  }

  /** The counts of the same instance, read from its history. */
  get replayed() {
    const items = this.rig.replayed().machine.state.items.ofTask(0);
    return { counts: items?.counts, isSettled: items?.isSettled };
  }
}

const reduce = { items: [], concurrency: 2, reduce: { jobName: "r", nodeParams: "7" } };

describe("a reduce", () => {
  test("starts when all items have ended, failures included, and gives the map its output", () => {
    const map = new HookRig({ map: reduce });
    assert.deepEqual(map.list(3), [0, 1]);
    assert.deepEqual(map.fail(0), [2]);
    assert.deepEqual(map.end(2), []);
    assert.deepEqual(map.end(1), [3]);
    const { name, jobName, params } = map.state.definition(firstItemNumber + 3);
    assert.deepEqual([name, jobName, params], ["m[reduce]", "r", "7"]);
    assert.equal(map.state.params(firstItemNumber + 3), "7");
    assert.deepEqual(map.state.items.ofTask(0)?.counts, {
      total: 3,
      waiting: 0,
      running: 0,
      succeeded: 2,
      failed: 1,
      canceled: 0,
    });
    map.end(3, '"sum"');
    assert.equal(map.state.record(0)?.output, '"sum"');
    assert.deepEqual(map.rig.handedOut, ["z"]);
    assert.equal(map.replayed.counts?.succeeded, 2);
  });

  test("of no items starts at once; one without an output leaves none", () => {
    const map = new HookRig({ map: reduce });
    assert.deepEqual(map.list(0), [0]);
    map.end(0);
    assert.deepEqual([map.state.phase(0), map.state.record(0)?.output], [Phase.success, undefined]);
  });

  test("does not start after more failures than are tolerated", () => {
    const map = new HookRig({ map: { ...reduce, tolerateFailures: 0 } });
    map.list(1);
    assert.deepEqual(map.fail(0), []);
    assert.equal(map.state.record(0)?.failure?.message, "1 of 1 items failed; item 0: no");
    map.rig.tell({ type: "RetryInstance" });
    assert.deepEqual(map.feed(), [0]);
    assert.deepEqual(map.end(0), [1]);
  });

  test("that fails fails the map, and runs alone when that is retried", () => {
    const map = new HookRig({ map: reduce });
    map.list(2);
    map.end(0);
    map.end(1);
    map.fail(2);
    assert.equal(map.state.record(0)?.failure?.message, "its reduce job failed: no");
    map.rig.tell({ type: "RetryInstance" });
    assert.deepEqual(map.feed(), [2]);
    assert.equal(map.state.attempt(firstItemNumber + 2), 2);
    map.end(2);
    assert.equal(map.state.phase(0), Phase.success);
  });

  test("is withdrawn by a pause and aborted by a stop; a lost one runs again under its number", () => {
    const map = new HookRig({ map: reduce });
    map.list(0);
    const id = `i:1:${firstItemNumber}:1`;
    map.rig.tell({ type: "PauseInstance" });
    assert.deepEqual(map.rig.commands, [{ type: "WithdrawTasks", attemptIds: [id] }]);
    map.rig.tell({ type: "AttemptsWithdrawn", runs: [{ task: firstItemNumber, attempt: 1 }] });
    assert.deepEqual([map.rig.status, map.feed()], ["Paused", []]);
    map.rig.tell({ type: "ResumeInstance" });
    assert.deepEqual(map.feed(), [0]);
    const report = { task: firstItemNumber, attempt: 1, generation: 1 };
    map.rig.tell({ type: "AttemptEnded", ...report, outcome: { kind: "lost" } });
    assert.deepEqual(map.feed(), [0]);
    map.rig.tell({ type: "StopTask", task: 0, reason: "enough" });
    assert.deepEqual(map.rig.commands[0], { type: "AbortTasks", attemptIds: [id] });
    assert.deepEqual([map.state.inFlight, map.state.itemsInFlight], [0, 0]);
  });
});

describe("a broadcast", () => {
  test("has an item for each worker, between the hooks before and after it", () => {
    const cast = new HookRig({ broadcast: { before: { jobName: "b" }, after: { jobName: "a" } } });
    assert.deepEqual(cast.listWorkers("x", "y"), [2]);
    assert.deepEqual(cast.end(2), [0, 1]);
    assert.deepEqual(
      [0, 1, 2, 3].map((place) => cast.state.definition(firstItemNumber + place).worker),
      ["x", "y", undefined, undefined],
    );
    cast.end(1);
    assert.deepEqual(cast.fail(0), [3]);
    cast.end(3, "1");
    assert.equal(cast.state.record(0)?.output, "1");
    const [started] = cast.rig.history.flatMap(({ event }) => (event.type === "MapStarted" ? [event] : []));
    assert.deepEqual(started, { type: "MapStarted", task: 0, attempt: 1, workers: ["x", "y"] });
    assert.equal(cast.replayed.counts?.failed, 1);
  });

  test("of which the hook before fails runs on no worker, and nothing after", () => {
    const cast = new HookRig({ broadcast: { before: { jobName: "b" }, after: { jobName: "a" } } });
    cast.listWorkers("x");
    assert.deepEqual(cast.fail(1), []);
    assert.equal(cast.state.record(0)?.failure?.message, "its before job failed: no");
    assert.equal(cast.state.items.ofTask(0)?.counts.canceled, 1);
    cast.rig.tell({ type: "RetryInstance" });
    assert.deepEqual(cast.feed(), [1]);
  });

  test("fails for workers that are gone, if they have not started", () => {
    const cast = new HookRig({ executeType: "BROADCAST", retryCount: 5 });
    assert.deepEqual(cast.listWorkers("x", "y", "z"), [0, 1, 2]);
    cast.rig.tell({
      type: "AttemptStarted",
      task: firstItemNumber,
      attempt: 1,
      generation: 1,
      worker: "m/x",
      startedAt: 1,
    });
    const [x, y, z] = [firstItemNumber, firstItemNumber + 1, firstItemNumber + 2];
    const awaited = (...returned: number[]): unknown =>
      cast.state.items.awaitedWorkers((item) => returned.includes(item)).map(({ workers }) => [...workers]);
    assert.deepEqual(awaited(), [
      [
        [y, "y"],
        [z, "z"],
      ],
    ]);
    assert.deepEqual(awaited(x, y), [
      [
        [x, "x"],
        [y, "y"],
        [z, "z"],
      ],
    ]);
    cast.rig.tell({ type: "WorkersGone", task: 0, attempt: 1, items: [y, z + 1] });
    assert.deepEqual(cast.rig.commands, [{ type: "AbortTasks", attemptIds: [`i:1:${firstItemNumber + 1}:1`] }]);
    assert.deepEqual(cast.state.items.ofTask(0)?.counts.failed, 1);
    const [event] = cast.rig.events;
    assert.ok(event?.type === "TaskFailed" && event.failure.type === "WORKER_GONE" && event.retryAt === undefined);
    cast.end(0);
    cast.end(2);
    assert.equal(cast.state.record(0)?.failure?.message, '1 of 3 items failed; item 1: worker "y" is gone');
    cast.rig.tell({ type: "WorkersGone", task: 0, attempt: 1, items: [z] });
    assert.equal(cast.rig.dropped, 1);
  });

  test("is listed once: a second list of the same attempt is dropped", () => {
    const cast = new HookRig({ executeType: 2 });
    assert.deepEqual(cast.listWorkers("x"), [0]);
    assert.deepEqual(cast.listWorkers("x", "y"), []);
    assert.equal(cast.rig.dropped, 1);
    cast.rig.tell({ type: "ItemsListed", task: 0, attempt: 1, pages: [], failure: failureOf("late") });
    assert.equal(cast.state.phase(0), Phase.running);
  });
});
