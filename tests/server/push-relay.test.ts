/** Spec §12.2 in a cluster: every member pushes what its clients follow, whoever commits it, in order, without gaps and without repeats. */
import assert from "node:assert/strict";
import { describe, test, type TestContext } from "node:test";
import { InProcessBus } from "../../src/cluster/in-process-bus.ts";
import { systemClock } from "../../src/engine/system-clock.ts";
import { MemoryStore } from "../../src/stores/memory/memory-store.ts";
import { until } from "../support/until.ts";
import { chainOf, nameOf, pausing, noOp, type PushedChange, type PushServer, startPush, Watcher } from "./push-rig.ts";

const timings = { suspectMs: 2000, lostMs: 3000, beatMs: 300 };

async function threeServers(t: TestContext, withBus: boolean): Promise<PushServer[]> {
  const store = new MemoryStore();
  const bus = withBus ? new InProcessBus({ clock: systemClock }) : undefined;
  const servers: PushServer[] = [];
  for (const name of ["a", "b", "c"]) {
    const cluster = { name, shards: 32, timings, ...(bus && { bus }) };
    servers.push(await startPush(t, { engine: { jobs: [noOp, pausing], storage: store.connect(), cluster } }));
  }
  await until(() => servers.every(({ engine }) => engine.members().length === 3));
  await until(() => servers.every(({ engine }) => engine.members().every(({ shards }) => shards > 0)));
  return servers;
}

/** The turns of one instance that a client heard, live or replayed; snapshots have none of their own. */
function turnsOf(changes: readonly PushedChange[], id: string): number[] {
  return changes.filter(({ instanceId, resync }) => instanceId === id && resync !== true).map(({ turn }) => turn);
}

function assertWhole(turns: readonly number[]): void {
  assert.deepEqual(
    turns,
    Array.from(turns, (_, at) => at),
  );
  assert.ok(turns.length > 1);
}

const hasEnded = (changes: readonly PushedChange[], id: string): boolean =>
  changes.some(({ instanceId, status }) => instanceId === id && status === "Success");

for (const withBus of [true, false]) {
  const how = withBus ? "over a bus" : "without a bus";
  describe(`12.2 three servers ${how}`, () => {
    test(`12.2 each carries everything that its clients follow ${how}`, { timeout: 120_000 }, async (t) => {
      const servers = await threeServers(t, withBus);
      const ids = Array.from({ length: 12 }, (_, n) => `order-${n}`);
      const wide = await Promise.all(servers.map((server) => Watcher.open(server)));
      const narrow = await Promise.all(servers.map((server) => Watcher.open(server)));
      for (const watcher of wide) {
        const { members } = await watcher.subscribe({ all: true });
        assert.deepEqual([members?.heard.length, members?.unheard], [3, []]);
      }
      await Promise.all(narrow.flatMap((watcher) => ids.map((id) => watcher.subscribe({ instanceId: id }, id))));
      for (const [at, id] of ids.entries()) {
        const server = servers[at % 3] as PushServer;
        await server.engine.submitWorkflow(chainOf("chain", 3), { instanceId: id });
      }
      for (const watcher of [...wide, ...narrow]) {
        await watcher.until(() => ids.every((id) => hasEnded(watcher.changes, id)));
      }
      for (const watcher of narrow) for (const id of ids) assertWhole(turnsOf(watcher.changes, id));
      const named = wide.map(({ changes }) => [...new Set(changes.map(nameOf))].sort());
      for (const watcher of wide) assert.equal(new Set(watcher.changes.map(nameOf)).size, watcher.changes.length);
      assert.deepEqual(named[0], named[1]);
      assert.deepEqual(named[0], named[2]);
      await Promise.all([...wide, ...narrow].map((watcher) => watcher.close()));
    });

    test(`12.2 a cursor of one member is good for the others ${how}`, { timeout: 120_000 }, async (t) => {
      const [a, b, c] = (await threeServers(t, withBus)) as [PushServer, PushServer, PushServer];
      const heard: PushedChange[] = [];
      let cursor: string | undefined;
      const first = await Watcher.open(c);
      await first.subscribe({ instanceId: "long" });
      ({ cursor } = first);
      await first.close();
      const run = await a.engine.submitWorkflow(chainOf("long", 40, "pausing"), { instanceId: "long" });
      for (let round = 0; !hasEnded(heard, "long"); round++) {
        const watcher = await Watcher.open([a, b, c][round % 3] as PushServer);
        await watcher.subscribe({ instanceId: "long", cursor });
        await watcher.until(() => watcher.changes.length > 0);
        await watcher.close();
        heard.push(...watcher.changes);
        cursor = watcher.cursor;
      }
      await run.result();
      assertWhole(turnsOf(heard, "long"));
    });

    test(
      `12.2 a client misses nothing while its instance moves to other members ${how}`,
      { timeout: 120_000 },
      async (t) => {
        const [a, b, c] = (await threeServers(t, withBus)) as [PushServer, PushServer, PushServer];
        const ids = Array.from({ length: 8 }, (_, n) => `moving-${n}`);
        const watcher = await Watcher.open(a);
        const all = await Watcher.open(a);
        await all.subscribe({ all: true });
        await Promise.all(ids.map((id) => watcher.subscribe({ instanceId: id }, id)));
        for (const id of ids) await b.engine.submitWorkflow(chainOf("long", 60, "pausing"), { instanceId: id });
        await c.stop();
        await b.stop();
        await until(async () => {
          const views = await Promise.all(ids.map((id) => a.engine.getWorkflowInstanceStatus(id)));
          return views.every(({ status }) => status === "Success");
        });
        await watcher.until(() => ids.every((id) => hasEnded(watcher.changes, id)));
        await all.until(() => ids.every((id) => hasEnded(all.changes, id)));
        for (const id of ids) assertWhole(turnsOf(watcher.changes, id));
        await Promise.all([watcher.close(), all.close()]);
      },
    );
  });
}
