import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { Event } from "../event.ts";
import type { Outcome } from "../input.ts";
import { failureOf } from "../machine.rig.ts";
import type { MapSpec } from "../node-spec.ts";
import { Turn } from "../turn.ts";
import { DagRig, type SpecOptions } from "./dag.rig.ts";
import { Phase } from "../task-state.ts";
import { firstItemNumber } from "./map-items.ts";

/** A DAG `m>z` whose first task is a map, with a turn for each message. */
class MapRig {
  readonly rig: DagRig;
  events: readonly Event[] = [];

  constructor(map: Partial<MapSpec> = {}, options: SpecOptions = {}) {
    const node = { jobName: "j", map: { items: [], ...map }, ...options.nodes?.["m"] };
    this.rig = DagRig.started("m>z", { ...options, nodes: { m: node } });
  }

  get state() {
    return this.rig.machine.state;
  }

  /** The items that were handed out since, by index. */
  feed(): number[] {
    const turn = new Turn(this.rig.at, 0);
    this.rig.machine.feedMaps(turn);
    this.rig.history.push(...turn.events.map((event) => ({ at: this.rig.at, event })));
    return turn.commands.flatMap((command) => (command.type === "RunTasks" ? command.tasks : [])).map(indexOf);
  }

  list(count: number): number[] {
    const pages = count === 0 ? [] : [{ count, items: "[]" }];
    this.rig.tell({ type: "ItemsListed", task: 0, attempt: this.state.attempt(0), pages });
    return this.feed();
  }

  end(index: number, outcome: Outcome = { kind: "success" }): number[] {
    const task = firstItemNumber + index;
    const report = { task, attempt: this.state.attempt(task), generation: this.state.generation };
    this.rig.tell({ type: "AttemptEnded", ...report, outcome });
    return this.feed();
  }

  get counts() {
    return this.state.items.ofTask(0)?.counts;
  }
}

function indexOf(item: number): number {
  return item - firstItemNumber;
}

const failure: Outcome = { kind: "failure", failure: failureOf("no") };

