/** Spec §8.4, and code workflows in a cluster: whoever is asked, wherever they live, while shards move and members die. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { defineJob, defineWorkflow, type Engine, hasCode } from "../../src/index.ts";
import { HandJob } from "../runtime/hand-job.ts";
import { buses, EngineClusterRig, lookMs, type RigMember } from "./engine-cluster-rig.ts";
import { says } from "./rig.ts";
import { RigWorker } from "./worker-rig.ts";

const counting = defineWorkflow("counting", async (ctx, until: number) => {
  let count = 0;
  ctx.onQuery("count", () => count);
  ctx.onUpdate("add", (n: number) => (count += n));
  ctx.setCustomStatus("counting");
  while (count < until) {
    const n = await ctx.waitForEvent<number>("n");
    count += (await ctx.run("work", n)) as number;
  }
  return { count, chance: ctx.random() };
});
const child = defineWorkflow("child", async (ctx, n: number) => {
  await ctx.sleep(2000);
  return (await ctx.run("work", n)) as number;
});
const family = defineWorkflow("family", async (ctx, n: number): Promise<unknown> => {
  const parts = await ctx.all([ctx.callChild(child, n), ctx.callChild(child, n + 1), ctx.run("work", n)]);
  await ctx.sleep(3000);
  if (ctx.generation === 1) return await ctx.continueAsNew(n);
  return { parts, chance: ctx.random(), id: ctx.uuid() };
});
const workflows = [counting, child, family];

/** Which attempts were executed, and where. */
function witness(): { executed: Map<string, string[]>; jobsOf: (member: string) => ReturnType<typeof defineJob>[] } {
  const executed = new Map<string, string[]>();
  const jobsOf = (member: string): ReturnType<typeof defineJob>[] => [
    defineJob("work", (n: unknown, ctx) => {
      const before = executed.get(ctx.attemptId) ?? [];
      executed.set(ctx.attemptId, [...before, member]);
      return n;
    }),
  ];
  return { executed, jobsOf };
}

for (const [bus, how] of buses) {
  describe(`8.1 clients of any member, ${how}`, () => {
    test("8.1 start, query, update, events, pause, resume, result, cancel, fork and purge", async (t) => {
      const { jobsOf } = witness();
      const [rig, a, b, c] = await EngineClusterRig.start(t, 3, { jobsOf, workflows, bus });
      const id = await rig.idOn(b);
      const at = <T>(member: RigMember, call: (engine: Engine) => Promise<T>): Promise<T> =>
        rig.clock.until(call(member.engine));
      await at(a, (engine) => engine.startWorkflow(counting, 10, { instanceId: id }));
      await assert.rejects(
        at(c, (engine) => engine.startWorkflow(counting, 10, { instanceId: id })),
        says("INSTANCE_EXISTS", id),
      );
      await at(c, (engine) => engine.raiseEvent(id, "n", 3));
      await rig.until(c, id, ({ tasks }) => tasks[0]?.status === "Success");
      assert.equal(await at(a, (engine) => engine.queryWorkflowInstance(id, "count")), 3);
      assert.equal(await at(c, (engine) => engine.updateWorkflowInstance(id, "add", 4)), 7);
      await assert.rejects(
        at(c, (engine) => engine.updateWorkflowInstance(id, "steal")),
        says("HANDLER_UNKNOWN", 'answers no update "steal"'),
      );
      await at(a, (engine) => engine.pauseWorkflowInstance(id));
      await at(a, (engine) => engine.raiseEvent(id, "n", 3));
      assert.equal(await at(c, (engine) => engine.queryWorkflowInstance(id, "count")), 7);
      await at(c, (engine) => engine.resumeWorkflowInstance(id));
      const { count } = await at(a, (engine) => engine.awaitWorkflowInstance<{ count: number }>(id));
      assert.equal(count, 10);
      assert.equal(await at(c, (engine) => engine.queryWorkflowInstance(id, "count")), 10);
      assert.equal((await at(a, (engine) => engine.getWorkflowInstanceStatus(id))).customStatus, "counting");
      const fork = await at(a, (engine) => engine.forkWorkflowInstance(id, { fromTask: 1 }));
      assert.equal(((await at(c, () => fork.result())) as { count: number }).count, 10);
      assert.equal(await at(c, (engine) => engine.purgeWorkflowInstances({ instanceId: id, recursive: true })), 1);
      await assert.rejects(
        at(a, (engine) => engine.getWorkflowHandle(id)),
        says("INSTANCE_UNKNOWN", id),
      );
      const other = await rig.idOn(c);
      await at(a, (engine) => engine.startWorkflow(counting, 10, { instanceId: other }));
      await at(b, (engine) => engine.cancelWorkflowInstance(other, "enough"));
      await assert.rejects(
        at(a, (engine) => engine.awaitWorkflowInstance(other)),
        says("WORKFLOW_TERMINATED", "enough"),
      );
    });
  });
}

