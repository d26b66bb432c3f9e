import assert from "node:assert/strict";
import { test } from "node:test";
import { Drain, type IdleListener } from "./drain.ts";

/** What was asked to happen soon, to be called by hand. */
function byHand(): { drain: Drain; calls: (() => void)[] } {
  const calls: (() => void)[] = [];
  const unused = (): never => assert.fail();
  const clock = { now: unused, monotonic: unused, after: unused, soon: (call: () => void) => void calls.push(call) };
  return { drain: new Drain(clock), calls };
}

/** Someone who is only told of the turn of the event loop. */
function onDrained(onIdle: () => void): IdleListener {
  return { onMicrotasksRun: () => undefined, onIdle };
}

test("those who ask at the same time share one turn of the event loop", () => {
  const { drain, calls } = byHand();
  const told: number[] = [];
  for (const n of [1, 2, 3]) drain.wait(onDrained(() => void told.push(n)));
  assert.deepEqual([calls.length, told], [1, []]);
  calls[0]?.();
  assert.deepEqual(told, [1, 2, 3]);
});

test("who asks after that, or because of that, waits for the next", () => {
  const { drain, calls } = byHand();
  const told: string[] = [];
  const again: IdleListener = onDrained(() => void told.push("again"));
  drain.wait(
    onDrained(() => {
      told.push("first");
      drain.wait(again);
    }),
  );
  calls[0]?.();
  assert.deepEqual([calls.length, told], [2, ["first"]]);
  calls[1]?.();
  assert.deepEqual(told, ["first", "again"]);
});

test("whoever asks is told when its own microtasks have run, and before anything else happens", async () => {
  const { drain } = byHand();
  const told: string[] = [];
  const ask = async (name: string): Promise<void> => {
    drain.wait({ onMicrotasksRun: () => void told.push(`${name} is through`), onIdle: () => undefined });
    process.nextTick(() => void Promise.resolve().then(() => told.push(`a tick of ${name}`)));
    for (let n = 0; n < 100; n++) await Promise.resolve();
    told.push(name);
  };
  void Promise.resolve().then(async () => {
    process.nextTick(() => void Promise.resolve().then(() => ask("second")));
    await ask("first");
  });
  setImmediate(() => told.push("an immediate"));
  await new Promise((resolve) => setImmediate(() => setImmediate(resolve)));
  assert.deepEqual(told, [
    "first",
    "first is through",
    "a tick of first",
    "second",
    "second is through",
    "a tick of second",
    "an immediate",
  ]);
});
