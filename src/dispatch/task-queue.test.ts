import assert from "node:assert/strict";
import { describe, test } from "node:test";
import * as fc from "fast-check";
import { Attempt } from "./attempt.ts";
import { makeRun, RecordingListener } from "./dispatcher.rig.ts";
import { TaskQueue } from "./task-queue.ts";

let arrivals = 0;

function attempt(name: string, given: { rank?: number; successors?: number; queuedAt?: number } = {}): Attempt {
  const { rank = 0, successors = 0, queuedAt = 0 } = given;
  return new Attempt(makeRun(new RecordingListener(), name, { rank, successors }), arrivals++, queuedAt);
}

function takeAll(queue: TaskQueue, now = 0): string[] {
  const taken: string[] = [];
  for (let next = queue.take(now); next !== undefined; next = queue.take(now)) taken.push(next.run.attemptId);
  return taken;
}

describe("the order within a domain", () => {
  test("is rank, then successors, then arrival", () => {
    const queue = new TaskQueue();
    queue.put(attempt("downstream", { rank: 2, successors: 9 }));
    queue.put(attempt("first"));
    queue.put(attempt("second"));
    queue.put(attempt("busy", { successors: 3 }));
    queue.put(attempt("sub-task", { rank: 1 }));
    assert.deepEqual(takeAll(queue), ["busy", "first", "second", "sub-task", "downstream"]);
    assert.equal(queue.size, 0);
  });

  test("lets whoever waited longest go at every fourth pick, so that nobody starves", () => {
    const queue = new TaskQueue(10_000);
    queue.put(attempt("patient", { rank: 5, queuedAt: 0 }));
    for (let i = 0; i < 8; i++) queue.put(attempt(`hasty ${i}`, { queuedAt: 9_000 }));
    const taken = takeAll(queue, 10_000);
    assert.equal(taken.indexOf("patient"), 3);
    assert.equal(taken.length, 9);
  });

  test("is kept while nobody waited long", () => {
    const queue = new TaskQueue(10_000);
    queue.put(attempt("last", { rank: 5 }));
    for (let i = 0; i < 8; i++) queue.put(attempt(`hasty ${i}`));
    assert.equal(takeAll(queue, 9_999).indexOf("last"), 8);
  });
});

test("a removed attempt is not taken, and one put back is taken once", () => {
  const queue = new TaskQueue();
  const [a, b] = [attempt("a"), attempt("b")];
  queue.put(a);
  queue.put(b);
  queue.remove(a, "over");
  assert.equal(queue.size, 1);
  assert.equal(queue.take(0), b);
  queue.put(b);
  assert.deepEqual(takeAll(queue), ["b"]);
});

test("a mass of removals leaves the others in order", () => {
  const queue = new TaskQueue();
  const all = Array.from({ length: 1000 }, (_, i) => attempt(`${i}`, { rank: i % 7, successors: i % 5 }));
  for (const one of all) queue.put(one);
  const stay = all.filter((_, i) => i % 10 === 0);
  for (const one of all) if (!stay.includes(one)) queue.remove(one, "over");
  assert.equal(queue.size, 100);
  assert.deepEqual(
    takeAll(queue),
    stay.toSorted(byOrder).map(({ run }) => run.attemptId),
  );
});

test("whatever is put, taken and removed, the queue agrees with a sorted list", () => {
  const step = fc.oneof(
    { weight: 3, arbitrary: fc.record({ rank: fc.nat(3), successors: fc.nat(3) }) },
    { weight: 2, arbitrary: fc.constant("take" as const) },
    { weight: 1, arbitrary: fc.nat(1000) },
  );
  fc.assert(
    fc.property(fc.array(step, { maxLength: 400, size: "max" }), (steps) => {
      const queue = new TaskQueue();
      let model: Attempt[] = [];
      for (const one of steps) {
        if (typeof one === "object") {
          const added = attempt("x", one);
          queue.put(added);
          model.push(added);
        } else if (one === "take") {
          const best = model.toSorted(byOrder)[0];
          assert.equal(queue.take(0), best);
          model = model.filter((other) => other !== best);
        } else if (model.length > 0) {
          const [gone] = model.splice(one % model.length, 1);
          queue.remove(gone!, "over");
        }
        assert.equal(queue.size, model.length);
      }
    }),
  );
});

function byOrder(a: Attempt, b: Attempt): number {
  return a.run.rank - b.run.rank || b.run.successors - a.run.successors || a.arrival - b.arrival;
}