describe("8.1 shards that move while code runs", () => {
  const ids = Array.from({ length: 24 }, (_, n) => `f${n}`);

  async function outcome(
    t: Parameters<typeof EngineClusterRig.start>[0],
    disturb: (rig: EngineClusterRig, members: RigMember[]) => Promise<void>,
  ) {
    const { executed, jobsOf } = witness();
    const [rig, a, b] = await EngineClusterRig.start(t, 2, { jobsOf, workflows });
    const starts = ids.map((id, n) => a.engine.startWorkflow(family, n, { instanceId: id }));
    await rig.clock.until(Promise.all(starts));
    await disturb(rig, [a, b]);
    const [member] = rig.running as [RigMember];
    const results = await rig.clock.until(
      Promise.all(ids.map((id) => member.engine.awaitWorkflowInstance<unknown>(id))),
      { maxMs: 3_600_000 },
    );
    const attention = (await rig.rows()).filter(({ quarantined }) => quarantined !== null);
    assert.deepEqual(attention, []);
    return { results, executed };
  }

  test("8.1 a member that joins and one that leaves: the same comes of it, and nothing is executed twice", async (t) => {
    const calm = await outcome(t, () => Promise.resolve());
    const moved = await outcome(t, async (rig, [a]) => {
      await rig.clock.advance(500);
      await rig.join("c");
      await rig.clock.advance(lookMs);
      await rig.stop(a as RigMember);
      await rig.join("d");
      await rig.clock.advance(lookMs);
    });
    assert.deepEqual(moved.results, calm.results);
    assert.deepEqual([...moved.executed.keys()].toSorted(), [...calm.executed.keys()].toSorted());
    assert.deepEqual(
      [...moved.executed.values()].filter(({ length }) => length > 1),
      [],
    );
  });

  test("8.1 a member that dies: the same comes of it", async (t) => {
    const calm = await outcome(t, () => Promise.resolve());
    const killed = await outcome(t, async (rig, [, b]) => {
      await rig.join("c");
      await rig.clock.advance(500);
      b?.kill();
    });
    assert.deepEqual(killed.results, calm.results);
    assert.deepEqual([...killed.executed.keys()].toSorted(), [...calm.executed.keys()].toSorted());
  });

  test("8.1 a member that is suspended and wakes up late does no harm", async (t) => {
    const calm = await outcome(t, () => Promise.resolve());
    const slept = await outcome(t, async (rig, [, b]) => {
      await rig.join("c");
      await rig.clock.advance(500);
      b?.sleep();
      await rig.clock.advance(120_000);
      b?.wake();
      await rig.clock.advance(lookMs);
    });
    assert.deepEqual(slept.results, calm.results);
    assert.deepEqual([...slept.executed.keys()].toSorted(), [...calm.executed.keys()].toSorted());
  });

  test("8.1 code on its old owner is inert: it takes no step, and its finally does not run", async (t) => {
    const ends: string[] = [];
    const watched = defineWorkflow("watched", async (ctx) => {
      try {
        return await ctx.waitForEvent("go");
      } finally {
        ends.push(ctx.isReplaying ? "replaying" : "live");
      }
    });
    const [rig, a, b] = await EngineClusterRig.start(t, 2, { workflows: [watched] });
    const id = await rig.idOn(b);
    await rig.clock.until(a.engine.startWorkflow(watched, undefined, { instanceId: id }));
    await rig.stop(b);
    await rig.spread();
    assert.deepEqual(ends, []);
    await rig.clock.until(a.engine.raiseEvent(id, "go", 5));
    assert.equal(await rig.clock.until(a.engine.awaitWorkflowInstance(id)), 5);
    assert.deepEqual(ends, ["live"]);
  });

  test("8.1 an update is answered although its shard moves meanwhile, and is done once", async (t) => {
    const slow = defineWorkflow("slow", async (ctx) => {
      let sum = 0;
      ctx.onUpdate("add", async (n: number) => {
        await ctx.sleep(10_000);
        return (sum += n);
      });
      await ctx.waitForEvent("end");
      return sum;
    });
    const [rig, a, b] = await EngineClusterRig.start(t, 2, { workflows: [slow] });
    const id = await rig.idOn(b);
    await rig.clock.until(a.engine.startWorkflow(slow, undefined, { instanceId: id }));
    const answer = a.engine.updateWorkflowInstance<number>(id, "add", 5);
    await rig.clock.advance(1000);
    await rig.stop(b);
    assert.equal(await rig.clock.until(answer), 5);
    await rig.clock.until(a.engine.raiseEvent(id, "end"));
    assert.equal(await rig.clock.until(a.engine.awaitWorkflowInstance(id)), 5);
  });
});

