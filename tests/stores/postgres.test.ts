import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { TestContext } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { Client } from "pg";
import { hasCode } from "../../src/base/error.ts";
import { parseAddress } from "../../src/stores/postgres/address.ts";
import { Connection } from "../../src/stores/postgres/connection.ts";
import { sessionSettings } from "../../src/stores/postgres/database.ts";
import { operationError } from "../../src/stores/postgres/faults.ts";
import { PostgresStore } from "../../src/stores/postgres/postgres-store.ts";
import { sessionName } from "../../src/stores/postgres/session-name.ts";
import type { Store } from "../../src/stores/store.ts";
import { definitionRow, documentRow, historyRow, instanceRow, jobRow } from "../contract/store/rows.ts";
import { batchOf, Owner } from "../contract/store/subject.ts";
import { execute, newDatabase } from "../databases/databases.ts";
import { Proxy } from "../databases/proxy.ts";
import { newSession } from "../databases/session.ts";
import { newPostgresUser } from "./postgres-user.ts";
import { eventually } from "../support/until.ts";
import { loadStatements } from "../../src/stores/postgres/postgres-statements.ts";

const isUnavailable = (error: unknown): boolean => hasCode(error, "STORE_UNAVAILABLE");

type Options = Omit<ConstructorParameters<typeof PostgresStore>[0], "url">;

async function opened(t: TestContext, url: string, options: Options = {}): Promise<PostgresStore> {
  const store = new PostgresStore({ url, ...options });
  // With short limits, a busy machine may need more than one try.
  await again(() => store.open());
  t.after(() => store.close());
  return store;
}

/** Until it is no longer unavailable, as the engine does. */
async function again<Result>(call: () => Promise<Result>): Promise<Result> {
  for (;;) {
    try {
      return await call();
    } catch (error) {
      if (!isUnavailable(error)) throw error;
      await sleep(5);
    }
  }
}

async function sessions(url: string): Promise<string[]> {
  const rows = (await execute(
    url,
    `SELECT application_name AS name FROM pg_stat_activity
    WHERE datname = current_database() AND application_name LIKE 'heddle%' ORDER BY 1`,
  )) as { name: string }[];
  return rows.map(({ name }) => name);
}

/** Ends those sessions, whatever they are doing; gives how many there were. */
async function kill(url: string, names = "heddle%"): Promise<number> {
  const rows = await execute(
    url,
    `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
    WHERE datname = current_database() AND application_name LIKE '${names}'`,
  );
  return rows.length;
}

describe("sessions on a PostgreSQL server", () => {
  test("say what they are for and, after joining, whose they are", async (t) => {
    const url = await newDatabase("postgres", t);
    const store = await opened(t, url);
    await (await Owner.claim(store)).commit({});
    await store.loadJobs();
    assert.deepEqual(await sessions(url), ["heddle commits", "heddle other"]);
    await store.join({ id: "host-1:00ff", address: "" });
    await store.heartbeat("host-1:00ff");
    await (await Owner.claim(store)).commit({});
    await store.loadJobs();
    const ofMember = ["heddle commits host-1:00ff", "heddle heartbeats host-1:00ff", "heddle other host-1:00ff"];
    await eventually(async () => assert.deepEqual(await sessions(url), ofMember));
    await store.close();
    await eventually(async () => assert.deepEqual(await sessions(url), []));
  });

  test("have names that tell members apart, within what the server keeps", () => {
    const ids = ["a", "a b", "é", "x".repeat(60), `${"x".repeat(60)}y`, "\ud800", "\ud801", ""];
    const names = ids.map((id) => sessionName("commits", id));
    assert.equal(new Set(names).size, ids.length);
    for (const name of names) assert.match(name, /^[\x20-\x7e]{1,63}$/);
  });

  test("are as many as allowed", async (t) => {
    const url = await newDatabase("postgres", t);
    const store = await opened(t, url, { connections: 4 });
    const owners = await Promise.all(Array.from({ length: 20 }, (_, shard) => Owner.claim(store, shard)));
    await Promise.all([
      ...owners.map((owner) => owner.commit({})),
      ...owners.map(() => store.loadJobs()),
      ...owners.map(() => store.heartbeat("a")),
    ]);
    assert.deepEqual(await sessions(url), ["heddle commits", "heddle heartbeats", "heddle other", "heddle other"]);
  });

  test("commit durably and see what is committed, whatever the database is set to", async (t) => {
    const url = await newDatabase("postgres", t);
    const name = new URL(url).pathname.slice(1);
    for (const setting of [
      "synchronous_commit TO off",
      "default_transaction_isolation TO 'serializable'",
      "search_path TO pg_catalog",
      "statement_timeout TO 1",
    ]) {
      await execute(url, `ALTER DATABASE ${name} SET ${setting}`);
    }
    const limitMs = 10_000;
    const settings = sessionSettings({ schema: "heddle", name: "heddle test", limitMs });
    const connection = await Connection.open({ Client }, { url, limitMs, settings });
    t.after(() => connection.end());
    const asked = ["synchronous_commit", "transaction_isolation", "search_path", "statement_timeout"];
    const select = asked.map((setting) => `current_setting('${setting}') AS ${setting}`);
    assert.deepEqual(await connection.execute(`SELECT ${select.join(", ")}`, limitMs), [
      {
        synchronous_commit: "on",
        transaction_isolation: "read committed",
        search_path: "heddle",
        statement_timeout: "8s",
      },
    ]);
  });
});