describe("a map", () => {
  test("hands out as many items as it allows, and ends with the last", () => {
    const map = new MapRig({ concurrency: 2 });
    assert.deepEqual(map.list(3), [0, 1]);
    assert.deepEqual(map.end(1, { kind: "success", output: '"b"' }), [2]);
    assert.deepEqual(map.end(0), []);
    assert.deepEqual(map.counts, { total: 3, waiting: 0, running: 1, succeeded: 2, failed: 0, canceled: 0 });
    map.end(2, { kind: "success", output: "3" });
    assert.equal(map.state.record(0)?.output, '{"total":3,"succeeded":3,"failed":0,"results":[null,"b",3]}');
    assert.deepEqual(map.rig.handedOut, ["z"]);
  });

  test("without items succeeds at once; without a list it fails", () => {
    const empty = new MapRig();
    empty.list(0);
    assert.equal(empty.rig.tasks, "m Success, z Pending");
    const wrong = new MapRig();
    wrong.rig.tell({ type: "ItemsListed", task: 0, attempt: 1, pages: [], failure: failureOf("no list") });
    assert.equal(wrong.rig.status, "Failed");
    wrong.rig.tell({ type: "ItemsListed", task: 0, attempt: 1, pages: [] });
    assert.equal(wrong.rig.dropped, 1);
  });

  test("large results, and those of many items, are left out of its output", () => {
    const large = new MapRig();
    large.list(1);
    large.end(0, { kind: "success", output: { ref: 1, bytes: 5000 } });
    assert.equal(large.state.record(0)?.output, '{"total":1,"succeeded":1,"failed":0}');
    const many = new MapRig({ concurrency: 10_000 });
    many.list(4000).forEach((index) => many.end(index));
    assert.equal(many.state.record(0)?.output, '{"total":4000,"succeeded":4000,"failed":0}');
  });

  test("a lost, withdrawn or retried item goes before those that have not started", () => {
    const map = new MapRig({ concurrency: 1 }, { nodes: { m: { retryCount: 1 } } });
    assert.deepEqual(map.list(3), [0]);
    assert.deepEqual(map.end(0, { kind: "lost" }), [0]);
    assert.deepEqual(map.end(0, failure), [1]);
    map.rig.pass(60_000);
    assert.deepEqual(map.end(1), [0]);
    map.rig.tell({ type: "AttemptsWithdrawn", runs: [{ task: firstItemNumber, attempt: 2 }] });
    assert.deepEqual(map.feed(), [0]);
  });

  test("fails after all items, or fast; a retry runs what did not succeed, with the next attempt", () => {
    for (const failFast of [false, true]) {
      const map = new MapRig({ concurrency: 1, failFast });
      map.list(3);
      map.end(0);
      assert.deepEqual(map.end(1, { kind: "timeout", failure: failureOf("late") }), failFast ? [] : [2]);
      if (!failFast) map.end(2);
      assert.equal(map.rig.status, "Failed");
      assert.deepEqual(map.state.record(0)?.failure, {
        type: "MAP_FAILED",
        message: "1 of 3 items failed; item 1: late",
        retryable: false,
      });
      map.rig.tell({ type: "RetryInstance" });
      assert.deepEqual(map.feed(), [1]);
      assert.equal(map.state.attempt(firstItemNumber + 1), 2);
      map.end(1);
      if (failFast) map.end(2);
      assert.equal(map.state.phase(0), Phase.success);
      const again = new DagRig(map.state.graph).read(map.rig);
      assert.deepEqual(again.machine.state.items.ofTask(0)?.counts, map.counts);
    }
  });

  test("a re-run lists its items anew, and reports on the old ones are dropped", () => {
    const map = new MapRig();
    map.list(1);
    map.end(0);
    map.rig.succeed("z");
    map.rig.tell({ type: "RerunInstance", task: 0 });
    assert.equal(map.counts, undefined);
    map.rig.tell({ type: "AttemptEnded", task: firstItemNumber, attempt: 1, generation: 2, outcome: failure });
    assert.equal(map.rig.dropped, 1);
    assert.deepEqual(map.list(2), [1, 2]);
  });

  test("a stop aborts what is under way; a pause takes it back, and nothing new starts", () => {
    const map = new MapRig({ concurrency: 2 });
    map.list(3);
    map.rig.tell({ type: "PauseInstance" });
    const ids = [0, 1].map((index) => `i:1:${firstItemNumber + index}:1`);
    assert.deepEqual(map.rig.commands, [{ type: "WithdrawTasks", attemptIds: ids }]);
    const runs = [0, 1].map((index) => ({ task: firstItemNumber + index, attempt: 1 }));
    map.rig.tell({ type: "AttemptsWithdrawn", runs });
    assert.deepEqual([map.rig.status, map.feed()], ["Paused", []]);
    map.rig.tell({ type: "ResumeInstance" });
    assert.deepEqual(map.feed(), [0, 1]);
    map.rig.tell({ type: "StopTask", task: 0, reason: "enough" });
    assert.deepEqual(map.rig.commands[0], { type: "AbortTasks", attemptIds: ids });
    assert.deepEqual(map.counts, { total: 3, waiting: 0, running: 0, succeeded: 0, failed: 0, canceled: 3 });
    assert.equal(map.state.inFlight, 0);
    assert.equal(map.state.attempt(firstItemNumber), 1, "by which a run that is still to be aborted is named");
  });

  test("items whose evaluation was lost with the process are evaluated again", () => {
    const map = new MapRig();
    assert.deepEqual(map.rig.machine.mapsToList(), [0]);
    map.list(1);
    assert.deepEqual(map.rig.machine.mapsToList(), []);
    assert.deepEqual(map.rig.machine.jobsInFlight(), [firstItemNumber]);
    map.end(0);
    assert.deepEqual(map.rig.machine.mapsToList(), []);
  });
});