describe("8.4 members register what they like", () => {
  test("8.4 activities run on remote workers, which have no workflows, also when the owner changes", async (t) => {
    const [remote, embedded] = [new HandJob(), new HandJob()];
    const [rig, a, b] = await EngineClusterRig.start(t, 2, {
      workflows,
      jobs: [embedded.job],
      poolSize: 1,
      poolSizeMax: 1,
      remoteWorkers: true,
    });
    await RigWorker.start(t, rig, { members: [b, a], jobs: [remote.job] });
    const id = await rig.idOn(b);
    await rig.clock.until(a.engine.startWorkflow(counting, 3, { instanceId: id }));
    for (let n = 0; n < 3; n++) await rig.clock.until(a.engine.raiseEvent(id, "n", 1));
    // They take turns.
    (await rig.clock.until(remote.call("work"))).finish(1);
    (await rig.clock.until(embedded.call("work"))).finish(1);
    const last = await rig.clock.until(remote.call("work", { after: 1 }));
    assert.equal(last.ctx.taskId, `${id}::2`);
    await rig.clock.advance(lookMs);
    b.kill();
    await rig.clock.advance(120_000);
    last.finish(1);
    const result = a.engine.awaitWorkflowInstance<{ count: number }>(id);
    assert.equal((await rig.clock.until(result)).count, 3);
    assert.deepEqual([remote.calls.length, embedded.calls.length], [2, 1]);
  });

  test("8.4 an instance whose owner lacks its code waits visibly, and goes on where the code is", async (t) => {
    const { jobsOf } = witness();
    const [rig, a] = await EngineClusterRig.start(t, 1, { jobsOf, workflows });
    const bare = await rig.join("bare", { workflows: [] });
    await rig.spread();
    const id = await rig.idOn(bare);
    await rig.clock.until(a.engine.startWorkflow(counting, 1, { instanceId: id }));
    await rig.clock.until(a.engine.raiseEvent(id, "n", 1));
    const { attention, status } = await rig.clock.until(a.engine.getWorkflowInstanceStatus(id));
    assert.equal(status, "Running");
    assert.equal(attention, 'the code of workflow "counting" in version "1" is not registered in this process');
    await assert.rejects(rig.clock.until(a.engine.queryWorkflowInstance(id, "count")), (error) =>
      hasCode(error, "INSTANCE_STATE"),
    );
    await rig.stop(bare);
    assert.equal((await rig.clock.until(a.engine.awaitWorkflowInstance<{ count: number }>(id))).count, 1);
  });
});
