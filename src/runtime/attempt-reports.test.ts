import assert from "node:assert/strict";
import { setImmediate as settled } from "node:timers/promises";
import { describe, test } from "node:test";
import type { Dispatcher } from "../dispatch/dispatcher.ts";
import type { DispatcherStatus } from "../dispatch/dispatcher-status.ts";
import { AttemptReports } from "./attempt-reports.ts";
import type { DelegatedAttempts } from "./delegated-attempts.ts";
import type { ShardInstances } from "./shard-instances.ts";

/** Reports of attempts that nobody expects any more; the turns of their instances are durable when `flushed` resolves. */
function rigOfUnwanted({ isDelegated = false } = {}) {
  const flushed = Promise.withResolvers<void>();
  const asked: string[] = [];
  const flush = (id: string): Promise<void> => {
    asked.push(id);
    return flushed.promise;
  };
  const reports = new AttemptReports({
    dispatcher: {
      status: { connectionOf: () => undefined } satisfies Partial<DispatcherStatus>,
    } as unknown as Dispatcher,
    delegatedAttempts: {
      renew: () => false,
      delete: () => isDelegated,
      isOfEarlierRun: () => false,
    } satisfies Partial<DelegatedAttempts> as unknown as DelegatedAttempts,
    instances: { flush, tell: () => flushed.promise } satisfies Partial<ShardInstances> as unknown as ShardInstances,
  });
  return { reports, flushed, asked };
}

/** True if the call was answered before the flush had ended. */
async function isAnsweredEarly(call: Promise<unknown>): Promise<boolean> {
  let isAnswered = false;
  void call.then(() => (isAnswered = true));
  await settled();
  return isAnswered;
}

describe("a report of an attempt that is not wanted any more", () => {
  const attemptId = "i:1:0:1";

  test("is answered to the host that renews it when what made it unwanted is durable", async () => {
    const { reports, flushed, asked } = rigOfUnwanted();
    const call = reports.renew({ type: "RenewAttempts", host: "m", attemptIds: [attemptId], connections: {} });
    assert.equal(await isAnsweredEarly(call), false);
    assert.deepEqual(asked, ["i"]);
    flushed.resolve();
    assert.deepEqual(await call, [attemptId]);
  });

  test("is answered to the host on which it ended when what made it unwanted is durable", async () => {
    const { reports, flushed } = rigOfUnwanted();
    const input = { type: "AttemptEnded", task: 0, attempt: 1, outcome: { kind: "success" } } as never;
    const call = reports.end({ type: "ReportAttempt", host: "m", attemptId, id: "i", input });
    assert.equal(await isAnsweredEarly(call), false);
    flushed.resolve();
    await call;
    assert.equal(reports.dropped, 1);
  });
});

test("an attempt whose reported end is not durable yet is not unwanted, and holds up no other", async () => {
  const { reports, flushed, asked } = rigOfUnwanted({ isDelegated: true });
  const input = { type: "AttemptEnded", task: 0, attempt: 1, outcome: { kind: "success" } } as never;
  const attemptId = "i:1:0:1";
  const end = reports.end({ type: "ReportAttempt", host: "m", attemptId, id: "i", input });
  const renewal = { type: "RenewAttempts", host: "m", attemptIds: [attemptId], connections: {} } as const;
  assert.deepEqual(await reports.renew(renewal), []);
  assert.deepEqual(asked, []);
  flushed.resolve();
  await end;
  assert.deepEqual(await reports.renew(renewal), [attemptId]);
});
