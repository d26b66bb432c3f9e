/** Spec §4.9 and §12.2 in a cluster: progress of a task that runs on another member is shown by its owner, and heard where its instance is followed. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { TaskProgress } from "../../src/index.ts";
import { HandJob } from "../runtime/hand-job.ts";
import { type BusKind, buses, EngineClusterRig } from "./engine-cluster-rig.ts";
import { task, workflow } from "./rig.ts";

const one = workflow("one", task("t", "work").withTimeout(3600));

async function stage(t: Parameters<typeof EngineClusterRig.start>[0], bus: BusKind) {
  const work = new HandJob();
  const [rig, host] = await EngineClusterRig.start(t, 1, { jobs: [work.job], bus });
  const owner = await rig.join("owner", { runsJobs: false });
  const follower = await rig.join("follower", { runsJobs: false });
  await rig.spread();
  const id = await rig.idOn(owner);
  const heard: (readonly [string, TaskProgress])[] = [];
  const relay = follower.engine.cluster.follow({
    withEvents: false,
    onChange: () => undefined,
    onProgress: ({ instanceId, taskName, progress }) => heard.push([`${taskName} of ${instanceId}`, progress]),
    onGap: () => undefined,
  });
  t.after(() => relay?.stop());
  await rig.clock.until(relay?.add({ instanceId: id }) ?? assert.fail("a member has a relay"));
  await rig.clock.until(follower.engine.submitWorkflow(one, { instanceId: id }));
  const call = await rig.clock.until(work.call("t", { instanceId: id }));
  return { rig, host, owner, follower, id, call, heard };
}

describe("4.9 progress of a task on a slot of another member", () => {
  for (const [bus, how] of buses) {
    test(`4.9 12.2 is shown by its owner, and pushed where its instance is followed, ${how}`, async (t) => {
      const { rig, host, owner, follower, id, call, heard } = await stage(t, bus);
      const atOwner: number[] = [];
      const atHost: number[] = [];
      owner.engine.executor.onTaskProgress(({ progress }) => atOwner.push(progress.fraction));
      host.engine.executor.onTaskProgress(({ progress }) => atHost.push(progress.fraction));
      for (let done = 1; done <= 50; done++) call.ctx.progress({ done, total: 100 }, `page ${done}`);
      // Without a bus, the renewal of the attempt's lease brings it.
      await rig.clock.advance(bus === "in-process" ? 1500 : 15_000);
      const last = { fraction: 0.5, done: 50, total: 100, message: "page 50" };
      for (const { engine } of [owner, follower]) {
        assert.deepEqual((await rig.clock.until(engine.getTask(id, "t"))).progress, last);
      }
      assert.deepEqual(heard.at(-1), [`t of ${id}`, last]);
      assert.deepEqual([atOwner.at(-1), atHost], [0.5, []]);
      assert.ok(atOwner.length <= 2, `${atOwner.length} messages for 50 reports`);
      call.finish();
      await rig.clock.advance(5000);
      assert.equal((await rig.clock.until(owner.engine.getTask(id, "t"))).progress, undefined);
    });
  }

  test("4.9 is shown by the next owner of the instance after the first has left", async (t) => {
    const { rig, owner, follower, id, call } = await stage(t, "in-process");
    call.ctx.progress(0.25, "a quarter");
    await rig.clock.advance(1000);
    await rig.stop(owner);
    await rig.spread();
    await rig.clock.advance(15_000);
    const { progress, status } = await rig.clock.until(follower.engine.getTask(id, "t"));
    assert.deepEqual([status, progress], ["Running", { fraction: 0.25, message: "a quarter" }]);
    call.finish();
    await rig.clock.advance(5000);
  });
});
