/**
 * An owner that was overtaken without knowing it, on real servers: its commit is under way while another member claims
 * the shard, or arrives after that. Of what it wrote, nothing is there afterwards; or all of it, if it came first, and
 * then the claim knows of it.
 */
import assert from "node:assert/strict";
import { describe, test, type TestContext } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { hasCode } from "../../src/base/error.ts";
import type { ShardClaim, Store } from "../../src/stores/store.ts";
import { Owner } from "../contract/store/subject.ts";
import { storeAt } from "./database-stores.ts";
import { newDatabase, type ServerKind } from "./databases.ts";
import { Proxy } from "./proxy.ts";
import { newSession, type Session } from "./session.ts";
import { keysOf, whatLanded, wholeBatch } from "./whole-batch.ts";
import { until } from "../support/until.ts";

const shard = 5;

/** How a test stops a commit between the fence and its end: it has written the same turn, and has not ended. */
const obstacle: Readonly<Record<ServerKind, string>> = {
  postgres: "INSERT INTO heddle.history (instance, turn, first_event, at, events) VALUES (KEY, 1, 0, 0, '')",
  mysql: "INSERT INTO heddle_history (instance, turn, first_event, at, events) VALUES (KEY, 1, 0, 0, '')",
};

const waiting: Readonly<Record<ServerKind, string>> = {
  postgres:
    "SELECT count(*) AS n FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'",
  mysql:
    "SELECT count(*) AS n FROM information_schema.innodb_trx JOIN information_schema.processlist ON trx_mysql_thread_id = id WHERE trx_state = 'LOCK WAIT' AND db = database()",
};

interface Scene {
  readonly kind: ServerKind;
  /** The owner that will be overtaken, with its own connections, which go through the proxy. */
  readonly old: Store;
  readonly owner: Owner;
  readonly proxy: Proxy;
  /** The member that overtakes it. */
  readonly taker: Store;
  /** Of the test's own: one that stands in the way, and one that looks on. */
  readonly session: Session;
  readonly watch: Session;
}

/** Member `a` owns the shard and has committed once; member `b` lives too. */
async function scene(t: TestContext, kind: ServerKind): Promise<Scene> {
  // A database is dropped last: what is left open in it would have the server wait.
  const last: (() => Promise<void>)[] = [];
  const url = await newDatabase(kind, { after: (work) => void last.push(work) });
  const proxy = await Proxy.to(url);
  const [old, taker] = [storeAt(kind, proxy.url), storeAt(kind, url)];
  const sessions = await Promise.all([newSession(url), newSession(url)]);
  t.after(async () => {
    proxy.letGo();
    for (const session of sessions) await session.end();
    for (const store of [old, taker]) await store.close();
    await proxy.close();
    for (const work of last) await work();
  });
  for (const store of [old, taker]) await store.open();
  await old.join({ id: "a", address: "" });
  await taker.join({ id: "b", address: "" });
  const owner = await Owner.claim(old, shard, "a");
  await owner.commit(wholeBatch({ shard, number: 1 }));
  return { kind, old, owner, proxy, taker, session: sessions[0], watch: sessions[1] };
}

/** The others have seen nothing of it for long. */
async function giveUp({ taker }: Scene, member: string): Promise<void> {
  const { members } = await taker.heartbeat("b");
  const beat = members.find(({ id }) => id === member)?.heartbeat;
  assert.equal(await taker.removeMember(member, beat), true);
}

async function takeOver({ taker }: Scene): Promise<ShardClaim> {
  for (const end = performance.now() + 20_000; ; await sleep(50)) {
    try {
      const claim = await taker.claimShard(shard, "b");
      assert.ok(claim, "nobody has it any more");
      return claim;
    } catch (error) {
      // As members do: whoever waited too long for the row asks again.
      if (!hasCode(error, "STORE_UNAVAILABLE") || performance.now() > end) throw error;
    }
  }
}

