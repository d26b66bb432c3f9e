/**
 * Real servers that fail, and the ways to them: a batch whose answer is lost is sent again and lands once.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { hasCode } from "../../src/base/error.ts";
import type { Batch, Store } from "../../src/stores/store.ts";
import { Owner } from "../contract/store/subject.ts";
import { storeAt } from "./database-stores.ts";
import { execute } from "./databases.ts";
import { limits, type MakeScene, onOwnServers, type Scene, tables } from "./scene.ts";
import { crash, endSessions, freeze } from "./server-faults.ts";
import { newSession, type Session } from "./session.ts";
import { keysOf, whatLanded, wholeBatch } from "./whole-batch.ts";

const shard = 3;

onOwnServers((makeScene) => {
  serverSuite(makeScene);
  wireSuite(makeScene);
  lockSuite(makeScene);
});

/** What the owner of a shard does: the same batch again until somebody says something about it. Gives how often. */
async function insist(store: Store, batch: Batch, first = store.commit(batch)): Promise<number> {
  for (let sent = first, times = 1; ; sent = store.commit(batch), times++) {
    try {
      await sent;
      return times;
    } catch (error) {
      if (!hasCode(error, "STORE_UNAVAILABLE")) throw error;
      await sleep(50);
    }
  }
}

/** Somebody has written the same turn and has not ended: the commit stops in the middle, after its fence. */
async function standInTheWay({ kind, session }: Scene, number: number): Promise<void> {
  const [key] = keysOf({ shard, number });
  await session.run("BEGIN");
  await session.run(
    `INSERT INTO ${tables[kind].history} (instance, turn, first_event, at, events) VALUES (${key}, 1, 0, 0, '')`,
  );
}

/** Its batches are there, each once, and it goes on from the last. */
async function assertLanded({ store }: Scene, count: number): Promise<void> {
  for (let number = 1; number <= count; number++) assert.equal(await whatLanded(store, { shard, number }), "all");
  assert.equal((await store.claimShard(shard, "a"))?.lastBatch, count);
}

function serverSuite(makeScene: MakeScene): void {
  test("sessions that are ended while commits are under way: each batch lands once", async (t) => {
    const it = await makeScene(t);
    const owner = await Owner.claim(it.store, shard, "a");
    let again = 0;
    const rounds = 40;
    for (let number = 1; number <= rounds; number++) {
      const ended = sleep(Math.random() * 6).then(() => endSessions(it.url));
      again += (await insist(it.store, nextOf(owner, number))) - 1;
      await ended;
    }
    t.diagnostic(`${again} of ${rounds} batches were sent again`);
    assert.ok(again > 0, "some were hit");
    await assertLanded(it, rounds);
  });

  test("a server that is killed in the middle of a commit: the batch lands once, after the restart", async (t) => {
    const it = await makeScene(t);
    const owner = await Owner.claim(it.store, shard, "a");
    await owner.commit(wholeBatch({ shard, number: 1 }));
    await standInTheWay(it, 2);
    const batch = nextOf(owner, 2);
    const sent = it.store.commit(batch);
    const landed = insist(it.store, batch, sent);
    await sleep(200);
    await crash(it.server);
    await assert.rejects(sent, (error) => hasCode(error, "STORE_UNAVAILABLE"));
    await it.server.process.start();
    await landed;
    await assertLanded(it, 2);
  });

  test("a server that is restarted in good order: the batch lands once", async (t) => {
    const it = await makeScene(t);
    const owner = await Owner.claim(it.store, shard, "a");
    await owner.commit(wholeBatch({ shard, number: 1 }));
    const stopped = it.server.process.stop();
    const landed = insist(it.store, nextOf(owner, 2));
    await stopped;
    await it.server.process.start();
    await landed;
    await assertLanded(it, 2);
  });

  test("a server that stands still for longer than a call may take: the call is given up, and the batch lands once", async (t) => {
    const it = await makeScene(t);
    const owner = await Owner.claim(it.store, shard, "a");
    await owner.commit(wholeBatch({ shard, number: 1 }));
    const thaw = freeze(it.server);
    t.after(thaw);
    const batch = nextOf(owner, 2);
    const sent = it.store.commit(batch);
    const landed = insist(it.store, batch, sent);
    await assert.rejects(sent, (error) => hasCode(error, "STORE_UNAVAILABLE"));
    thaw();
    await landed;
    await assertLanded(it, 2);
  });
}

