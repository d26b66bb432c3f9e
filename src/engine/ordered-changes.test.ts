/** Spec §12.2: each turn of an instance is heard once, after the turn before. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { EngineError } from "../base/error.ts";
import { LogBook } from "../testing/log-book.rig.ts";
import { TestClock } from "../testing/test-clock.ts";
import type { InstanceChange } from "./instance-change.ts";
import { OrderedChanges } from "./ordered-changes.ts";

const began = 1000;

function change(turn: number, given: Partial<InstanceChange> = {}): InstanceChange {
  return {
    namespace: "default",
    app: undefined,
    instanceId: "i",
    workflowName: "w",
    workflowVersion: "1",
    kind: "dag",
    turn,
    firstEvent: turn,
    events: [],
    at: began + turn,
    status: "Running",
    pausing: false,
    reason: undefined,
    trigger: "api",
    traceparent: undefined,
    parentInstanceId: undefined,
    createdAt: began,
    startedAt: undefined,
    endedAt: undefined,
    tasks: [],
    ...given,
  };
}

class Rig {
  readonly clock = new TestClock({ now: began });
  readonly heard: string[] = [];
  /** What the store has of the instance; or why it cannot be read, once for each. */
  history: InstanceChange[] = [];
  readonly faults: EngineError[] = [];
  reads = 0;
  mayRead = true;
  onHeard: (() => void) | undefined;
  readonly changes = new OrderedChanges({
    clock: this.clock,
    logger: new LogBook(),
    mayRead: () => this.mayRead,
    listener: ({ turn, createdAt }) => {
      this.heard.push(createdAt === began ? `${turn}` : `${turn} of ${createdAt}`);
      this.onHeard?.();
    },
    readHistory: async (_, onTurn) => {
      this.reads++;
      const fault = this.faults.shift();
      await Promise.resolve();
      if (fault !== undefined) throw fault;
      for (const each of this.history) onTurn(each);
    },
  });

  take(...turns: readonly number[]): void {
    for (const turn of turns) this.changes.take(change(turn));
  }

  async settle(): Promise<void> {
    await this.clock.advance(0);
  }
}

const away = new EngineError("STORE_UNAVAILABLE", "the store is away");

describe("changes of an instance", () => {
  test("that are missing between others which came while a history was read are read as well", async () => {
    const rig = new Rig();
    rig.history = [change(0), change(1), change(2)];
    rig.onHeard = () => {
      if (rig.heard.at(-1) === "2") rig.history = [0, 1, 2, 3, 4].map((turn) => change(turn));
    };
    rig.take(0, 2, 4);
    await rig.settle();
    assert.deepEqual([rig.heard, rig.reads], [["0", "1", "2", "3", "4"], 2]);
  });

  test("that are in no history are left out", async () => {
    const rig = new Rig();
    rig.take(0, 2, 4);
    await rig.settle();
    assert.deepEqual([rig.heard, rig.reads], [["0", "2", "4"], 2]);
  });

  test("are passed on as they come, and each once", () => {
    const rig = new Rig();
    rig.take(0, 1, 1, 0, 2);
    assert.deepEqual(rig.heard, ["0", "1", "2"]);
    assert.equal(rig.reads, 0);
  });

  test("that are missing are read, and those that come meanwhile wait", async () => {
    const rig = new Rig();
    rig.history = [0, 1, 2, 3].map((turn) => change(turn));
    rig.take(0, 3, 4);
    assert.deepEqual(rig.heard, ["0"]);
    await rig.settle();
    assert.deepEqual(rig.heard, ["0", "1", "2", "3", "4"]);
    assert.equal(rig.reads, 1);
  });

  test("are read until the store answers", async () => {
    const rig = new Rig();
    rig.faults.push(away, away);
    rig.history = [0, 1, 2].map((turn) => change(turn));
    rig.take(0, 2);
    await rig.clock.advance(2000);
    assert.deepEqual(rig.heard, ["0", "1", "2"]);
    assert.equal(rig.reads, 3);
  });

  test("of an instance that was purged meanwhile are those that have come", async () => {
    const rig = new Rig();
    rig.faults.push(new EngineError("INSTANCE_UNKNOWN", "purged"));
    rig.take(0, 2);
    await rig.settle();
    assert.deepEqual(rig.heard, ["0", "2"]);
  });

  test("before the subscription are not missing, unless there was a gap", async () => {
    const older = (turn: number): InstanceChange => change(turn, { createdAt: began - 500, at: began - 400 + turn });
    const rig = new Rig();
    rig.changes.take(older(7));
    assert.deepEqual([rig.heard, rig.reads], [["7 of 500"], 0]);
    const after = new Rig();
    after.history = [older(6), change(7, { createdAt: began - 500 }), change(8, { createdAt: began - 500 })];
    after.changes.expectMissing();
    after.changes.take(change(8, { createdAt: began - 500 }));
    await after.settle();
    assert.deepEqual(after.heard, ["7 of 500", "8 of 500"]);
  });

  test("of a reused id begin anew, and late ones of the instance before are dropped", () => {
    const rig = new Rig();
    rig.take(0, 1);
    rig.changes.take(change(0, { createdAt: began + 50 }));
    rig.take(2);
    rig.changes.take(change(1, { createdAt: began + 50 }));
    assert.deepEqual(rig.heard, ["0", "1", "0 of 1050", "1 of 1050"]);
  });

  test("that are lost while its history is read are read once more", async () => {
    const rig = new Rig();
    rig.history = [change(0)];
    rig.onHeard = () => {
      rig.onHeard = undefined;
      rig.history = [change(0), change(1)];
      void rig.changes.reread("i");
    };
    await rig.changes.reread("i");
    assert.deepEqual(rig.heard, ["0", "1"]);
    assert.equal(rig.reads, 2);
  });

  test("are kept back until it is known where to begin", async () => {
    const rig = new Rig();
    rig.changes.hold("i");
    rig.take(5, 6);
    assert.deepEqual(rig.heard, []);
    rig.history = [3, 4, 5, 6].map((turn) => change(turn));
    rig.changes.releaseAfter("i", { createdAt: began, turn: 6, at: began });
    await rig.settle();
    assert.deepEqual(rig.heard, ["5", "6"]);
  });

  test("are passed on although the subscriber throws", () => {
    const rig = new Rig();
    rig.onHeard = () => {
      throw new Error("a bug of the subscriber");
    };
    rig.take(0, 1);
    assert.deepEqual(rig.heard, ["0", "1"]);
  });

  test("are not passed on after the stop, and nothing waits", async () => {
    const rig = new Rig();
    rig.faults.push(away, away);
    rig.take(0, 2);
    await rig.settle();
    rig.changes.stop();
    await rig.settle();
    assert.equal(rig.clock.timerCount, 0);
    rig.take(1);
    assert.deepEqual(rig.heard, ["0"]);
  });

  test("are not read any more once the engine has stopped", async () => {
    const rig = new Rig();
    rig.faults.push(away);
    rig.mayRead = false;
    rig.take(0, 2);
    await rig.settle();
    assert.deepEqual([rig.reads, rig.changes.isStopped, rig.clock.timerCount], [1, true, 0]);
  });
});
