import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { EngineError } from "../../base/error.ts";
import type { Outcome } from "../input.ts";
import type { MapSpec, NodeSpec } from "../node-spec.ts";
import { Phase } from "../task-state.ts";
import { Turn } from "../turn.ts";
import { checkSpec } from "./check.ts";
import { DagRig, failed, specOf } from "./dag.rig.ts";
import { firstItemNumber, itemsMax } from "./map-items.ts";

/** The hooks of a map with a source have the numbers above all items that it may have. */
const sourceNumber = firstItemNumber + itemsMax;
const reduceNumber = sourceNumber + 1;

/** A DAG `m>z` whose first task is a map with a source. */
class SourceRig {
  readonly rig: DagRig;

  constructor(map: MapSpec = {}, node: Partial<NodeSpec> = {}) {
    const m = { jobName: "j", map: { source: { jobName: "s" }, ...map }, ...node };
    this.rig = DagRig.started("m>z", { nodes: { m } });
  }

  get state() {
    return this.rig.machine.state;
  }

  get items() {
    const items = this.state.items.ofTask(0);
    assert.ok(items);
    return items;
  }

  /** The numbers that were handed out since; items by index. */
  feed(): (number | "source" | "reduce")[] {
    const turn = new Turn(this.rig.at, 0);
    this.rig.machine.feedMaps(turn);
    this.rig.history.push(...turn.events.map((event) => ({ at: this.rig.at, event })));
    return turn.commands
      .flatMap((each) => (each.type === "RunTasks" ? each.tasks : []))
      .map((task) => (task === sourceNumber ? "source" : task === reduceNumber ? "reduce" : task - firstItemNumber));
  }