function wireSuite(makeScene: MakeScene): void {
  test("an answer that is lost between the commit and whoever waits for it: the same batch again is a success", async (t) => {
    const it = await makeScene(t);
    const other = storeAt(it.kind, it.url);
    t.after(() => other.close());
    await other.open();
    const owner = await Owner.claim(it.store, shard, "a");
    for (let number = 2; number <= 10; number += 2) {
      // There is a connection to lose.
      await it.store.commit(nextOf(owner, number - 1));
      const batch = nextOf(owner, number);
      it.proxy.hold("answers");
      const sent = it.store.commit(batch);
      sent.catch(() => undefined);
      while ((await whatLanded(other, { shard, number })) !== "all") await sleep(5);
      it.proxy.cut();
      it.proxy.letGo();
      await assert.rejects(sent, (error) => hasCode(error, "STORE_UNAVAILABLE"));
      await insist(it.store, batch);
    }
    await assertLanded(it, 10);
  });

  test("answers of which some are lost at any point: each batch lands once", async (t) => {
    const it = await makeScene(t);
    const owner = await Owner.claim(it.store, shard, "a");
    const rounds = 30;
    let again = 0;
    for (let number = 1; number <= rounds; number++) {
      void it.proxy.loseAnswer();
      again += (await insist(it.store, nextOf(owner, number))) - 1;
    }
    t.diagnostic(`${again} times a batch was sent again`);
    assert.ok(again > rounds / 2, `${again} answers were lost`);
    await assertLanded(it, rounds);
  });

  test("a request that is lost on its way: the batch lands when it is sent again", async (t) => {
    const it = await makeScene(t);
    const owner = await Owner.claim(it.store, shard, "a");
    await owner.commit(wholeBatch({ shard, number: 1 }));
    const batch = nextOf(owner, 2);
    it.proxy.hold("requests");
    const sent = it.store.commit(batch);
    sent.catch(() => undefined);
    await sleep(100);
    it.proxy.cut();
    it.proxy.letGo();
    await assert.rejects(sent, (error) => hasCode(error, "STORE_UNAVAILABLE"));
    assert.equal(await whatLanded(it.store, { shard, number: 2 }), "nothing");
    await insist(it.store, batch);
    await assertLanded(it, 2);
  });

  test("a network that stalls for longer than a call may take: what arrives late lands once", async (t) => {
    const it = await makeScene(t);
    const owner = await Owner.claim(it.store, shard, "a");
    await owner.commit(wholeBatch({ shard, number: 1 }));
    const batch = nextOf(owner, 2);
    it.proxy.hold("requests", "answers");
    const sent = it.store.commit(batch);
    await assert.rejects(sent, (error) => hasCode(error, "STORE_UNAVAILABLE"));
    const landed = insist(it.store, batch);
    await sleep(100);
    it.proxy.letGo();
    await landed;
    await assertLanded(it, 2);
  });

  test("connections that are refused for a while: calls fail at once, and succeed after it", async (t) => {
    const it = await makeScene(t);
    const owner = await Owner.claim(it.store, shard, "a");
    it.proxy.refuse();
    it.proxy.cut();
    const batch = nextOf(owner, 1);
    const beganAt = performance.now();
    for (let tries = 0; tries < 5; tries++)
      await assert.rejects(it.store.commit(batch), (error) => hasCode(error, "STORE_UNAVAILABLE"));
    assert.ok(performance.now() - beganAt < limits.workMs, "nobody waits for what is refused");
    await it.proxy.accept();
    await insist(it.store, batch);
    await assertLanded(it, 1);
  });
}