describe("a PostgreSQL server that ends sessions", () => {
  test("is connected to anew, and nobody notices who was not there", async (t) => {
    const url = await newDatabase("postgres", t);
    const store = await opened(t, url);
    const owner = await Owner.claim(store);
    await owner.commit({});
    await store.join({ id: "a", address: "" });
    for (let round = 0; round < 3; round++) {
      await owner.commit({});
      await store.loadJobs();
      await store.heartbeat("a");
      assert.equal(await kill(url), 3);
      await eventually(async () => assert.deepEqual(await sessions(url), []));
    }
    assert.equal((await store.claimShard(0, "b"))?.lastBatch, 4);
  });

  test("in the middle of commits: each lands once, in order", async (t) => {
    const url = await newDatabase("postgres", t);
    const store = await opened(t, url);
    const shards = [0, 1, 2];
    const turns = 60;
    const failures = { count: 0 };
    let killed = 0;
    const committing = Promise.all(shards.map((shard) => commitTurns(store, { shard, turns, failures })));
    while (!(await Promise.race([committing, sleep(7)]))) killed += await kill(url, "heddle commits%");
    t.diagnostic(`${killed} sessions ended, ${failures.count} commits sent again`);
    assert.ok(killed > 10 && failures.count > 0, "something was hit");
    for (const shard of shards) {
      const history = await store.loadHistory([shard + 1]);
      assert.deepEqual(
        history.map(({ turn }) => turn),
        Array.from({ length: turns }, (_, turn) => turn),
      );
      assert.equal((await store.claimShard(shard, "b"))?.lastBatch, turns);
    }
  });

  test("for a member that is removed: its commits, and nothing else", async (t) => {
    const url = await newDatabase("postgres", t);
    const { a, b } = await members(t, url);
    assert.equal(await b.removeMember("a", 7), false);
    assert.equal((await sessions(url)).length, 6);
    assert.equal(await b.removeMember("a", 1), true);
    const left = ["heddle commits b", "heddle heartbeats a", "heddle heartbeats b", "heddle other a", "heddle other b"];
    await eventually(async () => assert.deepEqual(await sessions(url), left));
    assert.deepEqual(
      (await a.heartbeat("a")).members.map(({ id }) => id),
      ["b"],
    );
  });

  test("not for one that leaves by itself, nor where that right was taken away", async (t) => {
    const url = await newDatabase("postgres", t);
    const user = await newPostgresUser(t, url);
    await execute(url, `CREATE SCHEMA heddle AUTHORIZATION ${user.name}`);
    await execute(url, "REVOKE EXECUTE ON FUNCTION pg_terminate_backend FROM PUBLIC");
    const { a, b } = await members(t, user.url);
    assert.equal(await b.removeMember("a", 1), true);
    assert.equal((await sessions(url)).filter((name) => name.endsWith(" a")).length, 3);
    assert.equal(await b.removeMember("b"), true);
    assert.equal((await sessions(url)).filter((name) => name.startsWith("heddle commits")).length, 2);
    assert.deepEqual((await a.heartbeat("a")).members, []);
  });
});

