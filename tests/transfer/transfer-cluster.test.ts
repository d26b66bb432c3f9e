/** A cluster that is killed at any moment, and one engine on SQLite that goes on for it. */
import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { eventsIn } from "../../src/kernel/event-text.ts";
import { defineJob, type Job } from "../../src/authoring/job.ts";
import { Engine, type Store } from "../../src/index.ts";
import { SqliteStore } from "../../src/stores/sqlite/sqlite-store.ts";
import { exportInstances, importInstances } from "../../src/transfer.ts";
import { EngineClusterRig, type RigMember } from "../engine/engine-cluster-rig.ts";
import { stopEngine } from "../engine/rig.ts";
import { Disk, FaultyStore } from "../runtime/faulty-store.ts";
import { builder, nested, task, workflow } from "../runtime/workflows.ts";
import { LogBook } from "../../src/testing/log-book.rig.ts";

const limited = builder("limited", task("l", "slow")).withMaxInstances(1).build();
const outer = workflow("outer", task("first", "slow"), nested("n", limited).withDependency("first"));
const ids = ["p0", "p1", "p2", "p3"];

/** Takes a while of the rig's time, once there is a rig. */
function slow(time: { rig?: EngineClusterRig }): Job {
  return defineJob("slow", async (_: unknown, { taskName }) => {
    await new Promise<void>((resolve) => time.rig?.clock.after(50, resolve));
    return taskName;
  });
}

/** Both members die when they send their nth commit since the instances were submitted. False if there are not as many. */
async function killedAt(t: TestContext, nth: number): Promise<EngineClusterRig | undefined> {
  const time: { rig?: EngineClusterRig } = {};
  const [rig, one, other] = await EngineClusterRig.start(t, 2, { jobs: [slow(time)] });
  time.rig = rig;
  const members: RigMember[] = [one, other];
  let commits = 0;
  const killed = Promise.withResolvers<"killed">();
  for (const { connection } of members) {
    connection.spares = (method) => {
      if (method !== "commit" || ++commits !== nth) return false;
      for (const member of members) member.kill();
      killed.resolve("killed");
      return false;
    };
  }
  const finish = async (): Promise<"finished"> => {
    const { engine } = one;
    for (const id of ids) await engine.submitWorkflow(outer, { instanceId: id });
    await Promise.all(ids.map((id) => engine.awaitWorkflowInstance(id)));
    return "finished";
  };
  const outcome = await rig.clock.until(Promise.race([killed.promise, finish()]));
  for (const { connection } of members) connection.spares = () => false;
  return outcome === "killed" ? rig : undefined;
}

/** Everything that is in the cluster's store, in SQLite. */
async function movedToSqlite(rig: EngineClusterRig): Promise<Store> {
  const from = rig.store.connect();
  await from.open();
  // As an engine does that finds them silent.
  for (const { id } of (await from.heartbeat("")).members) await from.removeMember(id);
  const disk = new Disk(new SqliteStore({ file: ":memory:" }));
  const store = new FaultyStore(disk);
  await store.open();
  await importInstances(disk.inner, exportInstances(from));
  await from.close();
  return store;
}

/** How many instances of the workflow ran at once, at most. */
async function mostAtOnce(store: Store, name: string): Promise<number> {
  const steps: { at: number; change: number }[] = [];
  for (const { key } of await store.listInstances({ workflow: name, limit: 100 })) {
    for (const { at, events } of await store.loadHistory([key])) {
      for (const { type } of eventsIn(events)) {
        if (type === "InstanceStarted") steps.push({ at, change: 1 });
        if (type === "InstanceEnded") steps.push({ at, change: -1 });
      }
    }
  }
  let running = 0;
  let most = 0;
  for (const { change } of steps.sort((a, b) => a.at - b.at || a.change - b.change)) {
    running += change;
    most = Math.max(most, running);
  }
  return most;
}

test(
  "a cluster that is killed before any commit goes on, after a move, as one engine",
  { timeout: 120_000 },
  async (t) => {
    let moves = 0;
    for (let nth = 1; ; nth++) {
      const rig = await killedAt(t, nth);
      if (rig === undefined) break;
      moves++;
      const store = await movedToSqlite(rig);
      const accepted = (await store.listInstances({ limit: 100 })).map(({ id }) => id);
      const engine = new Engine({ storage: store, jobs: [slow({ rig })], clock: rig.clock, logger: new LogBook() });
      await engine.start();
      const where = `killed at commit ${nth}`;
      for (const id of ids) {
        if (!accepted.includes(id)) await engine.submitWorkflow(outer, { instanceId: id });
        const outputs: unknown = await rig.clock.until(engine.awaitWorkflowInstance(id));
        assert.deepEqual(outputs, { first: "first", n: { l: "l" } }, where);
      }
      assert.deepEqual((await engine.listWorkflowInstances({})).length, 2 * ids.length, where);
      assert.deepEqual(await store.loadOutbox([0]), [], where);
      assert.equal(await mostAtOnce(store, "limited"), 1, where);
      await rig.clock.until(stopEngine(engine));
    }
    t.diagnostic(`${moves} moves`);
    assert.ok(moves > 20);
  },
);
