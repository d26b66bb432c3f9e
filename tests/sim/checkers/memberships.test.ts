import { test } from "node:test";
import { defaultTimings } from "../../../src/cluster/timings.ts";
import type { LifeRecord } from "../evidence.ts";
import { expectViolations } from "./expect-violations.ts";
import { checkMemberships } from "./memberships.ts";
import { EvidenceBuilder } from "./evidence-builder.ts";

const { beatMs, suspectMs, lostMs } = defaultTimings;

function heartbeat(builder: EvidenceBuilder, life: LifeRecord, member: string): void {
  life.renewals.push({ member, sentAt: builder.now, knownAt: builder.now });
}

/** Two that have sent a heartbeat. */
function pair(): { builder: EvidenceBuilder; remover: LifeRecord } {
  const builder = new EvidenceBuilder();
  const remover = builder.life("m1");
  heartbeat(builder, remover, "m1");
  heartbeat(builder, builder.life("m2"), "m2");
  return { builder, remover };
}

function remove(builder: EvidenceBuilder, remover: LifeRecord): void {
  builder.lists.memberships.push({ ...builder.moment(), life: remover.number, what: "removed", member: "m2" });
}

test("a member that was watched being silent is removed", () => {
  const { builder, remover } = pair();
  for (const end = builder.now + suspectMs + lostMs; builder.now < end; builder.now += beatMs)
    heartbeat(builder, remover, "m1");
  remove(builder, remover);
  expectViolations(checkMemberships, builder);
});

test("a member that is removed by one that did not see the store itself", () => {
  const { builder, remover } = pair();
  builder.now += suspectMs + lostMs;
  heartbeat(builder, remover, "m1");
  remove(builder, remover);
  expectViolations(checkMemberships, builder, /m2 was removed by life 1, which had watched it for \d+ of \d+ ms/);
});