/** Two members that have committed and given a sign of life each. */
async function members(t: TestContext, url: string): Promise<{ a: Store; b: Store }> {
  const [a, b] = [await opened(t, url), await opened(t, url)];
  for (const [shard, store] of [a, b].entries()) {
    const id = store === a ? "a" : "b";
    await store.join({ id, address: "" });
    await (await Owner.claim(store, shard, id)).commit({});
    await store.loadJobs();
    await store.heartbeat(id);
  }
  return { a, b };
}

describe("a PostgreSQL server that does not answer", () => {
  /**
   * No statement needs them: a heartbeat takes 0 to 11 ms and the first call of a connection at most 93 ms with ten busy
   * processes on two cores. But the tests repeat no call that is late because of the machine.
   */
  const limits = { workMs: 2000, heartbeatMs: 1500 };

  async function behindProxy(t: TestContext): Promise<{ store: PostgresStore; proxy: Proxy; url: string }> {
    const url = await newDatabase("postgres", t);
    const proxy = await Proxy.to(url);
    t.after(() => proxy.close());
    return { store: await opened(t, proxy.url, { limits }), proxy, url };
  }

  /** Gives up within so long, and says so. */
  async function assertGivenUp(call: () => Promise<unknown>, limitMs: number): Promise<void> {
    const sentAt = performance.now();
    await assert.rejects(call(), (error) => isUnavailable(error) && /does not answer/.test((error as Error).message));
    const tookMs = performance.now() - sentAt;
    assert.ok(tookMs >= limitMs - 20 && tookMs < limitMs + 2_000, `took ${tookMs} ms`);
  }

  test("is given up in time, and used again when it is back", async (t) => {
    const { store, proxy } = await behindProxy(t);
    const owner = await Owner.claim(store);
    await owner.commit({});
    await store.heartbeat("a");
    const batch = owner.next({ history: [historyRow({ instance: 1, turn: 0 })] });
    for (const ways of [["requests"], ["answers"]] as const) {
      proxy.hold(...ways);
      await Promise.all([
        assertGivenUp(() => store.commit(batch), limits.workMs),
        assertGivenUp(() => store.loadJobs(), limits.workMs),
        assertGivenUp(() => store.heartbeat("a"), limits.heartbeatMs),
      ]);
      // Also when even a new connection gets no answer.
      await assertGivenUp(() => store.heartbeat("a"), limits.heartbeatMs);
      proxy.cut();
      proxy.letGo();
      await store.commit(batch);
      await store.heartbeat("a");
    }
    assert.equal((await store.loadHistory([1])).length, 1);
  });

  test("because of a lock: the commit is given up, and signs of life and reads go on meanwhile", async (t) => {
    const { store, url } = await behindProxy(t);
    const owner = await Owner.claim(store);
    const other = await newSession(url);
    t.after(() => other.end());
    await other.run("BEGIN");
    await other.run("SELECT * FROM heddle.shard FOR UPDATE");
    const commit = store.commit(owner.next({}));
    const given = assert.rejects(commit, isUnavailable);
    assert.deepEqual((await store.heartbeat("a")).members, []);
    assert.deepEqual(await store.loadHistory([1]), []);
    await given;
    await other.run("COMMIT");
    await owner.commit({});
  });

  test("can be left: closing does not wait for it", async (t) => {
    const { store, proxy } = await behindProxy(t);
    await store.loadJobs();
    await store.heartbeat("a");
    proxy.hold("requests", "answers");
    const calls = [store.loadJobs(), store.loadJobs(), store.heartbeat("a")].map((call) =>
      assert.rejects(call, isUnavailable),
    );
    const closedAt = performance.now();
    await store.close();
    await Promise.all(calls);
    assert.ok(performance.now() - closedAt < 1_500);
    await assert.rejects(store.loadJobs(), (error) => hasCode(error, "ENGINE_STATE"));
    proxy.cut();
    proxy.letGo();
    await store.open();
    assert.deepEqual(await store.loadJobs(), []);
  });

  test("keeps calls waiting for a connection, and no longer than they may", async (t) => {
    const url = await newDatabase("postgres", t);
    const proxy = await Proxy.to(url);
    t.after(() => proxy.close());
    const store = await opened(t, proxy.url, { connections: 3, limits });
    await Promise.all([1, 2, 3].map(() => store.loadJobs()));
    proxy.hold("answers");
    await Promise.all([1, 2, 3].map(() => assertGivenUp(() => store.loadJobs(), limits.workMs)));
    proxy.cut();
    proxy.letGo();
    await Promise.all([1, 2, 3].map(() => store.loadJobs()));
  });
});

