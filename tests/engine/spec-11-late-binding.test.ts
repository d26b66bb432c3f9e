/** Spec §10.3, §11.1 and §11.6: an attempt runs on a slot of any member, and roles mean what they say. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { defineJob, type JobContext, type Workflow } from "../../src/index.ts";
import { type HandCall, HandJob } from "../runtime/hand-job.ts";
import { buses, EngineClusterRig, type RigMember } from "./engine-cluster-rig.ts";
import { task, workflow } from "./rig.ts";

/** Independent tasks of one instance, which all run at the same time if there are slots. */
function fan(count: number, job = "work"): Workflow {
  const tasks = Array.from({ length: count }, (_, number) => task(`t${number}`, job).withTimeout(3600));
  return workflow(`fan-${count}`, ...tasks);
}

interface Meter {
  readonly running: Map<string, number>;
  readonly peak: Map<string, number>;
  readonly ran: string[];
}

/** Jobs that take a second, and say on which member they run. */
function meter(
  rig: () => EngineClusterRig,
): Meter & { readonly jobsOf: (member: string) => ReturnType<typeof defineJob>[] } {
  const running = new Map<string, number>();
  const peak = new Map<string, number>();
  const ran: string[] = [];
  const jobsOf = (member: string) => [
    defineJob("work", async (_params: unknown, ctx: JobContext) => {
      const now = (running.get(member) ?? 0) + 1;
      running.set(member, now);
      peak.set(member, Math.max(peak.get(member) ?? 0, now));
      ran.push(`${ctx.taskName} on ${member}`);
      await new Promise<void>((resolve) => void rig().clock.after(1000, resolve));
      running.set(member, (running.get(member) ?? 1) - 1);
      return member;
    }),
  ];
  return { running, peak, ran, jobsOf };
}

describe("11.6 one instance uses the slots of every member", () => {
  for (const [bus, how] of buses) {
    test(`11.6 its tasks run on all members at once, and each once, ${how}`, async (t) => {
      const { peak, ran, jobsOf } = meter(() => rig);
      const options = { jobsOf, bus, poolSize: 2, maxConcurrentTasks: 100 };
      const [rig, a, b] = await EngineClusterRig.start(t, 3, options);
      const id = await rig.idOn(b);
      const run = await rig.clock.until(a.engine.submitWorkflow(fan(60), { instanceId: id }));
      const outputs = await rig.clock.until(run.result());
      assert.equal(ran.length, 60, "each task runs once");
      assert.deepEqual(Object.fromEntries(peak), { a: 2, b: 2, c: 2 });
      assert.equal(Object.keys(outputs).length, 60);
    });
  }
});

