import { test } from "node:test";
import type { LifeRecord } from "../evidence.ts";
import { expectViolations } from "./expect-violations.ts";
import { created, EvidenceBuilder, solo } from "./evidence-builder.ts";
import { checkStalls } from "./stalls.ts";

test("an owner that has stood still does not count an attempt as interrupted at once", () => {
  const { builder, owner } = heldResult();
  stoodStill(builder, owner, 50_000);
  builder.now += 10;
  interrupt(builder, owner);
  expectViolations(checkStalls, builder, /a:1:0:1 was counted as interrupted by life 1, which had stood still/);
});

test("it does so after half of its timeout, or if it was stalled for less than that", () => {
  const late = heldResult();
  stoodStill(late.builder, late.owner, 50_000);
  late.builder.now += 30_000;
  interrupt(late.builder, late.owner);
  expectViolations(checkStalls, late.builder);
  const short = heldResult();
  stoodStill(short.builder, short.owner, 20_000);
  interrupt(short.builder, short.owner);
  expectViolations(checkStalls, short.builder);
});

test("a worker that is gone, or that the owner hears itself, is another matter", () => {
  const gone = heldResult();
  stoodStill(gone.builder, gone.owner, 50_000);
  gone.worker.end = { ...gone.builder.moment(), how: "crashed" };
  interrupt(gone.builder, gone.owner);
  expectViolations(checkStalls, gone.builder);
  const own = heldResult();
  stoodStill(own.builder, own.owner, 50_000);
  own.builder.renew(own.worker, {}, own.owner.number);
  interrupt(own.builder, own.owner);
  expectViolations(checkStalls, own.builder);
});

/** A worker has run an attempt, and another member than the owner speaks for it. */
function heldResult(): { builder: EvidenceBuilder; owner: LifeRecord; worker: LifeRecord } {
  const builder = new EvidenceBuilder({ isCluster: true });
  const [owner, host, worker] = [builder.life("m1"), builder.life("m2"), builder.life("w1", "worker")];
  builder.turn(owner, 1, created(builder, solo));
  builder.renew(worker, {}, host.number);
  builder.ended(builder.run(worker, "a:1:0:1"));
  builder.now += 1000;
  return { builder, owner, worker };
}

function stoodStill(builder: EvidenceBuilder, owner: LifeRecord, ms: number): void {
  const from = builder.moment();
  builder.now += ms;
  owner.freezes.push({ from, to: builder.moment(), kind: "stopped" });
}

function interrupt(builder: EvidenceBuilder, owner: LifeRecord): void {
  builder.turn(owner, 1, [{ type: "TaskInterrupted", task: 0, attempt: 1 }]);
}
