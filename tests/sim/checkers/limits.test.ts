import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { LifeRecord } from "../evidence.ts";
import { expectViolations } from "./expect-violations.ts";
import { checkLimits } from "./limits.ts";
import { created, EvidenceBuilder, solo } from "./evidence-builder.ts";
import { WorkflowBuilder } from "../../../src/authoring/workflow-builder.ts";
import { TaskBuilder } from "../../../src/authoring/task-builder.ts";

test("more in a domain than it has room for, wherever they run", () => {
  const builder = twoInstances({ isCluster: true });
  builder.run(builder.life("m1"), "a:1:0:1", { domain: "red" });
  builder.run(builder.life("m2"), "b:1:0:1", { domain: "red" });
  expectViolations(checkLimits, builder, /b:1:0:1 was started as number 2 of 1 in domain red/);
});

test("one after the other is one at a time", () => {
  const builder = twoInstances({});
  const life = builder.life();
  builder.ended(builder.run(life, "a:1:0:1", { domain: "red" }));
  builder.run(life, "b:1:0:1", { domain: "red" });
  expectViolations(checkLimits, builder);
});

test("a member that lost its lease has stopped, as far as others are concerned", () => {
  const builder = twoInstances({ isCluster: true });
  const life = builder.life();
  life.renewals.push({ member: "m1", sentAt: 1000, knownAt: 1001 });
  builder.run(life, "a:1:0:1", { domain: "red" });
  builder.now = 1000 + 36_000;
  builder.run(builder.life("m2"), "b:1:0:1", { domain: "red" });
  expectViolations(checkLimits, builder);
});

test("a size that was raised holds in the process that was told, and in no other", () => {
  const builder = twoInstances({});
  const life = builder.life();
  builder.answer(builder.ask(life, "resize", { given: { domain: "red", size: 2 } }));
  builder.now++;
  builder.run(life, "a:1:0:1", { domain: "red" });
  builder.run(life, "b:1:0:1", { domain: "red" });
  expectViolations(checkLimits, builder);
  const other = builder.life("m2");
  builder.run(other, "a:1:0:1", { domain: "red" });
  expectViolations(checkLimits, builder, /number 3 of 1 in domain red/, /number 2 of 1 of its instance/);
});

test("more than the pool of a process", () => {
  const builder = twoInstances({ poolSize: 1 });
  const life = builder.life();
  builder.run(life, "a:1:0:1");
  builder.run(life, "b:1:0:1");
  expectViolations(checkLimits, builder, /b:1:0:1 was started as number 2 of 1 in its process/);
});

test("more than the slots of a worker, and more in a domain than it has room for, wherever they run", () => {
  const builder = twoInstances({ isCluster: true, workerSlots: 1 });
  const worker = builder.life("w1", "worker");
  builder.renew(worker);
  builder.run(worker, "a:1:0:1", { domain: "red" });
  builder.run(worker, "b:1:0:1", { domain: "red" });
  expectViolations(
    checkLimits,
    builder,
    /b:1:0:1 was started as number 2 of 1 in domain red/,
    /number 2 of 1 in its process/,
  );
});

test("a worker that has not heard that its attempt is over has a slot of the domain, and none of its instance", () => {
  const builder = twoInstances({ isCluster: true });
  const worker = builder.life("w1", "worker");
  builder.renew(worker);
  builder.run(worker, "a:1:0:1", { domain: "red" });
  const failure = { type: "TASK_TIMEOUT", message: "too long", retryable: true };
  const [member] = builder.lists.lives;
  builder.turn(member!, 1, [{ type: "TaskFailed", task: 0, attempt: 1, failure, timedOut: true, retryAt: 1 }]);
  builder.turn(member!, 1, [
    { type: "RetriesDue", tasks: [0] },
    { type: "TasksScheduled", tasks: [0] },
  ]);
  builder.run(builder.life("m2"), "a:1:0:2", { domain: "red" });
  expectViolations(checkLimits, builder, /a:1:0:2 was started as number 2 of 1 in domain red/);
});

test("a worker whose leases were not renewed has stopped, as far as others are concerned", () => {
  const builder = twoInstances({ isCluster: true });
  const worker = builder.life("w1", "worker");
  builder.renew(worker);
  builder.run(worker, "a:1:0:1", { domain: "red" });
  builder.now += 54_001;
  builder.run(builder.life("m2"), "b:1:0:1", { domain: "red" });
  expectViolations(checkLimits, builder);
});

test("more instances of a workflow than may run at once", () => {
  const builder = new EvidenceBuilder();
  const life = builder.life();
  const limited = new WorkflowBuilder().withName("limited").withTask(new TaskBuilder("t").withJobFunction("step"));
  for (const key of [1, 2, 3]) builder.turn(life, key, created(builder, limited.build()));
  expectViolations(checkLimits, builder, /3 instances of the limited workflow ran at 1000/);
});

