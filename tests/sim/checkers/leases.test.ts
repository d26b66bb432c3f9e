import { test } from "node:test";
import { expectViolations } from "./expect-violations.ts";
import { checkLeases } from "./leases.ts";
import { created, EvidenceBuilder, solo } from "./evidence-builder.ts";

/** 0.9 of the timeout of the others. */
const leaseMs = 36_000;
const workerLeaseMs = 54_000;

test("a job that starts when the lease is over", () => {
  const { builder, life } = member();
  builder.now += leaseMs + 100;
  builder.run(life, "a:1:0:1");
  expectViolations(checkLeases, builder, /a:1:0:1 ran on life 1, whose lease had been over for 100 ms/);
});

test("a job that goes on when the lease is over", () => {
  const { builder, life } = member();
  const run = builder.run(life, "a:1:0:1");
  builder.now += leaseMs + 1;
  run.abort = builder.moment();
  expectViolations(checkLeases, builder);
  builder.now += 10_000;
  run.abort = builder.moment();
  expectViolations(checkLeases, builder, /a:1:0:1 ran on for 10001 ms on life 1, whose lease was over/);
});

test("a process that stood still stops its jobs when it goes on", () => {
  const { builder, life } = member();
  const run = builder.run(life, "a:1:0:1");
  const from = builder.moment();
  builder.now += 2 * leaseMs;
  life.freezes.push({ from, to: builder.moment(), kind: "stopped" });
  run.abort = builder.moment();
  expectViolations(checkLeases, builder);
});

test("a lease that is renewed is not over, and one that is regained is as good as new", () => {
  const { builder, life } = member();
  life.renewals.push({ member: "m1", sentAt: builder.now + 100_000, knownAt: builder.now + 100_010 });
  builder.now += 100_020;
  builder.ended(builder.run(life, "a:1:0:1"));
  expectViolations(checkLeases, builder);
});

test("a job that goes on, on a worker whose leases were not renewed", () => {
  const { builder, worker } = withWorker();
  const run = builder.run(worker, "a:1:0:1");
  builder.now += workerLeaseMs + 1;
  run.abort = builder.moment();
  expectViolations(checkLeases, builder);
  builder.now += 100;
  run.abort = builder.moment();
  expectViolations(checkLeases, builder, /a:1:0:1 ran on for 101 ms on life 2, whose lease on the attempt was over/);
});

test("a job that starts on a worker when its leases have expired", () => {
  const { builder, worker } = withWorker();
  builder.now += workerLeaseMs + 50;
  builder.run(worker, "a:1:0:1");
  expectViolations(checkLeases, builder, /a:1:0:1 ran on life 2, whose lease on the attempt had been over for 50 ms/);
});

test("an answer counts from when the heartbeat was sent, for what it is about", () => {
  const { builder, worker } = withWorker();
  const run = builder.run(worker, "a:1:0:1");
  builder.now += 20_000;
  builder.renew(worker);
  builder.now += 10_000;
  builder.renew(worker, { "a:1:0:1": Infinity });
  builder.renew(worker, { "a:1:0:1": 8000 });
  builder.now = 1000 + 30_000 - 8000 + workerLeaseMs + 1;
  run.abort = builder.moment();
  expectViolations(checkLeases, builder);
  builder.now += 1000;
  run.abort = builder.moment();
  expectViolations(checkLeases, builder, /a:1:0:1 ran on for 1001 ms on life 2, whose lease on the attempt was over/);
});

test("a worker does not have to know that its member's lease is over", () => {
  const { builder, worker, life } = withWorker();
  life.renewals.push({ member: "m1", sentAt: builder.now, knownAt: builder.now });
  const run = builder.run(worker, "a:1:0:1");
  for (let i = 0; i < 10; i++) {
    builder.now += 10_000;
    builder.renew(worker);
  }
  run.abort = builder.moment();
  expectViolations(checkLeases, builder);
});

test("a worker whose wall clock says that it slept stops at its next look", () => {
  const { builder, worker } = withWorker();
  const run = builder.run(worker, "a:1:0:1");
  builder.now++;
  builder.lists.clockSettings.push({ ...builder.moment(), machine: "w1", wallOffsetMs: 60_000 });
  builder.now += 2500;
  run.abort = builder.moment();
  expectViolations(checkLeases, builder);
  builder.now += 100;
  run.abort = builder.moment();
  expectViolations(checkLeases, builder, /a:1:0:1 ran on for 2600 ms on life 2, whose lease on the attempt was over/);
});

test("one that stands still again before its next look stops when it goes on the second time", () => {
  const { builder, worker } = withWorker();
  const run = builder.run(worker, "a:1:0:1");
  builder.now++;
  builder.lists.clockSettings.push({ ...builder.moment(), machine: "w1", wallOffsetMs: 60_000 });
  for (const kind of ["suspended", "stopped"] as const) {
    builder.now += 100;
    const from = builder.moment();
    builder.now += 3000;
    worker.freezes.push({ from, to: builder.moment(), kind });
  }
  run.abort = builder.moment();
  expectViolations(checkLeases, builder);
  builder.now += 2600;
  run.abort = builder.moment();
  expectViolations(checkLeases, builder, /a:1:0:1 ran on for 8800 ms on life 2, whose lease on the attempt was over/);
});

/** A worker with a first answer, and an instance for it. */
function withWorker(): {
  builder: EvidenceBuilder;
  life: ReturnType<EvidenceBuilder["life"]>;
  worker: ReturnType<EvidenceBuilder["life"]>;
} {
  const builder = new EvidenceBuilder({ isCluster: true });
  const life = builder.life();
  builder.turn(life, 1, created(builder, solo));
  const worker = builder.life("w1", "worker");
  builder.renew(worker);
  return { builder, life, worker };
}

function member(): { builder: EvidenceBuilder; life: ReturnType<EvidenceBuilder["life"]> } {
  const builder = new EvidenceBuilder({ isCluster: true });
  const life = builder.life();
  life.renewals.push({ member: "m1", sentAt: builder.now, knownAt: builder.now });
  builder.turn(life, 1, created(builder, solo));
  return { builder, life };
}
