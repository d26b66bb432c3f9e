import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { hasCode } from "../../src/base/error.ts";
import { beforeTask, forkPoint } from "../../src/engine/forked-events.ts";
import type { Event, InstanceContinued, InstanceCreated } from "../../src/kernel/event.ts";
import type { Store } from "../../src/stores/store.ts";

const created: InstanceCreated = {
  type: "InstanceCreated",
  workflow: "w",
  version: "1",
  generation: 1,
  context: {},
  maxConcurrentTasks: 0,
  trigger: "api",
  input: "1",
};
const started: Event = { type: "InstanceStarted" };
const added: Event = { type: "TaskAdded", node: { nodeId: 0, jobName: "a" } };
const succeeded: Event = { type: "TaskSucceeded", task: 0, attempt: 1, output: { ref: 5, bytes: 9999 } };
const parent = { id: "p", key: 1, generation: 1, task: 0, attempt: 2, depth: 1 };

/** A store that holds this one history, a turn at each second. */
function storeOf(turns: readonly (readonly Event[])[]): Store {
  const rows = turns.map((events, turn) => ({
    instance: 7,
    turn,
    firstEvent: 0,
    at: (turn + 1) * 1000,
    events: JSON.stringify(events),
  }));
  return {
    loadHistory: () => Promise.resolve(rows),
    loadPayloads: (_key: number, refs: readonly number[]) => Promise.resolve(refs.map((ref) => `"text ${ref}"`)),
  } as unknown as Store;
}

const source = { id: "s", key: 7 };

describe("where an instance goes on from another", () => {
  test("is all that had happened there before its code asked for the task, with the values and the times", async () => {
    const { fork, input } = await forkPoint(
      storeOf([
        [created, started, added],
        [succeeded, added],
      ]),
      source,
      beforeTask("s", 1),
    );
    assert.equal(input, "1");
    assert.deepEqual(fork, {
      from: { id: "s", generation: 1, times: [1000, 1000, 1000, 2000] },
      events: [added, { ...succeeded, output: '"text 5"' }],
    });
  });

  test("leaves out who waits for that one", async () => {
    const turns: Event[][] = [
      [created, started, added],
      [{ type: "ParentChanged", parent }, succeeded, added],
    ];
    const { fork } = await forkPoint(storeOf(turns), source, beforeTask("s", 1));
    assert.deepEqual(
      fork.events.map(({ type }) => type),
      ["TaskAdded", "TaskSucceeded"],
    );
  });

  test("after a new beginning has the events that were kept for it", async () => {
    const anew: InstanceContinued = {
      type: "InstanceContinued",
      workflow: "w",
      version: "1",
      generation: 3,
      createdAt: 1,
      trigger: "api",
      events: [{ name: "e", data: "1" }],
    };
    const { fork, input } = await forkPoint(storeOf([[anew, added]]), source, beforeTask("s", 0));
    assert.equal(input, undefined);
    assert.deepEqual(fork, {
      from: { id: "s", generation: 3, times: [1000, 1000, 1000] },
      events: [{ type: "EventRaised", name: "e", data: "1" }],
    });
  });

  test("itself has the times and the chance of the one it went on from, however many stand between", async () => {
    const of = (forkedFrom: InstanceCreated["forkedFrom"]): Store =>
      storeOf([[{ ...created, ...(forkedFrom && { forkedFrom }) }, started, added], [added]]);
    const first = await forkPoint(of({ id: "o", generation: 2, times: [5, 5, 7] }), source, beforeTask("s", 1));
    const randomOf = { id: "o", generation: 2 };
    assert.deepEqual(first.fork.from, { id: "s", generation: 1, times: [5, 5, 7], randomOf });
    const second = await forkPoint(of(first.fork.from), { id: "t", key: 7 }, beforeTask("t", 1));
    assert.deepEqual(second.fork.from, { id: "t", generation: 1, times: [5, 5, 7], randomOf });
  });

  test("is a task that there is", async () => {
    await assert.rejects(
      forkPoint(storeOf([[created, started, added]]), source, beforeTask("s", 1)),
      (error) => hasCode(error, "TASK_UNKNOWN") && /instance "s" has no task number 1/.test(error.message),
    );
  });
});
