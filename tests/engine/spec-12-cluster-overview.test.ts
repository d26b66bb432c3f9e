/** Spec §12.1 and §13.1: queues, workers and domains of the whole cluster, whichever member is asked. */
import assert from "node:assert/strict";
import { describe, test, type TestContext } from "node:test";
import { ownVersion } from "../../src/engine/own-version.ts";
import { type ClusterQueue, defineJob, type QueuedTask, TaskBuilder, WorkflowBuilder } from "../../src/index.ts";
import { EngineClusterRig, type RigMember } from "./engine-cluster-rig.ts";
import { until } from "../support/until.ts";

/** Three members, each with an instance of six tasks: two run, at most three are with the dispatcher, one of which waits for a slot. */
async function threeBusy(t: TestContext, bus: "in-process" | "none" = "in-process") {
  const hold = defineJob("hold", (_, { signal }) => {
    return new Promise<void>((_resolve, reject) =>
      signal.addEventListener("abort", () => reject(signal.reason as Error)),
    );
  });
  const [rig, a, b, c] = await EngineClusterRig.start(t, 3, { jobs: [hold], bus, poolSize: 2 });
  const all = [a, b, c];
  const builder = new WorkflowBuilder().withName("six").withMaxConcurrentTasks(3);
  for (let number = 0; number < 6; number++) {
    builder.withTask(new TaskBuilder(`t${number}`).withJobFunction("hold").withTimeout(3600));
  }
  const ids: string[] = [];
  for (const member of all) {
    const instanceId = await rig.idOn(member);
    ids.push(instanceId);
    await rig.clock.until(member.engine.submitWorkflow(builder.build(), { instanceId }));
  }
  await until(() => all.every(({ engine }) => engine.health.runningTasks === 2));
  return { rig, a, b, c, all, ids };
}

const reasonsOf = (tasks: readonly QueuedTask[]): string[] => tasks.map(({ wait }) => wait?.reason ?? "").sort();

describe("12.1 the queue of a cluster", () => {
  for (const bus of ["in-process", "none"] as const) {
    test(`12.1 is the same at every member, with every reason (bus: ${bus})`, { timeout: 60_000 }, async (t) => {
      const { rig, all, ids } = await threeBusy(t, bus);
      const seen = [];
      for (const { engine } of all) {
        const waiting = await rig.clock.until(engine.cluster.listQueuedTasks({ state: "waiting" }));
        assert.deepEqual([waiting.unanswered, waiting.next], [[], undefined]);
        assert.deepEqual(reasonsOf(waiting.tasks), [
          ...Array.from({ length: 9 }, () => "instance-limit"),
          "slot",
          "slot",
          "slot",
        ]);
        const running = await rig.clock.until(engine.cluster.listQueuedTasks({ state: "running" }));
        assert.deepEqual(new Set(running.tasks.map(({ instanceId }) => instanceId)), new Set(ids));
        assert.equal(running.tasks.length, 6);
        seen.push(JSON.stringify([waiting.tasks, running.tasks]));
      }
      assert.equal(new Set(seen).size, 1);
    });
  }

  test("12.1 is read page by page, from one member after the other", { timeout: 60_000 }, async (t) => {
    const { rig, all } = await threeBusy(t);
    const places: string[] = [];
    let after: ClusterQueue["next"];
    for (let page = 0; ; page++) {
      const { engine } = all[page % 3] as RigMember;
      const found: ClusterQueue = await rig.clock.until(
        engine.cluster.listQueuedTasks({ state: "waiting", limit: 5, after }),
      );
      places.push(...found.tasks.map(({ instanceId, task }) => `${instanceId} ${task}`));
      after = found.next;
      if (after === undefined) break;
    }
    assert.equal(places.length, 12);
    assert.deepEqual(places, [...new Set(places)].sort());
  });

  test(
    "12.1 13.1 is counted by workflow, job, worker and reason, and gauges add up to it",
    { timeout: 60_000 },
    async (t) => {
      const { rig, a, all } = await threeBusy(t);
      const { waiting, running, unanswered } = await rig.clock.until(a.engine.cluster.countQueuedTasks());
      assert.deepEqual(unanswered, []);
      assert.deepEqual(waiting.byReason, [
        { name: "instance-limit", count: 9 },
        { name: "slot", count: 3 },
      ]);
      assert.deepEqual([waiting.total, waiting.byWorkflow], [12, [{ name: "six", count: 12 }]]);
      assert.equal(waiting.byJob[0]?.count, 12);
      assert.deepEqual(
        running.byWorker,
        all.map(({ id }) => ({ name: id, count: 2 })).sort((x, y) => (x.name < y.name ? -1 : 1)),
      );
      assert.equal(
        all.reduce((sum, { engine }) => sum + engine.health.waitingTasks, 0),
        12,
      );
      const reasons = all.flatMap(({ engine }) => [...engine.countWaitReasons()]);
      const slots = reasons.filter(([reason]) => reason === "slot").reduce((sum, [, count]) => sum + count, 0);
      assert.equal(slots, 3);
    },
  );

  test("12.1 names a member that does not answer, and has the rest", { timeout: 60_000 }, async (t) => {
    const { rig, a, b, c } = await threeBusy(t);
    b.kill();
    const before = rig.clock.now();
    const { tasks, unanswered } = await rig.clock.until(a.engine.cluster.listQueuedTasks({ state: "running" }));
    assert.deepEqual([unanswered, tasks.length], [[b.id], 4]);
    assert.ok(rig.clock.now() - before <= 3500);
    await rig.clock.advance(12_000);
    const suspectedAt = rig.clock.now();
    const later = await rig.clock.until(c.engine.cluster.countQueuedTasks());
    assert.deepEqual(later.unanswered, [b.id]);
    assert.ok(rig.clock.now() - suspectedAt < 1000, "a suspected member is not waited for");
  });
});

describe("12.1 workers and domains of a cluster", () => {
  test("12.1 are those of all members", { timeout: 60_000 }, async (t) => {
    const { rig, a, b, all } = await threeBusy(t);
    for (const { engine } of all) {
      const { workers } = await rig.clock.until(engine.cluster.listWorkers());
      assert.deepEqual(
        workers.map(({ address, member, runningTasks, slots }) => [address, member, runningTasks, slots]),
        all.map(({ id }) => [id, id, 2, 2]),
      );
      const { domains } = await rig.clock.until(engine.cluster.listDomains());
      assert.deepEqual([domains[0]?.domain, domains[0]?.running, domains[0]?.waiting], ["default", 6, 3]);
    }
    await rig.clock.advance(3000);
    const stuck = await rig.clock.until(a.engine.cluster.listStuckInstances({ forMs: 0 }));
    assert.equal(stuck.instances.length, 3);
    assert.deepEqual(new Set(a.engine.members().map(({ version }) => version)), new Set([ownVersion()]));
    await rig.clock.until(a.engine.cluster.drain(b.id));
    assert.equal(b.engine.health.status, "draining");
    await rig.clock.advance(3000);
    assert.deepEqual(
      a.engine
        .members()
        .map(({ id, isDraining }) => [id === b.id, isDraining])
        .filter(([isB, drains]) => isB !== drains),
      [],
    );
    await assert.rejects(rig.clock.until(a.engine.cluster.drain("nobody")), { code: "WORKER_UNKNOWN" });
    await assert.rejects(rig.clock.until(a.engine.cluster.drain(`${b.id}/nobody`)), { code: "WORKER_UNKNOWN" });
  });
});
