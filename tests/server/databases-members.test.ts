/** Spec §12.1 and §12.2: three processes on one PostgreSQL, over NATS and without, are one service, while members are drained, stopped and killed. */
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test, type TestContext } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import type { DataOf } from "../../src/api/routes.ts";
import { HeddleClient } from "../../src/client.ts";
import { begin, root, type Running } from "../cli/program.ts";
import { newDatabase } from "../databases/databases.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { type PushedChange, Watcher } from "./push-rig.ts";

interface Member {
  readonly url: string;
  readonly running: Running;
  readonly client: HeddleClient;
  /** Hears of everything that happens. */
  readonly wide: Watcher;
}

const jobs = `
import { defineJob, TaskBuilder, WorkflowBuilder } from ${JSON.stringify(join(root, "src/index.ts"))};
export const nap = defineJob("nap", async () => { await new Promise((resolve) => setTimeout(resolve, 40)); });
const builder = new WorkflowBuilder().withName("steps");
for (let step = 0; step < 30; step++) {
  const task = new TaskBuilder("t" + step).withJobFunction("nap");
  builder.withTask(step === 0 ? task : task.withDependency("t" + (step - 1)));
}
export const steps = builder.build();
const wide = new WorkflowBuilder().withName("wide").withMaxConcurrentTasks(1);
for (let at = 0; at < 4; at++) wide.withTask(new TaskBuilder("w" + at).withJobFunction("hold"));
export const hold = defineJob("hold", (_, { signal }) => new Promise((resolve) => signal.addEventListener("abort", () => resolve("stopped"))));
export const held = wide.build();
`;

const timings = { beatMs: 300, suspectMs: 1500, lostMs: 2500 };

async function threeMembers(t: TestContext, bus: string): Promise<[Member, Member, Member]> {
  const storage = await newDatabase("postgres", t);
  const folder = temporaryFolder(t);
  writeFileSync(join(folder, "app.ts"), jobs);
  const env = {
    HEDDLE_APP: "app.ts",
    HEDDLE_STORAGE: storage,
    HEDDLE_CLUSTER_ENABLED: "true",
    HEDDLE_CLUSTER_BUS: bus,
    HEDDLE_CLUSTER_SHARDS: "24",
    HEDDLE_CLUSTER_TIMINGS: JSON.stringify(timings),
    HEDDLE_DRAIN_SECONDS: "1",
  };
  const start = async (): Promise<Member> => {
    const running = begin(t, ["server", "--port", "0"], { cwd: folder, env });
    const [, url = ""] = await running.says(/"url":"([^"]+)".*the server is ready/);
    const wide = await Watcher.open({ url });
    return { url, running, client: new HeddleClient({ url }), wide };
  };
  const members = [await start(), await start(), await start()] as [Member, Member, Member];
  for (const { client } of members) {
    await within(20_000, async () => (await client.call("getCluster")).workerCount === 3);
  }
  for (const { wide } of members) await wide.subscribe({ all: true });
  return members;
}

async function within<Value>(ms: number, look: () => Promise<Value | undefined | false>): Promise<Value> {
  for (const end = performance.now() + ms; ; await sleep(50)) {
    const seen = await look();
    if (seen !== undefined && seen !== false) return seen;
    assert.ok(performance.now() < end, `it did not come to be within ${ms} ms`);
  }
}

const isEnd = ({ status }: PushedChange): boolean => status === "Success";

function turnsOf(changes: readonly PushedChange[]): number[] {
  return changes.filter(({ resync }) => resync !== true).map(({ turn }) => turn);
}

/** Everything that the routes of a cluster answer, without what differs by who answers and when. */
async function answersOf({ client }: Member) {
  const { selfAddress: _, ...status } = await client.call("getCluster");
  const withoutTime = (nodes: DataOf<"listRunningNodes">) => nodes.map(({ duration: _duration, ...node }) => node);
  return {
    status,
    counts: await client.call("countQueuedNodes"),
    waiting: withoutTime(await client.call("listWaitingNodes")),
    running: withoutTime(await client.call("listRunningNodes")),
    topology: await client.call("getClusterTopology"),
    workers: await client.call("listWorkers"),
    domains: await client.call("listDomains"),
  };
}

async function assertAlike(members: readonly Member[]): Promise<void> {
  const [first, ...others] = await within(15_000, async () => {
    const answers = await Promise.all(members.map(answersOf));
    return new Set(answers.map((answer) => JSON.stringify(answer))).size === 1 && answers;
  });
  for (const other of others) assert.deepEqual(other, first);
}

for (const bus of ["notify", "nats"]) {
  describe(`12.1 12.2 three processes on PostgreSQL, bus: ${bus}`, () => {
    test("are one service while members are drained, stopped and killed", { timeout: 120_000 }, async (t) => {
      const address = bus === "nats" ? (process.env["HEDDLE_TEST_NATS_URL"] ?? assert.fail("no NATS server")) : bus;
      const members = await threeMembers(t, address);
      const [a, b, c] = members;
      const ids = Array.from({ length: 9 }, (_, n) => `run-${n}`);
      const narrow = await Promise.all(members.map(({ url }) => Watcher.open({ url })));
      await Promise.all(narrow.flatMap((watcher) => ids.map((id) => watcher.subscribe({ instanceId: id }, id))));
      for (let count = 0; count < 3; count++) await a.client.start("wide", undefined, { instanceId: `held-${count}` });
      await within(10_000, async () => (await b.client.call("countQueuedNodes")).running.total === 3);
      await assertAlike(members);
      assert.equal((await c.client.call("countQueuedNodes")).waiting.total, 9);

      for (const [at, id] of ids.entries()) {
        await (members[at % 3] ?? a).client.start("steps", undefined, { instanceId: id });
      }
      const { selfAddress } = await c.client.call("getCluster");
      await a.client.call("drain", { body: { worker: selfAddress } });
      await within(10_000, async () => {
        const seen = await Promise.all(members.map(({ client }) => client.call("getCluster")));
        return seen.every(
          ({ members: all }) => all.find(({ address: id }) => id === selfAddress)?.status === "draining",
        );
      });
      c.running.child.kill("SIGTERM");
      await c.running.ended;
      b.running.child.kill("SIGKILL");
      await b.running.ended;
      for (const id of ids) assert.equal((await a.client.end(id)).status, "Success");

      const follower = narrow[0] as Watcher;
      await follower.until(() => ids.every((id) => changesOf(follower, id).some(isEnd)));
      await a.wide.until(() => ids.every((id) => a.wide.changes.some((each) => each.instanceId === id && isEnd(each))));
      for (const id of ids) {
        const turns = turnsOf(changesOf(follower, id));
        assert.deepEqual(
          turns,
          Array.from(turns, (_, at) => at),
        );
      }
      await within(15_000, async () => (await a.client.call("getCluster")).totalMembers === 1);
      await within(15_000, async () => (await a.client.call("countQueuedNodes")).running.total === 3);
    });
  });
}

function changesOf({ changes }: Watcher, id: string): PushedChange[] {
  return changes.filter(({ instanceId }) => instanceId === id);
}
