import assert from "node:assert/strict";
import { test } from "node:test";
import { systemClock } from "../../engine/system-clock.ts";
import { Audit } from "./audit.ts";

const entry = {
  who: "ann",
  role: "operator",
  address: "127.0.0.1",
  requestId: "1",
  what: "pauseInstance",
  target: "x",
  status: 200,
} as const;

const unread = { listLines: async () => [], deleteLines: async () => undefined };

test("entries that come together are written together, and each waits for its line", async () => {
  const written: number[] = [];
  const store = {
    appendLines: async (lines: readonly unknown[]) => void written.push(lines.length),
    ...unread,
  };
  const logger = { debug: assert.fail, info: assert.fail, warn: assert.fail, error: assert.fail };
  const audit = new Audit({ store, clock: systemClock, logger, keepMs: 0 });
  await Promise.all([audit.append(entry), audit.append(entry), audit.append(entry)]);
  assert.deepEqual(written, [3]);
  await audit.append(entry);
  assert.deepEqual(written, [3, 1]);
});

test("what the store does not take is in the log", async () => {
  const logged: unknown[] = [];
  const store = { appendLines: () => Promise.reject(new Error("away")), ...unread };
  const keep = (fields: object): void => void logged.push(fields);
  const logger = { debug: keep, info: keep, warn: keep, error: keep };
  await new Audit({ store, clock: { ...systemClock, now: () => 5 }, logger, keepMs: 0 }).append(entry);
  assert.deepEqual(logged, [{ ...entry, at: 5, error: "away" }]);
});
