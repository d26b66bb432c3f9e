import assert from "node:assert/strict";
import { beforeEach, describe, test } from "node:test";
import type { Input } from "../runtime/input.ts";
import type { InstanceActor } from "../runtime/instance-actor.ts";
import { RigShard, RigStore } from "../runtime/shard.rig.ts";
import { type Answers, answerOf, type Question } from "./question.ts";

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

  ask<Q extends Question>(question: Q): Answers[Q] {
    const waitingFor = (_: InstanceActor, task: number): string => `task ${task} waits`;
    return answerOf(question, this.actor, { now: () => 5000, waitingFor, progressOf: () => undefined }) as Answers[Q];
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
    const { instanceId, status, tasks } = rig.ask("status");
    assert.deepEqual([instanceId, status], ["x", "Running"]);
    assert.deepEqual(
      tasks.map(({ name, waitingFor }) => [name, waitingFor]),
      [["a", "task 0 waits"]],
    );
  });

  test("for its breakpoint is answered with the key under which large values are read, and not with them", () => {
    const { key, context, spentMs, runningTasks } = rig.ask("breakpoint");
    assert.equal(key, rig.actor.key);
    assert.deepEqual(context, { small: "1", large: { ref: 3, bytes: 9000 } });
    assert.deepEqual([spentMs, runningTasks], [4000, ["a"]]);
  });

  test("for its identity is answered with what is needed to look for more", () => {
    assert.deepEqual(rig.ask("identity"), { key: rig.actor.key, status: "Running", workflow: "one", version: "1" });
  });

  test("for its end is answered with its outputs, or why it failed", async () => {
    rig.complete({ kind: "success", output: '"done"' }, 3000);
    assert.deepEqual(withoutUndefined(rig.ask("end")), {
      key: rig.actor.key,
      status: "Success",
      outputs: { a: '"done"' },
    });
  });

  test("for the end of one that failed names the reason and the tasks", () => {
    const failure = { type: "Error", message: "no luck", retryable: true };
    rig.complete({ kind: "failure", failure }, 3000);
    assert.deepEqual(withoutUndefined(rig.ask("end")), {
      key: rig.actor.key,
      status: "Failed",
      reason: 'task "a" failed: no luck',
      failedTasks: [{ name: "a", status: "Failed", attempt: 1, failure }],
      outputs: {},
    });
  });

  test("has an answer that can travel: nothing but what is not there is lost on the way", () => {
    const questions: readonly Question[] = ["status", "breakpoint", "identity", "end"];
    for (const question of questions) {
      const answer = rig.ask(question);
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
