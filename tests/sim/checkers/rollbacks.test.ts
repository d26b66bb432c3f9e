import assert from "node:assert/strict";
import { test } from "node:test";
import type { OutboxRow } from "../../../src/stores/store.ts";
import type { EvidenceBuilder } from "./evidence-builder.ts";
import { goodRun } from "./evidence-builder.ts";
import { expectViolations } from "./expect-violations.ts";
import { checkMessageNumbers, checkRestoredHealth, checkRollbacks } from "./rollbacks.ts";

const message: OutboxRow = { source: 0, target: 0, number: 1, body: "{}" };

/** A member whose heartbeat is acknowledged after a backup, which is then restored. */
function restoredRun(): { builder: EvidenceBuilder; life: ReturnType<typeof goodRun>["life"] } {
  const { builder, life } = goodRun({ isCluster: true });
  builder.lists.memberships.push({ ...builder.moment(), life: life.number, what: "joined", member: "a" });
  const backedUp = builder.moment();
  builder.now += 1000;
  life.renewals.push({ member: "a", sentAt: builder.now, knownAt: builder.now + 10 });
  builder.now += 1000;
  builder.lists.restores.push({ backedUp, restored: builder.moment(), known: undefined });
  return { builder, life };
}

function notice(builder: EvidenceBuilder, life: number): void {
  const message = "the store was rolled back; this engine stops and does nothing more";
  builder.lists.logLines.push({ ...builder.moment(), life, level: "error", fields: {}, message });
}

test("a member need not notice a restore that only its thread's heartbeats contradict", () => {
  const { builder, life } = restoredRun();
  const [renewal] = life.renewals.splice(0);
  assert.ok(renewal !== undefined);
  life.renewals.push({ ...renewal, isByThread: true });
  assert.deepEqual(checkRollbacks(builder.evidence), []);
});

test("a member that does not notice a restore", () => {
  const { builder } = restoredRun();
  expectViolations(checkRollbacks, builder, /life 1 did not notice within/);
});

test("a member that notices too late", () => {
  const { builder, life } = restoredRun();
  builder.now += 60_000;
  notice(builder, life.number);
  expectViolations(checkRollbacks, builder, /life 1 did not notice within/);
});

test("a member that writes on; nothing is wrong with one that stops, and whose last commit arrives late", () => {
  const { builder, life } = restoredRun();
  const sent = builder.moment();
  notice(builder, life.number);
  builder.commit(life, {}, { sent });
  expectViolations(checkRollbacks, builder);
  builder.commit(life, {});
  expectViolations(checkRollbacks, builder, /life 1 wrote 1 batches after the store went back/);
});

test("an internal error of a member that does not notice a restore; one that notices may meet some", () => {
  const { builder, life } = restoredRun();
  const message = "an instance was quarantined after an internal error";
  builder.lists.logLines.push({ ...builder.moment(), life: life.number, level: "error", fields: {}, message });
  expectViolations(checkRestoredHealth, builder, /life 1 says .*internal error/);
  notice(builder, life.number);
  expectViolations(checkRestoredHealth, builder);
});

test("a number that is given out twice; a batch that comes twice is one", () => {
  const { builder, life } = goodRun();
  builder.commit(life, { outbox: [message] }, { number: 50 });
  builder.commit(life, { outbox: [message] }, { number: 50 });
  expectViolations(checkMessageNumbers, builder);
  builder.commit(life, { outbox: [message] }, { number: 51 });
  expectViolations(checkMessageNumbers, builder, /message 1 from shard 0 to 0 was sent by batches/);
});