describe("10.3 a slot of any member", () => {
  for (const [bus, how] of buses.filter(([kind]) => kind !== "deaf")) {
    test(`10.3 is not idle for 3 s beside a task that waits on another member, ${how}`, async (t) => {
      const work = new HandJob();
      const [rig, a, b] = await EngineClusterRig.start(t, 2, { jobs: [work.job], bus, poolSize: 1 });
      const [onA, onB] = [await rig.idOn(a), await rig.idOn(b)];
      await rig.clock.until(a.engine.submitWorkflow(fan(1), { instanceId: onA }));
      const busy = await rig.clock.until(work.call("t0", { instanceId: onA }));
      await rig.clock.until(b.engine.submitWorkflow(fan(2), { instanceId: onB }));
      await rig.clock.until(work.call("t0", { instanceId: onB }));
      await rig.clock.advance(5000);
      assert.equal(work.calls.length, 2, "both slots are taken");
      const { waiting } = await rig.clock.until(b.engine.getWorkflowInstanceStatus(onB));
      assert.match(JSON.stringify(waiting), /a free slot in domain default/);
      busy.finish();
      await rig.clock.advance(3000);
      assert.deepEqual(work.calls.length, 3);
      const { waiting: after } = await rig.clock.until(a.engine.getWorkflowInstanceStatus(onB));
      assert.doesNotMatch(JSON.stringify(after), /a free slot/);
    });
  }

  test("10.3 is asked for while the member of the task has no worker with its job, and the wait says so", async (t) => {
    const work = new HandJob();
    const [rig, a] = await EngineClusterRig.start(t, 1, { jobs: [work.job], poolSize: 1 });
    const server = await rig.join("s", { runsJobs: false });
    await rig.spread();
    const id = await rig.idOn(server);
    await rig.clock.until(a.engine.submitWorkflow(fan(2), { instanceId: id }));
    const call = await rig.clock.until(work.call("t0"));
    await rig.clock.advance(2000);
    const view = await rig.clock.until(server.engine.getWorkflowInstanceStatus(id));
    assert.match(JSON.stringify(view.waiting), /a free slot on a worker that has job work/);
    call.finish();
    (await rig.clock.until(work.call("t1"))).finish();
    await rig.until(a, id, ({ status }) => status === "Success");
  });

  test("10.3 is free again when the task is stopped, and when its member is gone the task runs elsewhere", async (t) => {
    const work = new HandJob();
    const [rig, a] = await EngineClusterRig.start(t, 2, { jobs: [work.job], poolSize: 1 });
    const server = await rig.join("s", { runsJobs: false });
    await rig.spread();
    const [first, second] = [await rig.idOn(server, "x"), await rig.idOn(server, "y")];
    await rig.clock.until(a.engine.submitWorkflow(fan(1), { instanceId: first }));
    const aborted = await rig.clock.until(work.call("t0", { instanceId: first }));
    await rig.clock.until(a.engine.terminateWorkflowInstance(first, "enough"));
    await rig.clock.advance(1000);
    assert.ok(aborted.ctx.signal.aborted, "its host stops it");
    await rig.clock.until(a.engine.submitWorkflow(fan(2), { instanceId: second }));
    await rig.clock.until(work.call("t0", { instanceId: second }));
    await rig.clock.until(work.call("t1", { instanceId: second }));
    a.kill();
    await rig.clock.advance(60_000);
    const ofSecond = (): HandCall[] => work.calls.filter(({ ctx }) => ctx.instanceId === second);
    assert.equal(ofSecond().length, 2, "the other slot is taken");
    for (const call of ofSecond()) call.finish();
    await rig.clock.advance(3000);
    assert.equal(ofSecond().length, 3, "the lost one runs again");
    ofSecond().at(-1)?.finish();
    await rig.until(server, second, ({ status }) => status === "Success");
  });
});

describe("11.1 roles", () => {
  test("11.1 a member that runs no jobs owns instances, and their tasks run on others", async (t) => {
    const work = new HandJob();
    const [rig] = await EngineClusterRig.start(t, 1, { jobs: [work.job] });
    const server = await rig.join("s", { runsJobs: false });
    await rig.spread();
    const id = await rig.idOn(server);
    const run = await rig.clock.until(server.engine.submitWorkflow(fan(3), { instanceId: id }));
    for (const name of ["t0", "t1", "t2"]) {
      const call = await rig.clock.until(work.call(name));
      call.finish(name);
    }
    await rig.clock.until(run.result());
    const task = await rig.clock.until(server.engine.getTask(id, "t0"));
    assert.match(JSON.stringify(task), /"a:/, "the history names the member that ran it");
  });

  test("11.1 a member with the role worker alone owns no shards, and runs tasks of others", async (t) => {
    const { ran, jobsOf } = meter(() => rig);
    const [rig, a] = await EngineClusterRig.start(t, 1, { runsJobs: false, jobsOf });
    const worker = await rig.join("w", { runsJobs: true, cluster: { ownsShards: false } });
    await rig.spread();
    assert.deepEqual(shardsOf([a, worker]), [16, 0]);
    const run = await rig.clock.until(worker.engine.submitWorkflow(fan(5), { instanceId: "x" }));
    await rig.clock.until(run.result());
    assert.ok(ran.length === 5 && ran.every((line) => line.endsWith("on w")), ran.join(", "));
    assert.deepEqual(
      worker.view.map(({ address, roles }) => [address, roles]),
      [
        ["a", ["server"]],
        ["w", ["worker"]],
      ],
    );
  });

  test("11.1 a member that neither owns instances nor runs jobs is refused", async (t) => {
    const [rig] = await EngineClusterRig.start(t, 1);
    assert.throws(() => rig.add("x", { runsJobs: false, cluster: { ownsShards: false } }), {
      code: "OPTION_INVALID",
      message: /cluster.ownsShards/,
    });
  });
});

function shardsOf(members: readonly RigMember[]): number[] {
  return members.map(({ shards }) => shards);
}
