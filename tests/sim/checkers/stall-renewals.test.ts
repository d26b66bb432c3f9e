import { test } from "node:test";
import { defaultTimings, memberLeaseMs } from "../../../src/cluster/timings.ts";
import type { Freeze, LifeRecord } from "../evidence.ts";
import { EvidenceBuilder } from "./evidence-builder.ts";
import { expectViolations } from "./expect-violations.ts";
import { checkStallRenewals } from "./stall-renewals.ts";

const { beatMs, stallMs } = defaultTimings;

/** A member whose event loop is blocked from now on, just after a renewal. */
function stalled(): { builder: EvidenceBuilder; life: LifeRecord; stall: Freeze } {
  const builder = new EvidenceBuilder();
  const life = builder.life("m1");
  renew(builder, life);
  const stall: Freeze = { from: builder.moment(), to: undefined, kind: "stalled" };
  life.freezes.push(stall);
  return { builder, life, stall };
}

function renew(builder: EvidenceBuilder, life: LifeRecord, isByThread?: true): void {
  const { now } = builder;
  life.renewals.push({ member: "m1:1", sentAt: now, knownAt: now, ...(isByThread && { isByThread }) });
}

function renewUntil(builder: EvidenceBuilder, life: LifeRecord, until: number): void {
  for (builder.now += beatMs; builder.now <= until; builder.now += beatMs) renew(builder, life, true);
}

test("a thread renews until it gives up", () => {
  const { builder, life } = stalled();
  renewUntil(builder, life, builder.now + stallMs);
  expectViolations(checkStallRenewals, builder);
});

test("a thread that renews after it has given up", () => {
  const { builder, life } = stalled();
  renewUntil(builder, life, builder.now + stallMs + beatMs);
  expectViolations(checkStallRenewals, builder, /life 1 renewed its lease 2250 ms after it had given up/);
});

test("time in which the whole process was stopped is no stall", () => {
  const { builder, life, stall } = stalled();
  stall.stop = { from: builder.now, to: builder.now + 2 * beatMs };
  renewUntil(builder, life, builder.now + stallMs + beatMs);
  expectViolations(checkStallRenewals, builder);
});

test("a thread that renews a lease that is over", () => {
  const { builder, life } = stalled();
  builder.now += memberLeaseMs(defaultTimings) + 1000;
  renew(builder, life, true);
  expectViolations(checkStallRenewals, builder, /life 1 renewed a lease that was over for 1000 ms/);
});

test("a thread that renews although the loop runs", () => {
  const builder = new EvidenceBuilder();
  renew(builder, builder.life("m1"), true);
  expectViolations(checkStallRenewals, builder, /life 1 renewed the lease of m1:1 without a stall/);
});

test("a member that is removed although its thread could renew, unless the store was away", () => {
  const { builder, stall } = stalled();
  const from = builder.now;
  builder.now += 50_000;
  builder.lists.memberships.push({ ...builder.moment(), life: 1, what: "removed", member: "m1:1" });
  stall.to = builder.moment();
  expectViolations(checkStallRenewals, builder, /m1:1 was removed 50000 ms after its event loop was blocked/);
  builder.lists.storeOutages.push({ machine: "m1", from: from + 10_000, to: from + 20_000 });
  expectViolations(checkStallRenewals, builder);
});

test("a member that is removed after its wall clock showed the end of its lease", () => {
  const { builder, stall } = stalled();
  builder.now += beatMs;
  builder.lists.clockSettings.push({ ...builder.moment(), machine: "m1", wallOffsetMs: 60_000 });
  builder.now += 50_000;
  builder.lists.memberships.push({ ...builder.moment(), life: 1, what: "removed", member: "m1:1" });
  stall.to = builder.moment();
  expectViolations(checkStallRenewals, builder);
});

test("a clock that is set ahead by less than the lease does not excuse a thread", () => {
  const { builder, stall } = stalled();
  builder.now += beatMs;
  builder.lists.clockSettings.push({ ...builder.moment(), machine: "m1", wallOffsetMs: 1000 });
  builder.now += 50_000;
  builder.lists.memberships.push({ ...builder.moment(), life: 1, what: "removed", member: "m1:1" });
  stall.to = builder.moment();
  expectViolations(checkStallRenewals, builder, /m1:1 was removed 52500 ms after its event loop was blocked/);
});

test("a thread that renews a lease that is over by its wall clock", () => {
  const { builder, life } = stalled();
  builder.now += beatMs;
  builder.lists.clockSettings.push({ ...builder.moment(), machine: "m1", wallOffsetMs: 60_000 });
  builder.now += 100;
  renew(builder, life, true);
  expectViolations(checkStallRenewals, builder, /life 1 renewed a lease that was over by its wall clock/);
});

test("an answer that comes when a stopped process runs again prolongs the lease from its renewal", () => {
  const { builder, life } = stalled();
  const leaseMs = memberLeaseMs(defaultTimings);
  builder.now += beatMs;
  const from = builder.now;
  renew(builder, life, true);
  builder.now += beatMs;
  // By the renewal before, the lease is over; by this one, of which it hears as it sends the next, it is not.
  const again = from + leaseMs - 1000;
  life.renewals.push({ member: "m1:1", sentAt: builder.now, knownAt: again, isByThread: true });
  builder.now = again - 10;
  builder.lists.clockSettings.push({ ...builder.moment(), machine: "m1", wallOffsetMs: 2000 });
  builder.now = again;
  life.renewals.push({ member: "m1:1", sentAt: again, knownAt: again + 100, isByThread: true });
  expectViolations(checkStallRenewals, builder);
});
