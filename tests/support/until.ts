import assert from "node:assert/strict";
import { setTimeout as delay } from "node:timers/promises";

/** Far above what anything takes: a test that waits this long has failed. */
const patienceMs = 60_000;

export interface WaitOptions {
  readonly everyMs?: number;
}

/** Waits until it is so. For what happens outside the test's clock: processes, sockets, files, databases. */
export async function until(isSo: () => boolean | Promise<boolean>, { everyMs = 5 }: WaitOptions = {}): Promise<void> {
  const deadline = performance.now() + patienceMs;
  while (!(await isSo())) {
    assert.ok(performance.now() < deadline, `never came about: ${isSo.toString()}`);
    await delay(everyMs);
  }
}

/** Waits until the assertions hold, and fails with the last that did not. */
export async function eventually(holds: () => void | Promise<void>, { everyMs = 10 }: WaitOptions = {}): Promise<void> {
  const deadline = performance.now() + patienceMs;
  for (;;) {
    try {
      return await holds();
    } catch (error) {
      if (performance.now() > deadline) throw error;
    }
    await delay(everyMs);
  }
}