describe("what a PostgreSQL server will never take", () => {
  test("is STORE_DATA, and names the place and the reason", async (t) => {
    const store = await opened(t, await newDatabase("postgres", t));
    const owner = await Owner.claim(store);
    const long = "x".repeat(10_000).replaceAll("x", () => String.fromCharCode(33 + Math.random() * 90));
    const refused: [Parameters<Owner["next"]>[0], RegExp][] = [
      [{ history: [historyRow({ instance: 1, turn: 0.5 })] }, /number 0\.5 where a whole number belongs/],
      [{ history: [historyRow({ instance: 1, turn: 2 ** 53 })] }, /where a whole number belongs/],
      [{ instances: [{ ...instanceRow({ key: 1 }), id: undefined as unknown as string }] }, /where text belongs/],
      [{ instances: [instanceRow({ key: 1 }), instanceRow({ key: 1 })] }, /refuses the data/],
      [{ requests: [{ shard: 0, idempotencyKey: long, at: 0, refusal: null }] }, /refuses the data.*index/],
    ];
    for (const [changes, words] of refused) {
      await assert.rejects(store.commit(owner.next(changes)), (error) => {
        assert.ok(hasCode(error, "STORE_DATA"), String(error));
        assert.match(error.message, words);
        return true;
      });
    }
    await owner.commit({ history: [historyRow({ instance: 1, turn: 0, events: long.repeat(200) })] });
  });

  test("is STORE_DATA of documents and lines too, and none of it stays", async (t) => {
    const store = await opened(t, await newDatabase("postgres", t));
    const long = "x".repeat(10_000).replaceAll("x", () => String.fromCharCode(33 + Math.random() * 90));
    const lines = ["a", long].map((topic) => ({ topic, at: 0, body: "" }));
    for (const write of [
      () => store.appendLines(lines),
      () => store.appendLines([0, 0.5].map((at) => ({ topic: "a", at, body: "" }))),
      () => store.saveDocument(documentRow({ name: long })),
      () => store.saveDocument(documentRow({ name: "a", at: 0.5 })),
    ]) {
      await assert.rejects(write(), (error) => hasCode(error, "STORE_DATA"));
    }
    assert.deepEqual(await store.listLines("a", { limit: 9 }), []);
    assert.deepEqual(await store.listDocuments("token", { limit: 9 }), []);
  });
});

describe("errors of a PostgreSQL server", () => {
  const address = parseAddress("postgres://user:pa55-w0rd@example.org/heddle");
  const answer = (code: string, severity = "ERROR"): Error => Object.assign(new Error("said so"), { code, severity });

  for (const [code, expected, words] of [
    ["08006", "STORE_UNAVAILABLE", /heddle on example\.org:5432 does not answer \(said so\)$/],
    ["40001", "STORE_UNAVAILABLE", /does not answer/],
    ["40P01", "STORE_UNAVAILABLE", /does not answer/],
    ["53100", "STORE_UNAVAILABLE", /the disk of the database heddle on example\.org:5432 is full; free some space/],
    ["53300", "STORE_UNAVAILABLE", /does not answer/],
    ["55P03", "STORE_UNAVAILABLE", /does not answer/],
    ["57014", "STORE_UNAVAILABLE", /does not answer/],
    ["57P01", "STORE_UNAVAILABLE", /does not answer/],
    ["58030", "STORE_UNAVAILABLE", /does not answer/],
    ["25006", "STORE_UNAVAILABLE", /has become read-only/],
    ["0A000", "STORE_UNAVAILABLE", /does not answer/],
    ["XX000", "STORE_UNAVAILABLE", /does not answer/],
    ["22021", "STORE_DATA", /refuses the data \(said so\)/],
    ["23505", "STORE_DATA", /refuses the data/],
    ["21000", "STORE_DATA", /refuses the data/],
    ["54000", "STORE_DATA", /refuses the data/],
  ] as const) {
    test(`${code} is ${expected}`, () => {
      const error = operationError(answer(code), address.place);
      assert.ok(hasCode(error, expected), String(error));
      assert.match(error.message, words);
    });
  }

  test("an error that is no answer of the server is never about the data", () => {
    assert.ok(isUnavailable(operationError(Object.assign(new Error("reset"), { code: "23505" }), address.place)));
    assert.ok(isUnavailable(operationError(Object.assign(new Error("reset"), { code: "ECONNRESET" }), address.place)));
    assert.ok(isUnavailable(operationError("what", address.place)));
  });
});