  #attempt(task: number) {
    return { task, attempt: this.state.attempt(task), generation: this.state.generation };
  }

  /** Hands in items in one page; returns how many were not there before. */
  add(by: number, call: number, count: number, { from = 0, attempt = this.state.attempt(by) } = {}): number {
    const before = this.items.count;
    const pages = count === 0 ? [] : [{ count, items: "[]" }];
    this.rig.tell({ type: "AddItems", ...this.#attempt(by), attempt, call, from, pages });
    return this.items.count - before;
  }

  end(task: number, outcome: Outcome = { kind: "success" }): (number | string)[] {
    this.rig.tell({ type: "AttemptEnded", ...this.#attempt(task), outcome });
    return this.feed();
  }
}

function refusedWith(code: string, words: string): (error: unknown) => boolean {
  return (error) => error instanceof EngineError && error.code === code && error.message.includes(words);
}

describe("a map with a source", () => {
  test("runs items while the source goes on, and ends when it has succeeded and they have ended", () => {
    const map = new SourceRig({ concurrency: 2 });
    assert.deepEqual(map.feed(), ["source"]);
    assert.equal(map.state.definition(sourceNumber).name, "m[source]");
    assert.equal(map.add(sourceNumber, 0, 3), 3);
    assert.deepEqual(map.feed(), [0, 1]);
    assert.deepEqual(map.end(firstItemNumber), [2]);
    map.end(firstItemNumber + 1);
    map.end(firstItemNumber + 2);
    assert.equal(map.state.phase(0), Phase.running);
    assert.equal(map.add(sourceNumber, 1, 1), 1);
    assert.deepEqual(map.feed(), [3]);
    map.end(sourceNumber);
    assert.equal(map.state.phase(0), Phase.running);
    map.end(firstItemNumber + 3);
    assert.equal(map.state.phase(0), Phase.success);
    assert.equal(map.state.record(0)?.output, '{"total":4,"succeeded":4,"failed":0,"results":[null,null,null,null]}');
    assert.deepEqual(map.rig.replayed().machine.state.items.ofTask(0)?.counts, map.items.counts);
  });

  test("knows the items of another run of the source by call and index", () => {
    const map = new SourceRig({}, { retryCount: 1 });
    map.feed();
    map.add(sourceNumber, 0, 3);
    map.add(sourceNumber, 1, 2);
    assert.equal(map.add(sourceNumber, 0, 3), 0, "the same message twice");
    map.end(sourceNumber, failed);
    map.rig.at += 10_000;
    map.rig.tell({ type: "TimerDue" });
    assert.ok(map.feed().includes("source"));
    assert.equal(map.state.attempt(sourceNumber), 2);
    assert.equal(map.add(sourceNumber, 0, 2), 0, "fewer items of a call are there already");
    assert.equal(map.add(sourceNumber, 1, 2, { from: 2 }), 2);
    assert.equal(map.items.handedIn.count(sourceNumber, 1), 4);
    assert.equal(map.items.count, 7);
    const again = map.rig.replayed().machine.state.items.ofTask(0);
    assert.deepEqual([again?.count, again?.handedIn.count(sourceNumber, 1)], [7, 4]);
  });

  test("takes items from its items, and forgets the calls of those that succeeded", () => {
    const map = new SourceRig();
    map.feed();
    map.add(sourceNumber, 0, 1);
    map.feed();
    map.end(sourceNumber);
    map.add(firstItemNumber, 0, 2);
    assert.deepEqual(map.end(firstItemNumber), [1, 2]);
    assert.equal(map.items.handedIn.count(firstItemNumber, 0), 0);
    assert.equal(map.state.phase(0), Phase.running);
    map.end(firstItemNumber + 1);
    map.end(firstItemNumber + 2);
    assert.equal(map.state.phase(0), Phase.success);
  });

  test("keeps what was handed in when the source fails for good, and goes on there when it is retried", () => {
    const map = new SourceRig({ concurrency: 1 });
    map.feed();
    map.add(sourceNumber, 0, 2);
    assert.deepEqual(map.feed(), [0]);
    map.end(sourceNumber, failed);
    assert.throws(() => map.add(firstItemNumber, 0, 1), refusedWith("TASK_STATE", "starts no further item"));
    map.end(firstItemNumber);
    assert.equal(map.state.record(0)?.failure?.message, "its source job failed: no");
    map.rig.tell({ type: "RetryInstance" });
    assert.deepEqual(map.feed(), ["source", 1]);
    assert.equal(map.add(sourceNumber, 0, 2), 0);
    assert.equal(map.items.count, 2);
  });

  test("reduces when the source has succeeded and all items have ended", () => {
    const map = new SourceRig({ reduce: { jobName: "r" } });
    map.feed();
    map.add(sourceNumber, 0, 1);
    map.feed();
    assert.deepEqual(map.end(firstItemNumber, failed), []);
    assert.deepEqual(map.end(sourceNumber), ["reduce"]);
    assert.throws(() => map.add(reduceNumber, 0, 1), refusedWith("TASK_INVALID", "no part of a map with a source"));
    map.end(reduceNumber, { kind: "success", output: "7" });
    assert.equal(map.state.record(0)?.output, "7");
  });

  test("with nothing handed in succeeds with its source", () => {
    const map = new SourceRig();
    map.feed();
    map.add(sourceNumber, 0, 0);
    map.end(sourceNumber);
    assert.equal(map.state.record(0)?.output, '{"total":0,"succeeded":0,"failed":0,"results":[]}');
  });

  test("that fails fast takes no further items; a share is one of all items", () => {
    const fast = new SourceRig({ failFast: true });
    fast.feed();
    fast.add(sourceNumber, 0, 2);
    fast.feed();
    fast.end(firstItemNumber, failed);
    assert.throws(() => fast.add(sourceNumber, 1, 1), refusedWith("TASK_STATE", "starts no further item"));
    const share = new SourceRig({ failFast: true, tolerateFailures: "50%" });
    share.feed();
    share.add(sourceNumber, 0, 1);
    share.feed();
    share.end(firstItemNumber, failed);
    assert.equal(share.add(sourceNumber, 1, 1), 1);
    share.feed();
    share.end(sourceNumber);
    share.end(firstItemNumber + 1);
    assert.equal(share.state.phase(0), Phase.success);
  });

  test("is started again when its source was lost, at whatever concurrency, and pauses with it", () => {
    const map = new SourceRig({ concurrency: 1 });
    map.feed();
    map.add(sourceNumber, 0, 2);
    assert.deepEqual(map.feed(), [0]);
    assert.deepEqual(map.end(sourceNumber, { kind: "lost" }), ["source"]);
    map.rig.tell({ type: "PauseInstance" });
    assert.equal(map.add(sourceNumber, 1, 1), 1);
    assert.deepEqual(map.feed(), []);
    map.rig.tell({ type: "ResumeInstance" });
    map.end(sourceNumber);
    assert.deepEqual(map.end(firstItemNumber), [1]);
  });

  test("refuses items of an attempt that is over, gaps, other items, and too many", () => {
    const map = new SourceRig();
    map.feed();
    map.add(sourceNumber, 0, 2);
    assert.throws(() => map.add(sourceNumber, 1, 1, { attempt: 7 }), refusedWith("TASK_STATE", "has ended"));
    assert.throws(() => map.add(sourceNumber, 0, 1, { from: 3 }), refusedWith("TASK_STATE", "goes on with item 3"));
    assert.throws(() => map.add(sourceNumber, 0, 3, { from: 1 }), refusedWith("TASK_STATE", "goes on with item 1"));
    assert.throws(() => map.add(sourceNumber, 1, itemsMax), refusedWith("MAP_ITEMS_INVALID", "at most 1000000"));
    const list = DagRig.started("m", { nodes: { m: { jobName: "j", map: { items: [1] } } } });
    list.tell({ type: "ItemsListed", task: 0, attempt: 1, pages: [{ count: 1, items: "[1]" }] });
    list.machine.feedMaps(new Turn(list.at, 0));
    const item = { task: firstItemNumber, attempt: 1, generation: 1 };
    assert.throws(
      () => list.tell({ type: "AddItems", ...item, call: 0, from: 0, pages: [] }),
      refusedWith("TASK_INVALID", "no part of a map with a source"),
    );
  });

  test("is its own source where a node says MAP and nothing else, as in files of PowerJob", () => {
    for (const executeType of [4, "MAP"] as const) {
      const spec = specOf("m", { nodes: { m: { jobId: 7, nodeParams: "p", executeType } } });
      checkSpec(spec);
      const rig = new DagRig(spec).start();
      assert.deepEqual(rig.machine.feedMaps(new Turn(rig.at, 0)), undefined);
      const { jobId, params, name } = rig.machine.state.definition(sourceNumber);
      assert.deepEqual([jobId, params, name], [7, "p", "m[source]"]);
    }
    const both = specOf("m", { nodes: { m: { jobName: "j", map: { items: [], source: { jobName: "s" } } } } });
    assert.throws(() => checkSpec(both), refusedWith("WORKFLOW_INVALID", "not both"));
    const reduced = specOf("m", { nodes: { m: { jobName: "j", executeType: 3 } } });
    assert.throws(() => checkSpec(reduced), refusedWith("WORKFLOW_INVALID", "map.reduce"));
  });
});
