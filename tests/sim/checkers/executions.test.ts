import { test } from "node:test";
import { expectViolations } from "./expect-violations.ts";
import { checkExecutions } from "./executions.ts";
import { created, goodRun, EvidenceBuilder, solo } from "./evidence-builder.ts";

test("an attempt that runs twice at once", () => {
  const { builder, run } = goodRun();
  run.end = undefined;
  builder.run(builder.life("m2"), "a:1:0:1");
  expectViolations(checkExecutions, builder, /a:1:0:1 ran on life 2 while it ran on life 1/);
});

test("an attempt that was done on a process that lives, and runs again", () => {
  const { builder } = goodRun({ isCluster: true });
  builder.run(builder.life("m2"), "a:1:0:1");
  expectViolations(checkExecutions, builder, /a:1:0:1 had done on life 1, which lives, and ran again/);
});

test("nothing is wrong after a crash, nor after the lease has lapsed", () => {
  const { builder, life, run } = goodRun({ isCluster: true });
  run.end = undefined;
  life.renewals.push({ member: "m1", sentAt: 1000, knownAt: 1001 });
  builder.now = 1000 + 36_000;
  const other = builder.life("m2");
  builder.run(other, "a:1:0:1");
  other.end = { ...builder.moment(), how: "crashed" };
  builder.run(builder.life("m3"), "a:1:0:1");
  expectViolations(checkExecutions, builder);
});

test("an attempt that was done on a member before it was stopped, and runs again", () => {
  for (const { stopMs, isStoreRough, isLost } of [
    { stopMs: 997, isStoreRough: false, isLost: false },
    { stopMs: 1000, isStoreRough: false, isLost: true },
    { stopMs: 997, isStoreRough: true, isLost: true },
  ]) {
    const { builder, life } = goodRun({ isCluster: true, isStoreRough });
    builder.now++;
    life.stopping = builder.moment();
    builder.now = life.stopping.at + stopMs;
    life.end = { ...builder.moment(), how: "stopped" };
    builder.now += 5000;
    builder.run(builder.life("m2"), "a:1:0:1");
    if (isLost) expectViolations(checkExecutions, builder);
    else expectViolations(checkExecutions, builder, /a:1:0:1 had done on life 1, which lives, and ran again/);
  }
});

test("a lease that has not lapsed yet", () => {
  const { builder, life, run } = goodRun({ isCluster: true });
  run.end = undefined;
  life.renewals.push({ member: "m1", sentAt: 1000, knownAt: 1001 });
  builder.now = 1000 + 35_999;
  builder.run(builder.life("m2"), "a:1:0:1");
  expectViolations(checkExecutions, builder, /while it ran on life 1/);
});

test("an attempt that runs elsewhere while its worker may go on", () => {
  const { builder, worker } = withWorker();
  builder.run(worker, "a:1:0:1");
  builder.now += 53_900;
  builder.run(builder.life("m2"), "a:1:0:1");
  expectViolations(checkExecutions, builder, /a:1:0:1 ran on life 3 while it ran on life 2/);
});

test("an attempt that was done on a worker that lives and was answered, and runs again", () => {
  const { builder, worker } = withWorker();
  builder.ended(builder.run(worker, "a:1:0:1"));
  for (let i = 0; i < 10; i++) {
    builder.now += 20_000;
    builder.renew(worker);
  }
  builder.run(builder.life("m2"), "a:1:0:1");
  expectViolations(checkExecutions, builder, /a:1:0:1 had done on life 2, which lives, and ran again/);
});

test("nothing is wrong if the member that answered the worker could not reach the store with the result", () => {
  const { builder, life, worker } = withWorker();
  builder.ended(builder.run(worker, "a:1:0:1"));
  builder.lists.storeOutages.push({ machine: life.machine, from: builder.now + 1, to: builder.now + 100_000 });
  for (let i = 0; i < 3; i++) {
    builder.now += 20_000;
    builder.renew(worker);
  }
  builder.run(builder.life("m2"), "a:1:0:1");
  expectViolations(checkExecutions, builder);
});

test("nothing is wrong if the worker died, or was cut off until its leases expired before anybody heard of the result", () => {
  for (const isDead of [true, false]) {
    const { builder, worker } = withWorker();
    builder.ended(builder.run(worker, "a:1:0:1"));
    builder.now += isDead ? 100 : 54_100;
    if (isDead) worker.end = { ...builder.moment(), how: "crashed" };
    else builder.renew(worker);
    builder.now += 1000;
    builder.run(builder.life("m2"), "a:1:0:1");
    expectViolations(checkExecutions, builder);
  }
});

test("an attempt whose result its worker was told to forget, and runs again", () => {
  const { builder, worker, life } = withWorker();
  const run = builder.run(worker, "a:1:0:1");
  builder.ended(run);
  run.acknowledged = builder.moment();
  worker.end = { ...builder.moment(), how: "crashed" };
  builder.now += 1000;
  builder.turn(life, 1, [{ type: "TaskInterrupted", task: 0, attempt: 1 }]);
  builder.run(life, "a:1:0:1");
  expectViolations(
    checkExecutions,
    builder,
    /a:1:0:1 had done on life 2, whose result was acknowledged, and ran again/,
  );
});

test("a result that came when its attempt was lost already may be forgotten", () => {
  const { builder, worker, life } = withWorker();
  const run = builder.run(worker, "a:1:0:1");
  builder.ended(run);
  builder.now += 54_100;
  builder.turn(life, 1, [{ type: "TaskInterrupted", task: 0, attempt: 1 }]);
  run.acknowledged = builder.moment();
  builder.run(life, "a:1:0:1");
  expectViolations(checkExecutions, builder);
});

test("an attempt that is counted as interrupted on a worker that has it", () => {
  const { builder, worker, life } = withWorker();
  const run = builder.run(worker, "a:1:0:1");
  builder.now += 20_000;
  run.abort = builder.moment();
  builder.ended(run, "aborted");
  builder.turn(life, 1, [{ type: "TaskInterrupted", task: 0, attempt: 1 }]);
  expectViolations(
    checkExecutions,
    builder,
    /a:1:0:1 was counted as interrupted, and life 2 had it and its lease was renewed/,
  );
});

test("an attempt that its member stopped because no owner had renewed its lease, and a worker that is answered since", () => {
  const { builder, worker, life } = withWorker();
  const run = builder.run(worker, "a:1:0:1");
  builder.now += 52_000;
  run.abort = builder.moment();
  builder.ended(run, "aborted");
  builder.now += 1000;
  builder.renew(worker);
  builder.now += 10_000;
  builder.turn(life, 1, [{ type: "TaskInterrupted", task: 0, attempt: 1 }]);
  expectViolations(checkExecutions, builder);
});

/** A worker with a first answer, and an instance whose task is to run. */
function withWorker(): {
  builder: EvidenceBuilder;
  life: ReturnType<EvidenceBuilder["life"]>;
  worker: ReturnType<EvidenceBuilder["life"]>;
} {
  const builder = new EvidenceBuilder({ isCluster: true });
  const life = builder.life();
  builder.claim(life);
  builder.turn(life, 1, created(builder, solo));
  const worker = builder.life("w1", "worker");
  builder.renew(worker);
  return { builder, life, worker };
}
