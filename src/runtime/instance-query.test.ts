import assert from "node:assert/strict";
import { beforeEach, describe, test } from "node:test";
import type { Input } from "./input.ts";
import type { InstanceActor } from "./instance-actor.ts";
import { RigShard, RigStore } from "./shard.rig.ts";
import { readBreakpoint, readEnd, readIdentity, readStatus, readTask } from "./instance-query.ts";

/** Answers of the dispatcher about every attempt. */
const attempts = {
  waitOf: (attemptId: string) => ({ reason: "slot", text: attemptId }) as const,
  progressOf: () => undefined,
};

/** One instance with one task, `a`, and a context. */
class Rig {
  readonly actor: InstanceActor;
  readonly #shard: RigShard;

  constructor(shard: RigShard) {
    this.#shard = shard;
    this.actor = shard.actor("x");
    const context = { small: "1", large: { ref: 3, bytes: 9000 } };
    const start = { workflow: "one", version: "1", generation: 1, context, trigger: "api", admission: "run" } as const;
    this.tell({ type: "StartInstance", ...start }, 1000);
  }

  tell(input: Input, at: number): void {
    this.actor.tell({ input });
    this.#shard.releaseTurn(this.actor.openTurn(at, 0.5));
  }

  complete(outcome: Extract<Input, { type: "AttemptEnded" }>["outcome"], at: number): void {
    this.tell({ type: "AttemptEnded", task: 0, attempt: 1, generation: 1, worker: "w", startedAt: 2000, outcome }, at);
  }
}

describe("a question about an instance", () => {
  let rig: Rig;

  beforeEach(async () => {
    const store = new RigStore();
    await store.open();
    rig = new Rig(new RigShard(0, await store.claim(0)));
  });

  test("for its status is answered with why its tasks wait, as its owner knows it", () => {
    const { instanceId, status, tasks } = readStatus(rig.actor, attempts);
    assert.deepEqual([instanceId, status], ["x", "Running"]);
    assert.deepEqual(
      tasks.map(({ name, wait }) => [name, wait]),
      [["a", { reason: "slot", text: "x:1:0:1", since: 1000 }]],
    );
  });

  test("for its breakpoint is answered with the key under which large values are read, and not with them", () => {
    const { key, context, spentMs, runningTasks } = readBreakpoint(rig.actor, 5000);
    assert.equal(key, rig.actor.key);
    assert.deepEqual(context, { small: "1", large: { ref: 3, bytes: 9000 } });
    assert.deepEqual([spentMs, runningTasks], [4000, ["a"]]);
  });

  test("for its identity is answered with what is needed to look for more", () => {
    assert.deepEqual(readIdentity(rig.actor), { key: rig.actor.key, status: "Running", workflow: "one", version: "1" });
  });

  test("for its end is answered with its outputs, or why it failed", async () => {
    rig.complete({ kind: "success", output: '"done"' }, 3000);
    assert.deepEqual(withoutUndefined(readEnd(rig.actor)), {
      key: rig.actor.key,
      status: "Success",
      outputs: { a: '"done"' },
    });
  });

  test("for the end of one that failed names the reason and the tasks", () => {
    const failure = { type: "Error", message: "no luck", retryable: true };
    rig.complete({ kind: "failure", failure }, 3000);
    assert.deepEqual(withoutUndefined(readEnd(rig.actor)), {
      key: rig.actor.key,
      status: "Failed",
      reason: 'task "a" failed: no luck',
      failedTasks: [{ name: "a", status: "Failed", attempt: 1, failure }],
      outputs: {},
    });
  });

  test("has an answer that can travel: nothing but what is not there is lost on the way", () => {
    const { actor } = rig;
    const answers = [
      readStatus(actor, attempts),
      readBreakpoint(actor, 5000),
      readIdentity(actor),
      readEnd(actor),
      readTask(actor, "a", attempts),
    ];
    for (const answer of answers) {
      assert.deepEqual(JSON.parse(JSON.stringify(answer)), withoutUndefined(answer));
    }
  });
});

function withoutUndefined(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutUndefined);
  if (typeof value !== "object" || value === null) return value;
  const there = Object.entries(value).filter(([, each]) => each !== undefined);
  return Object.fromEntries(there.map(([name, each]) => [name, withoutUndefined(each)]));
}