/** Somebody waits for a lock that somebody else has. */
async function untilWaiting({ kind, watch }: Scene, count: number): Promise<void> {
  await until(
    async () => {
      const [row] = (await watch.run(waiting[kind])) as { n: unknown }[];
      return Number(row?.n) >= count;
      // A MariaDB that is asked about its locks again within a tenth of a second says what it said before.
    },
    { everyMs: 150 },
  );
}

/** What the owner says of its commit, once it has heard. An answer that was lost is asked for again, as the committer does. */
async function verdict(old: Store, commit: Promise<void>, batch: Parameters<Store["commit"]>[0]): Promise<string> {
  for (let sent = commit; ; sent = old.commit(batch)) {
    try {
      await sent;
      return "landed";
    } catch (error) {
      if (hasCode(error, "STORE_FENCED")) return "fenced";
      if (!hasCode(error, "STORE_UNAVAILABLE")) throw error;
      await sleep(50);
    }
  }
}

for (const kind of ["postgres", "mysql"] as const) {
  describe(`${kind}: a commit that is under way when the shard is claimed`, () => {
    test("comes first if it is not stopped: the claim waits for it and knows of it", async (t) => {
      const it = await scene(t, kind);
      const which = { shard, number: 2 };
      await it.session.run("BEGIN");
      await it.session.run(obstacle[kind].replace("KEY", String(keysOf(which)[0])));
      const batch = it.owner.next(wholeBatch(which));
      const commit = it.old.commit(batch);
      await untilWaiting(it, 1);
      // It was not given up in vain: `a` left of its own will, and its sessions are its own business.
      await it.taker.removeMember("a");
      const claim = takeOver(it);
      await untilWaiting(it, 2);
      assert.equal(await whatLanded(it.taker, which), "nothing");
      await it.session.run("ROLLBACK");
      assert.equal((await claim).lastBatch, 2);
      assert.equal(await whatLanded(it.taker, which), "all");
      await commit;
      assert.equal(await verdict(it.old, it.old.commit(batch), batch), "fenced", "it has lost the shard since");
      assert.equal(await whatLanded(it.taker, which), "all");
    });

    test("leaves nothing behind if its owner was given up: its sessions are ended, and the claim does not wait", async (t) => {
      const it = await scene(t, kind);
      const which = { shard, number: 2 };
      await it.session.run("BEGIN");
      await it.session.run(obstacle[kind].replace("KEY", String(keysOf(which)[0])));
      const batch = it.owner.next(wholeBatch(which));
      const said = verdict(it.old, it.old.commit(batch), batch);
      await untilWaiting(it, 1);
      await giveUp(it, "a");
      assert.equal((await takeOver(it)).lastBatch, 1);
      await it.session.run("ROLLBACK");
      assert.equal(await said, "fenced");
      assert.equal(await whatLanded(it.taker, which), "nothing");
    });

    test("leaves nothing behind if half of its request is all that arrived", async (t) => {
      const it = await scene(t, kind);
      const which = { shard, number: 2 };
      const batch = it.owner.next(wholeBatch(which));
      const held = it.proxy.holdHalfOf(`instance-${keysOf(which)[0]}`);
      const commit = it.old.commit(batch);
      commit.catch(() => undefined);
      await held;
      await giveUp(it, "a");
      assert.equal((await takeOver(it)).lastBatch, 1);
      it.proxy.letGo();
      assert.equal(await verdict(it.old, commit, batch), "fenced");
      assert.equal(await whatLanded(it.taker, which), "nothing");
    });

    test("does not stand in the way of others if it was itself a claim, and half of it is all that arrived", async (t) => {
      const it = await scene(t, kind);
      const other = shard + 1;
      await it.old.join({ id: "somebody", address: "" });
      // Where a statement is prepared when it is first used, half of the next request goes far.
      for (const each of [10, 11, 12]) await it.old.claimShard(each, "somebody");
      const held = it.proxy.holdHalfOf("somebody");
      it.old.claimShard(other, "somebody").catch(() => undefined);
      await held;
      await giveUp(it, "somebody");
      const claim = await it.taker.claimShard(other, "b");
      assert.equal(claim?.lastBatch, 0);
    });

    test("is all there or not at all, whoever is first", async (t) => {
      const it = await scene(t, kind);
      await it.old.removeMember("a");
      await it.owner.commit({}, { released: true });
      const seen = { landed: 0, fenced: 0 };
      let number = 1;
      // Of the commit: whoever is late has less to catch up with the next time, so that the two are always close.
      let headStartMs = 0;
      for (let round = 0; round < 50; round++) {
        number++;
        const which = { shard, number };
        const claimed = (await it.taker.claimShard(shard, "a")) as ShardClaim;
        const fence = { shard, epoch: claimed.epoch, number: claimed.lastBatch + 1, lastKey: 0, released: false };
        const batch = { fences: [fence], changes: it.owner.next(wholeBatch(which)).changes };
        const [said, claim] = await Promise.all([
          sleep(Math.max(0, -headStartMs)).then(() => verdict(it.old, it.old.commit(batch), batch)),
          sleep(Math.max(0, headStartMs)).then(() => takeOver(it)),
        ]);
        const landed = await whatLanded(it.taker, which);
        const isThere = claim.lastBatch === fence.number;
        assert.equal(landed, isThere ? "all" : "nothing", `round ${round}: ${said}, the claim says ${claim.lastBatch}`);
        if (said === "landed") assert.ok(isThere);
        seen[isThere ? "landed" : "fenced"]++;
        headStartMs += isThere ? -1 : 1;
        await it.taker.commit({
          fences: [{ shard, epoch: claim.epoch, number: claim.lastBatch + 1, lastKey: 0, released: true }],
          changes: it.owner.next({}).changes,
        });
      }
      t.diagnostic(JSON.stringify(seen));
      assert.ok(seen.landed > 0 && seen.fenced > 0, "each of the two was first now and then");
    });
  });

  describe(`${kind}: a commit that arrives after the shard was claimed`, () => {
    test("leaves nothing behind, and its sender is told", async (t) => {
      const it = await scene(t, kind);
      const which = { shard, number: 2 };
      const batch = it.owner.next(wholeBatch(which));
      it.proxy.hold("requests");
      const commit = it.old.commit(batch);
      commit.catch(() => undefined);
      await giveUp(it, "a");
      const { epoch, lastBatch: last } = await takeOver(it);
      assert.deepEqual([epoch > it.owner.epoch, last], [true, 1]);
      it.proxy.letGo();
      assert.equal(await verdict(it.old, commit, batch), "fenced");
      assert.equal(await whatLanded(it.taker, which), "nothing");
    });

    test("and nobody had given up its sessions: the fence alone keeps it out", async (t) => {
      const it = await scene(t, kind);
      const which = { shard, number: 2 };
      const batch = it.owner.next(wholeBatch(which));
      it.proxy.hold("requests");
      const commit = it.old.commit(batch);
      await it.taker.removeMember("a");
      await takeOver(it);
      it.proxy.letGo();
      await assert.rejects(commit, (error) => hasCode(error, "STORE_FENCED"));
      assert.equal(await whatLanded(it.taker, which), "nothing");
    });

    test("and landed before that, although its answer is lost: the claim knows of it, and nothing is written twice", async (t) => {
      const it = await scene(t, kind);
      const which = { shard, number: 2 };
      const batch = it.owner.next(wholeBatch(which));
      it.proxy.hold("answers");
      const commit = it.old.commit(batch);
      commit.catch(() => undefined);
      await until(async () => (await whatLanded(it.taker, which)) === "all");
      await it.taker.removeMember("a");
      assert.equal((await takeOver(it)).lastBatch, 2);
      it.proxy.cut();
      it.proxy.letGo();
      assert.equal(await verdict(it.old, commit, batch), "fenced");
      assert.equal(await whatLanded(it.taker, which), "all");
    });
  });
}