describe("an instance of a workflow with a maximum that is reopened", () => {
  const limited = new WorkflowBuilder()
    .withName("limited")
    .withTask(new TaskBuilder("t").withJobFunction("step"))
    .build();
  const reopened = { type: "InstanceReopened", generation: 2, reset: [0] } as const;

  /** Two instances run, and a third one, which had ended, is reopened beside them. */
  function threeRun(builder: EvidenceBuilder): LifeRecord {
    const life = builder.life();
    for (const key of [1, 2, 3]) {
      if (key === 3) builder.turn(life, 1, [{ type: "InstanceEnded", status: "Terminated" }]);
      builder.turn(life, key, created(builder, limited));
    }
    builder.turn(life, 1, [reopened, { type: "TasksScheduled", tasks: [0] }]);
    return life;
  }

  test("may run above it", () => {
    const builder = new EvidenceBuilder();
    threeRun(builder);
    expectViolations(checkLimits, builder);
  });

  test("counts: a start after it has to wait until one of the others ends", () => {
    for (const isWaiting of [false, true]) {
      const builder = new EvidenceBuilder();
      const life = threeRun(builder);
      builder.turn(life, 2, [{ type: "InstanceEnded", status: "Terminated" }]);
      const call = builder.ask(life, "submit", { marker: "s4-0" });
      if (isWaiting) builder.turn(life, 3, [{ type: "InstanceEnded", status: "Terminated" }]);
      builder.turn(life, 4, created(builder, limited, { context: { marker: '"s4-0"' } }));
      builder.answer(call);
      const violations = isWaiting ? [] : [/d was admitted to the limited workflow beside 2 others/];
      expectViolations(checkLimits, builder, ...violations);
    }
  });

  test("counts in a cluster when the gate has its message", () => {
    for (const isRead of [false, true]) {
      const builder = new EvidenceBuilder({ isCluster: true });
      const about = { from: 1, to: "workflow:limited", workflow: "limited", instanceId: "a" };
      const enter = { kind: "enter-gate", ...about, limit: { max: 2, policy: "queue" }, isReopened: true };
      const life = threeRun(builder);
      const [reopening] = builder.lists.commits.slice(-1);
      assert.ok(reopening !== undefined);
      const { batch } = reopening;
      const outbox = [{ source: 0, target: 1, number: 7, body: JSON.stringify(enter) }];
      const sending = { ...reopening, batch: { ...batch, changes: { ...batch.changes, outbox } } };
      builder.lists.commits.splice(-1, 1, sending);
      builder.turn(life, 2, [{ type: "InstanceEnded", status: "Terminated" }]);
      if (isRead) builder.commit(life, { offsets: [{ shard: 1, source: 0, number: 7 }] });
      const admit = JSON.stringify({ kind: "admit", from: 0, to: "d" });
      builder.commit(life, { outbox: [{ source: 1, target: 0, number: 1, body: admit }] });
      builder.turn(life, 4, created(builder, limited));
      const violations = isRead ? [/d was admitted to the limited workflow beside 2 others/] : [];
      expectViolations(checkLimits, builder, ...violations);
    }
  });
});

test("an instance that its workflow's maximum refuses although there is room", () => {
  const builder = new EvidenceBuilder();
  const life = builder.life();
  const limited = new WorkflowBuilder().withName("limited").withTask(new TaskBuilder("t").withJobFunction("step"));
  const refusal = { type: "InstanceEnded", status: "Failed", reason: "too many instances(3>2)" } as const;
  builder.turn(life, 1, created(builder, limited.build()));
  builder.turn(life, 2, [created(builder, limited.build())[0]!, refusal]);
  expectViolations(checkLimits, builder, /was refused, and only 1 others had come/);
});

test("an instance that is refused in the commit with which the last that may run has come", () => {
  const builder = new EvidenceBuilder();
  const life = builder.life();
  const limited = new WorkflowBuilder().withName("limited").withTask(new TaskBuilder("t").withJobFunction("step"));
  for (const key of [1, 2]) builder.turn(life, key, created(builder, limited.build()));
  const refusal = { type: "InstanceEnded", status: "Failed", reason: "too many instances(3>2)" } as const;
  builder.turn(life, 3, [created(builder, limited.build())[0]!, refusal]);
  const [second, third] = builder.lists.commits.slice(-2);
  assert.ok(second !== undefined && third !== undefined);
  builder.lists.commits.splice(-1, 1, { ...third, at: second.at, order: second.order });
  expectViolations(checkLimits, builder);
});

function twoInstances(setting: ConstructorParameters<typeof EvidenceBuilder>[0]): EvidenceBuilder {
  const builder = new EvidenceBuilder(setting);
  const life = builder.life("m0");
  for (const key of [1, 2]) builder.turn(life, key, created(builder, solo));
  return builder;
}