function lockSuite(makeScene: MakeScene): void {
  test("a deadlock that the commit loses: the same batch lands once the other is out of the way", async (t) => {
    const it = await makeScene(t);
    const owner = await Owner.claim(it.store, shard, "a");
    await owner.commit(wholeBatch({ shard, number: 1 }));
    // MariaDB ends whoever has written less, PostgreSQL whoever has waited longest.
    await it.session.run("CREATE TABLE ballast (n int)");
    await standInTheWay(it, 2);
    await it.session.run(`INSERT INTO ballast VALUES ${Array.from({ length: 500 }, (_, n) => `(${n})`).join()}`);
    const batch = nextOf(owner, 2);
    const sent = it.store.commit(batch);
    sent.catch(() => undefined);
    await sleep(200);
    await it.session.run(`SELECT * FROM ${tables[it.kind].shard} WHERE shard = ${shard} FOR UPDATE`);
    await assert.rejects(sent, (error) => {
      assert.ok(hasCode(error, "STORE_UNAVAILABLE") && /deadlock/i.test(error.message), String(error));
      return true;
    });
    await it.session.run("ROLLBACK");
    await insist(it.store, batch);
    await assertLanded(it, 2);
  });

  test("a session that holds the shard's row: the commit waits, gives up in time, and lands after it", async (t) => {
    const it = await makeScene(t);
    const owner = await Owner.claim(it.store, shard, "a");
    await owner.commit(wholeBatch({ shard, number: 1 }));
    await it.session.run("BEGIN");
    await it.session.run(`SELECT * FROM ${tables[it.kind].shard} WHERE shard = ${shard} FOR UPDATE`);
    const batch = nextOf(owner, 2);
    const beganAt = performance.now();
    const sent = it.store.commit(batch);
    const landed = insist(it.store, batch, sent);
    // Signs of life wait for nobody.
    await it.store.join({ id: "a", address: "" });
    await it.store.heartbeat("a");
    assert.ok(performance.now() - beganAt < limits.heartbeatMs);
    await assert.rejects(sent, (error) => hasCode(error, "STORE_UNAVAILABLE"));
    await it.session.run("ROLLBACK");
    await landed;
    await assertLanded(it, 2);
  });

  test("no connection left for us: calls fail, and succeed when there is", async (t) => {
    const it = await makeScene(t);
    const { url, free } = await fewConnections(it);
    t.after(free);
    const store = storeAt(it.kind, url, limits);
    t.after(() => store.close());
    await store.open();
    const owner = await Owner.claim(store, shard, "a");
    await owner.commit(wholeBatch({ shard, number: 1 }));
    const others = await takeAllConnections(url, it);
    t.after(() => endAll(others));
    const batch = nextOf(owner, 2);
    await assert.rejects(store.commit(batch), (error) => hasCode(error, "STORE_UNAVAILABLE"));
    await endAll(others);
    await insist(store, batch);
    await assertLanded({ ...it, store }, 2);
  });
}

function nextOf(owner: Owner, number: number): Batch {
  const { shard, epoch } = owner;
  const fence = { shard, epoch, number, lastKey: 0, released: false };
  return { fences: [fence], changes: owner.next(wholeBatch({ shard, number })).changes };
}

/** The most that a user of ours may have, for a little while. */
const connectionsMax = 10;

/** As a user that may have few connections; on MariaDB the whole server has few. */
async function fewConnections({ kind, url, server }: Scene): Promise<{ url: string; free: () => Promise<void> }> {
  if (kind === "mysql") {
    await execute(server.url, `SET GLOBAL max_connections = ${connectionsMax}`);
    return { url, free: async () => void (await execute(server.url, "SET GLOBAL max_connections = 300")) };
  }
  await execute(url, `CREATE ROLE few LOGIN PASSWORD 'few' CONNECTION LIMIT ${connectionsMax}`);
  await execute(url, "ALTER SCHEMA heddle OWNER TO few");
  await execute(url, "GRANT ALL ON ALL TABLES IN SCHEMA heddle TO few");
  await execute(url, "GRANT ALL ON ALL SEQUENCES IN SCHEMA heddle TO few");
  const own = new URL(url);
  own.username = own.password = "few";
  return { url: own.href, free: async () => undefined };
}

/** Ends all sessions and takes their places. */
async function takeAllConnections(url: string, it: Scene): Promise<Session[]> {
  const sessions: Session[] = [];
  await endSessions(it.url);
  for (;;) {
    try {
      sessions.push(await newSession(url));
    } catch {
      return sessions;
    }
  }
}

async function endAll(sessions: Session[]): Promise<void> {
  for (const session of sessions.splice(0)) await session.end();
}