describe("statements on a PostgreSQL server", () => {
  test("walk an index each, also while the tables are empty and nothing is known of them", async (t) => {
    const url = await newDatabase("postgres", t);
    await opened(t, url);
    const limitMs = 10_000;
    const settings = sessionSettings({ schema: "heddle", name: "heddle test", limitMs });
    const connection = await Connection.open({ Client }, { url, limitMs, settings });
    t.after(() => connection.end());
    const walksAll: string[] = [];
    for (const { name, sql } of loadStatements().all()) {
      const count = Math.max(0, ...[...sql.matchAll(/\$(\d+)/g)].map(([, number]) => Number(number)));
      const values = count === 0 ? "" : `(${Array.from({ length: count }, () => "NULL").join()})`;
      await connection.execute(`PREPARE "${name}" AS ${sql}`, limitMs);
      const plan = await connection.execute(`EXPLAIN EXECUTE "${name}"${values}`, limitMs);
      if (plan.some((row) => String(row["QUERY PLAN"]).includes("Seq Scan"))) walksAll.push(name);
    }
    // Mail is little, who is unfinished has no index but the key, and a restored store is renumbered once.
    const restoring = ["raise-epochs", "renumber-offsets", "renumber-sent"];
    assert.deepEqual(walksAll, ["delete-mailbox-rows-before", "list-resumable", "list-unfinished", ...restoring]);
  });

  test("of commits that nobody waited for land in order, whichever shards they share", async (t) => {
    const store = await opened(t, await newDatabase("postgres", t));
    const shards = [0, 1, 2, 3];
    const claims = await Promise.all(shards.map((shard) => store.claimShard(shard, "a")));
    const numbers = shards.map(() => 0);
    const commits = Array.from({ length: 60 }, (_, index) => {
      const chosen = shards.filter((shard) => ((index * 7 + 3) >> shard) % 2 === 1);
      const fences = (chosen.length > 0 ? chosen : shards).map((shard) => {
        numbers[shard] = (numbers[shard] ?? 0) + 1;
        const { epoch = 0 } = claims[shard] ?? {};
        return { shard, epoch, number: numbers[shard], lastKey: 0, released: false };
      });
      return store.commit(batchOf(fences, { history: [historyRow({ instance: 1, turn: index })] }));
    });
    await Promise.all(commits);
    assert.equal((await store.loadHistory([1])).length, 60);
  });
});

describe("members that write the same things at once", () => {
  test("do not wait for each other in a circle", async (t) => {
    const url = await newDatabase("postgres", t);
    const stores = await Promise.all([1, 2, 3, 4].map(() => opened(t, url)));
    const numbers = Array.from({ length: 30 }, (_, number) => number);
    for (let round = 0; round < 5; round++) {
      const definitions = numbers.map((n) => definitionRow({ name: `d${n}`, version: `v${round}` }));
      const jobs = numbers.map((n) => jobRow({ id: `j${n}` }));
      const domains = numbers.map((n) => ({ name: `n${n}-${round}`, size: 1, priority: 0 }));
      await Promise.all(
        stores.map(async (store, index) => {
          const turned = <Row>(rows: Row[]): Row[] => (index % 2 === 0 ? rows : rows.toReversed());
          await store.saveDefinitions(turned(definitions));
          await store.saveJobs(turned(jobs));
          await store.declareDomains(turned(domains));
        }),
      );
    }
    assert.equal((await stores[0]?.loadJobs())?.length, 30);
    assert.equal((await stores[0]?.loadDomains())?.length, 150);
  });
});

/** Turn after turn of one instance, each sent until it is known to have landed. */
async function commitTurns(
  store: Store,
  options: { shard: number; turns: number; failures: { count: number } },
): Promise<void> {
  const { shard, turns, failures } = options;
  const claim = await again(() => store.claimShard(shard, "a"));
  assert.ok(claim);
  for (let turn = 0; turn < turns; turn++) {
    const fence = { shard, epoch: claim.epoch, number: turn + 1, lastKey: 0, released: false };
    const batch = batchOf([fence], {
      history: [historyRow({ instance: shard + 1, turn, events: "x".repeat(20_000) })],
    });
    let tries = 0;
    await again(() => {
      tries += 1;
      return store.commit(batch);
    });
    failures.count += tries - 1;
  }
}
