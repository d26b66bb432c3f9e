import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { TestContext } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import * as fc from "fast-check";
import * as driver from "mysql2";
import { hasCode } from "../../src/base/error.ts";
import { parseAddress } from "../../src/stores/mysql/address.ts";
import { Connection } from "../../src/stores/mysql/connection.ts";
import { sessionSettings } from "../../src/stores/mysql/database.ts";
import { operationError } from "../../src/stores/mysql/faults.ts";
import { row, text, whole } from "../../src/stores/mysql/literal.ts";
import { MysqlStore } from "../../src/stores/mysql/mysql-store.ts";
import { Script, transaction } from "../../src/stores/mysql/script.ts";
import { statements } from "../../src/stores/mysql/statement.ts";
import type { Store } from "../../src/stores/store.ts";
import { fromDisk } from "../../src/stores/text.ts";
import {
  definitionRow,
  documentRow,
  finishedRow,
  historyRow,
  instanceRow,
  jobRow,
  outboxRow,
  requestRow,
} from "../contract/store/rows.ts";
import { batchOf, Owner } from "../contract/store/subject.ts";
import { execute, newDatabase } from "../databases/databases.ts";
import { Proxy } from "../databases/proxy.ts";
import { newSession } from "../databases/session.ts";
import { eventually } from "../support/until.ts";

const isUnavailable = (error: unknown): boolean => hasCode(error, "STORE_UNAVAILABLE");

type Options = Omit<ConstructorParameters<typeof MysqlStore>[0], "url">;

async function opened(t: TestContext, url: string, options: Options = {}): Promise<MysqlStore> {
  const store = new MysqlStore({ url, ...options });
  await store.open();
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

/** Ids of the connections to the database, but for the one that asks. */
async function connections(url: string): Promise<number[]> {
  const rows = (await execute(
    url,
    "SELECT id FROM information_schema.processlist WHERE db = DATABASE() AND id <> CONNECTION_ID()",
  )) as { id: number }[];
  return rows.map(({ id }) => id);
}

/** Ends all connections, whatever they are doing; gives how many there were. */
async function kill(url: string): Promise<number> {
  const ids = await connections(url);
  // One that has ended by itself meanwhile cannot be ended.
  for (const id of ids) await execute(url, `KILL ${id}`).catch(() => undefined);
  return ids.length;
}

describe("texts on a MySQL server", () => {
  const unit = fc.oneof(
    fc.constantFrom("'", '"', "\\", "`", ";", "--", "/*", "*/", "#", "?", "?1", ":name", "%", "_", "\n", "\r", "\t"),
    fc.constantFrom("\u0000", "\u001a", "\u0008", "\ufdd0", "\ufeff", "\uffff", "\ud800", "\udfff", "\\'", "''", '""'),
    fc.string({ unit: "binary", minLength: 1, maxLength: 3 }),
    fc.string({ unit: "grapheme", minLength: 1, maxLength: 3 }),
  );
  const texts = fc.array(unit, { maxLength: 30 }).map((units) => units.join(""));

  test("come back as they were, in every place, whatever is in them", async (t) => {
    const store = await opened(t, await newDatabase("mysql", t));
    const owner = await Owner.claim(store);
    let key = 0;
    const property = fc.asyncProperty(texts, texts, async (one, other) => {
      key += 1;
      const requestKey = `${key}${one}`;
      const rows = {
        instances: [instanceRow({ key, id: one, workflow: other, quarantined: one })],
        finished: [finishedRow({ key, id: other, workflow: one, reason: other })],
        history: [historyRow({ instance: key, turn: 0, events: one })],
        payloads: [{ instance: key, ref: 1, body: other }],
        requests: [requestRow({ idempotencyKey: requestKey, refusal: other })],
      };
      await owner.commit(rows);
      assert.deepEqual(await store.listUnfinished(0, { after: key - 1, limit: 1 }), rows.instances);
      assert.deepEqual(await store.loadHistory([key]), rows.history);
      assert.deepEqual(await store.loadPayloads(key, [1]), [other]);
      assert.deepEqual(await store.findRequest(0, requestKey), rows.requests[0]);
      assert.deepEqual(await store.findFinished(other), rows.finished[0]);
      const [listed] = await store.listInstances({ workflow: one, idPrefix: other, status: ["Success"], limit: 1 });
      assert.deepEqual([listed?.id, listed?.reason], [other, other]);
    });
    await fc.assert(property, { numRuns: 150 });
  });

  test("do so also where somebody has set up the connection otherwise", async (t) => {
    const url = await newDatabase("mysql", t);
    await opened(t, url);
    const connection = await Connection.open(driver, parseAddress(url), 10_000);
    t.after(() => connection.end());
    let ref = 0;
    const property = fc.asyncProperty(texts, async (body) => {
      ref += 1;
      // In this character set the second half of a character may be a backslash or swallow a quote.
      await connection.send("SET NAMES gbk; SET sql_mode = 'ANSI_QUOTES,PAD_CHAR_TO_FULL_LENGTH'", 10_000);
      const script = new Script();
      script.add(statements.get("insert-payload"), [row(whole(1), whole(ref), text(body))]);
      for (const packet of transaction([], script, 1e6)) await connection.send(packet, 10_000);
      const results = await connection.send(
        `DO 0;${statements.get("load-payloads").with(whole(1), whole(ref))}`,
        10_000,
      );
      const [found] = results[1] as { body: string }[];
      assert.equal(fromDisk(found?.body ?? ""), body);
    });
    await fc.assert(property, { numRuns: 100 });
  });

  for (const [what, unitOf] of [
    ["single quotes", () => "'"],
    ["double quotes", () => '"'],
    ["both kinds of quotes", (index: number) => (index % 2 === 0 ? "'" : '"')],
    ["backslashes and quotes", (index: number) => (index % 2 === 0 ? "\\" : "'")],
    ["characters of four bytes", () => "😀😀😀😀"],
  ] as const) {
    test(`may have the largest size and be full of ${what}`, async (t) => {
      const store = await opened(t, await newDatabase("mysql", t));
      const owner = await Owner.claim(store);
      const units = Array.from({ length: 16 }, (_, index) => unitOf(index)).join("");
      const body = units.repeat(10_485_760 / Buffer.byteLength(units));
      await owner.commit({ payloads: [{ instance: 1, ref: 1, body }] });
      assert.ok((await store.loadPayloads(1, [1]))[0] === body, "the body is the one that was written");
    });
  }

  test("tell apart what other collations do not", async (t) => {
    const store = await opened(t, await newDatabase("mysql", t));
    const owner = await Owner.claim(store);
    const ids = ["a", "a ", "A", "á", "a\u0301", "ａ", "a\u200b", "ß", "ss", ""];
    await owner.commit({
      finished: ids.map((id, index) => finishedRow({ key: index + 1, id })),
      requests: ids.map((idempotencyKey) => requestRow({ idempotencyKey })),
    });
    for (const [index, id] of ids.entries()) assert.equal((await store.findFinished(id))?.key, index + 1);
  });

  test("that are ids may be longer than an index takes in", async (t) => {
    const store = await opened(t, await newDatabase("mysql", t));
    const owner = await Owner.claim(store);
    const long = "\u0000".repeat(512);
    const ids = [long, `${long}a`, `${long}b`, `${long}ba`, long];
    await owner.commit({
      instances: [instanceRow({ key: 9, id: `${long}${long}` })],
      finished: ids.map((id, index) => finishedRow({ key: index + 1, id })),
    });
    assert.equal((await store.findFinished(long))?.key, 5);
    assert.equal((await store.findFinished(`${long}b`))?.key, 3);
    assert.equal(await store.findFinished(`${long}c`), undefined);
    const found = await store.listInstances({ idPrefix: `${long}b`, limit: 9 });
    assert.deepEqual(
      found.map(({ key }) => key),
      [4, 3],
    );
  });
});

describe("a batch that is larger than a packet may be", () => {
  const body = (ref: number): string => JSON.stringify(`${ref}`.repeat(7_000_000));
  const payloads = [1, 2, 3, 4, 5].map((ref) => ({ instance: 1, ref, body: body(ref) }));

  /** As on a server that was left as it comes: MariaDB takes in 16 MB. */
  async function smallPackets(t: TestContext): Promise<{ url: string; store: MysqlStore }> {
    const url = await newDatabase("mysql", t);
    return { url, store: await opened(t, url) };
  }

  test("lands as a whole", async (t) => {
    const { store } = await smallPackets(t);
    const owners = [await Owner.claim(store, 0), await Owner.claim(store, 1)] as const;
    const history = Array.from({ length: 1_200 }, (_, turn) => historyRow({ instance: 1, turn }));
    await Owner.commitTogether(owners, { payloads, history, finished: [finishedRow({ key: 1 })] });
    const read = await store.loadPayloads(1, [5, 1]);
    assert.ok(read[0] === payloads[4]?.body && read[1] === payloads[0]?.body);
    assert.equal((await store.loadHistory([1])).length, 1_200);
    await owners[0].commit({});
  });

  test("leaves nothing behind if its last row is refused, or its owner was overtaken", async (t) => {
    const { store } = await smallPackets(t);
    const owner = await Owner.claim(store);
    await owner.commit({ requests: [requestRow({ idempotencyKey: "k" })] });
    await assert.rejects(owner.commit({ payloads, requests: [requestRow({ idempotencyKey: "k" })] }), (error) =>
      hasCode(error, "STORE_DATA"),
    );
    await assert.rejects(store.loadPayloads(1, [1]), (error) => hasCode(error, "STORE_DATA"));
    await store.claimShard(0, "b");
    await assert.rejects(owner.commit({ payloads }), (error) => hasCode(error, "STORE_FENCED"));
    await assert.rejects(store.loadPayloads(1, [1]), (error) => hasCode(error, "STORE_DATA"));
  });

  test("is recognised if it had landed", async (t) => {
    const { store } = await smallPackets(t);
    const owner = await Owner.claim(store);
    const batch = owner.next({ payloads });
    await store.commit(batch);
    await store.commit(batch);
    assert.equal((await store.claimShard(0, "b"))?.lastBatch, 1);
  });

  test("holds its shards no longer than its sender lives: whoever removes that one ends it", async (t) => {
    const { url, store: taker } = await smallPackets(t);
    const proxy = await Proxy.to(url);
    t.after(() => proxy.close());
    const old = await opened(t, proxy.url);
    await old.join({ id: "a", address: "" });
    await taker.join({ id: "b", address: "" });
    const owner = await Owner.claim(old, 0, "a");
    await owner.commit({});
    // Its fence has landed, and of what comes after it only a part arrives.
    const held = proxy.holdHalfOf("heddle_payload");
    const commit = old.commit(owner.next({ payloads }));
    commit.catch(() => undefined);
    await held;
    assert.equal(await taker.removeMember("a", 0), true);
    const claimedAt = performance.now();
    assert.equal((await taker.claimShard(0, "b"))?.lastBatch, 1);
    assert.ok(performance.now() - claimedAt < 5_000, "it need not wait for the server to lose patience");
    proxy.letGo();
    await assert.rejects(commit, isUnavailable);
    await assert.rejects(old.commit(owner.next({ payloads })), (error) => hasCode(error, "STORE_FENCED"));
  });

  test("with a row that no packet can hold is refused for ever, and says what to set", async (t) => {
    const { url, store } = await smallPackets(t);
    const [found] = (await execute(url, "SELECT @@max_allowed_packet AS bytes")) as { bytes: number }[];
    const owner = await Owner.claim(store);
    const events = "x".repeat(found?.bytes ?? 0);
    await assert.rejects(owner.commit({ history: [historyRow({ instance: 1, turn: 0, events })] }), (error) => {
      return hasCode(error, "STORE_DATA") && /raise the server's setting max_allowed_packet/.test(error.message);
    });
    await assert.rejects(store.post({ mailbox: "a", body: events, at: 0 }), (error) => hasCode(error, "STORE_DATA"));
    await owner.commit({});
  });
});

describe("connections to a MySQL server", () => {
  test("are as many as allowed", async (t) => {
    const url = await newDatabase("mysql", t);
    const store = await opened(t, url, { connections: 4 });
    const owners = await Promise.all(Array.from({ length: 20 }, (_, shard) => Owner.claim(store, shard)));
    await Promise.all([
      ...owners.map((owner) => owner.commit({})),
      ...owners.map(() => store.loadJobs()),
      ...owners.map(() => store.heartbeat("a")),
    ]);
    assert.equal((await connections(url)).length, 4);
    await store.close();
    await eventually(async () => assert.deepEqual(await connections(url), []));
  });

  test("see what is committed, and everything they ask for, whatever the server is set to", async (t) => {
    const url = await newDatabase("mysql", t);
    const connection = await Connection.open(driver, parseAddress(url), 10_000);
    t.after(() => connection.end());
    await connection.send(
      "SET autocommit = 0, sql_select_limit = 1, sql_safe_updates = 1; SET SESSION TRANSACTION READ ONLY",
      10_000,
    );
    await connection.send(sessionSettings, 10_000);
    const results = await connection.send(
      "DO 0; SELECT @@autocommit AS a, @@sql_select_limit > 1000 AS b, @@sql_safe_updates AS c; SHOW VARIABLES LIKE 't%_isolation'; SHOW VARIABLES LIKE 't%_read_only'",
      10_000,
    );
    assert.deepEqual({ ...(results[1] as object[])[0] }, { a: 1, b: 1, c: 0 });
    const values = results.slice(2).flatMap((rows) => (rows as { Value: string }[]).map(({ Value }) => Value));
    assert.deepEqual(new Set(values), new Set(["READ-COMMITTED", "OFF"]));
  });

  test("that are ended are made anew, and nobody notices who was not there", async (t) => {
    const url = await newDatabase("mysql", t);
    const store = await opened(t, url);
    const owner = await Owner.claim(store);
    await store.join({ id: "a", address: "" });
    for (let round = 0; round < 3; round++) {
      await owner.commit({});
      await store.loadJobs();
      await store.heartbeat("a");
      assert.equal(await kill(url), 3);
      await eventually(async () => assert.deepEqual(await connections(url), []));
      await sleep(20);
    }
    assert.equal((await store.claimShard(0, "a"))?.lastBatch, 3);
  });

  test("that are ended in the middle of commits: each lands once, in order", async (t) => {
    const url = await newDatabase("mysql", t);
    const store = await opened(t, url);
    const [shards, turns] = [[0, 1, 2], 60];
    const failures = { count: 0 };
    let killed = 0;
    const committing = Promise.all(shards.map((shard) => commitTurns(store, { shard, turns, failures })));
    while (!(await Promise.race([committing, sleep(7)]))) killed += await kill(url);
    t.diagnostic(`${killed} connections ended, ${failures.count} commits sent again`);
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

  test("of a member that is removed are ended: its commits, and nothing else", async (t) => {
    const url = await newDatabase("mysql", t);
    const [a, b] = [await opened(t, url), await opened(t, url)];
    const owners: Owner[] = [];
    for (const [shard, store] of [a, b].entries()) {
      const id = store === a ? "a" : "b";
      await store.join({ id, address: "" });
      owners.push(await Owner.claim(store, shard, id));
      await owners[shard]?.commit({});
      await store.loadJobs();
      await store.heartbeat(id);
    }
    const before = await connections(url);
    assert.equal(before.length, 6);
    assert.equal(await b.removeMember("a", 7), false);
    assert.equal(await b.removeMember("b", 7), false);
    assert.deepEqual(await connections(url), before);
    assert.equal(await b.removeMember("a", 1), true);
    await eventually(async () => assert.equal((await connections(url)).length, 5));
    await owners[1]?.commit({});
    assert.deepEqual(
      (await a.heartbeat("a")).members.map(({ id }) => id),
      ["b"],
    );
    // It joins under another name, and is found by that.
    await a.join({ id: "c", address: "" });
    await owners[0]?.commit({});
    assert.equal(await b.removeMember("c", 0), true);
    await eventually(async () => assert.equal((await connections(url)).length, 5));
    assert.equal(await b.removeMember("b"), true);
    assert.equal((await connections(url)).length, 5, "one that leaves by itself ends its own");
  });
});

/** One turn after the other, each sent until it has landed. */
async function commitTurns(
  store: Store,
  { shard, turns, failures }: { shard: number; turns: number; failures: { count: number } },
): Promise<true> {
  const claim = await again(() => store.claimShard(shard, "a"));
  assert.ok(claim);
  for (let turn = 0; turn < turns; turn++) {
    const fence = { shard, epoch: claim.epoch, number: turn + 1, lastKey: 0, released: false };
    const batch = batchOf([fence], { history: [historyRow({ instance: shard + 1, turn })] });
    await again(async () => {
      failures.count += 1;
      await store.commit(batch);
      failures.count -= 1;
    });
  }
  return true;
}

describe("a MySQL server that does not answer", () => {
  const limits = { workMs: 500, heartbeatMs: 300 };

  async function behindProxy(t: TestContext, options: Options = {}) {
    const url = await newDatabase("mysql", t);
    await (await opened(t, url)).close();
    const proxy = await Proxy.to(url);
    t.after(() => proxy.close());
    const store = new MysqlStore({ url: proxy.url, limits, ...options });
    t.after(() => store.close());
    await again(() => store.open());
    return { url, proxy, store };
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
    const owner = await again(() => Owner.claim(store));
    await again(() => owner.commit({}));
    await again(() => store.heartbeat("a"));
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
      await again(() => store.commit(batch));
      await again(() => store.heartbeat("a"));
    }
    assert.equal((await again(() => store.loadHistory([1]))).length, 1);
  });

  test("because of a lock: the commit is given up, and signs of life and reads go on meanwhile", async (t) => {
    const { store, url } = await behindProxy(t);
    const owner = await again(() => Owner.claim(store));
    const other = await newSession(url);
    t.after(() => other.end());
    await other.run("BEGIN");
    await other.run("SELECT * FROM heddle_shard FOR UPDATE");
    const given = assert.rejects(store.commit(owner.next({})), isUnavailable);
    assert.deepEqual((await again(() => store.heartbeat("a"))).members, []);
    assert.deepEqual(await again(() => store.loadHistory([1])), []);
    await given;
    await other.run("COMMIT");
    await again(() => owner.commit({}));
  });

  test("can be left: closing does not wait for it", async (t) => {
    const { store, proxy } = await behindProxy(t);
    await again(() => store.loadJobs());
    await again(() => store.heartbeat("a"));
    proxy.hold("requests", "answers");
    const calls = [store.loadJobs(), store.loadJobs(), store.heartbeat("a")].map((call) =>
      assert.rejects(call, isUnavailable),
    );
    const closedAt = performance.now();
    await store.close();
    await Promise.all(calls);
    assert.ok(performance.now() - closedAt < 250);
    await assert.rejects(store.loadJobs(), (error) => hasCode(error, "ENGINE_STATE"));
    proxy.cut();
    proxy.letGo();
    await again(() => store.open());
    assert.deepEqual(await again(() => store.loadJobs()), []);
  });

  test("keeps calls waiting for a connection, and no longer than they may", async (t) => {
    const { store, proxy } = await behindProxy(t, { connections: 3 });
    await again(() => store.loadJobs());
    proxy.hold("answers");
    await Promise.all([1, 2, 3].map(() => assertGivenUp(() => store.loadJobs(), limits.workMs)));
    proxy.cut();
    proxy.letGo();
    await Promise.all([1, 2, 3].map(() => again(() => store.loadJobs())));
  });

  test("lets go of the locks of a sender that stands still between two packets, also if nobody removes it", async (t) => {
    const { url } = await behindProxy(t);
    const connection = await Connection.open(driver, parseAddress(url), 10_000);
    t.after(() => connection.end());
    const script = new Script();
    script.add(
      statements.get("insert-payload"),
      [1, 2].map((ref) => row(whole(1), whole(ref), text("x".repeat(1_000)))),
    );
    const [first = ""] = transaction([], script, 1_500);
    assert.match(first, /SET wait_timeout = 10;/);
    await connection.send(first.replace("wait_timeout = 10", "wait_timeout = 1"), 10_000);
    await connection.send("INSERT INTO heddle_payload (instance, ref, body) VALUES (1, 1, ''); DO 0", 10_000);
    const store = await opened(t, url);
    await (await Owner.claim(store)).commit({ payloads: [{ instance: 1, ref: 1, body: "1" }] });
    assert.deepEqual(await store.loadPayloads(1, [1]), ["1"]);
    assert.equal(connection.isLost, true);
  });
});

describe("what a MySQL server will never take", () => {
  test("is STORE_DATA, and names the place and the reason", async (t) => {
    const store = await opened(t, await newDatabase("mysql", t));
    const owner = await Owner.claim(store);
    const long = "x".repeat(721);
    const refused: [Parameters<Owner["next"]>[0], RegExp][] = [
      [{ history: [historyRow({ instance: 1, turn: 0.5 })] }, /must be whole .* got 0\.5/],
      [{ history: [historyRow({ instance: 1, turn: 2 ** 53 })] }, /must be whole/],
      [{ instances: [{ ...instanceRow({ key: 1 }), id: undefined as unknown as string }] }, /must be text/],
      [{ requests: [requestRow({ idempotencyKey: long })] }, /refuses the data.*too long for column 'idempotency_key'/],
      [{ domains: [{ name: long, size: 1, priority: 1 }] }, /refuses the data.*'name'/],
      [{ instances: [instanceRow({ key: 1, workflow: long })] }, /refuses the data.*'workflow'/],
      [{ definitions: [definitionRow({ version: long })] }, /refuses the data.*'version'/],
    ];
    for (const [changes, words] of refused) {
      await assert.rejects(
        store.commit(owner.next({ ...changes, payloads: [{ instance: 1, ref: 1, body: "" }] })),
        (error) => {
          assert.ok(hasCode(error, "STORE_DATA"), String(error));
          assert.match(error.message, words);
          return true;
        },
      );
    }
    await assert.rejects(store.saveJobs([jobRow({ id: long })]), (error) => hasCode(error, "STORE_DATA"));
    await assert.rejects(store.loadPayloads(1, [1]), (error) => hasCode(error, "STORE_DATA"));
    await owner.commit({ requests: [requestRow({ idempotencyKey: "x".repeat(700) })] });
    assert.equal(await store.findRequest(0, long), undefined);
  });

  test("is STORE_DATA of documents and lines too, and none of it stays", async (t) => {
    const store = await opened(t, await newDatabase("mysql", t));
    const long = "x".repeat(721);
    const lines = ["a", long].map((topic) => ({ topic, at: 0, body: "" }));
    for (const write of [
      () => store.appendLines(lines),
      () => store.appendLines([0, 0.5].map((at) => ({ topic: "a", at, body: "" }))),
      () => store.saveDocument(documentRow({ name: long })),
      () => store.saveDocument(documentRow({ kind: long, name: "a" })),
      () => store.saveDocument(documentRow({ name: "a", at: 0.5 })),
    ]) {
      await assert.rejects(write(), (error) => hasCode(error, "STORE_DATA"));
    }
    assert.deepEqual(await store.listLines("a", { limit: 9 }), []);
    assert.deepEqual(await store.listDocuments("token", { limit: 9 }), []);
    await store.appendLines([{ topic: "x".repeat(720), at: 0, body: "" }]);
    assert.equal(await store.saveDocument(documentRow({ kind: "x".repeat(60), name: "x".repeat(700) })), true);
  });

  test("lines that are larger than a packet may be are all there or none", async (t) => {
    const url = await newDatabase("mysql", t);
    const store = await opened(t, url);
    const [found] = (await execute(url, "SELECT @@max_allowed_packet AS bytes")) as { bytes: number }[];
    const body = "x".repeat(Math.floor((found?.bytes ?? 0) / 2.5));
    const lines = ["1", "2", "3"].map((each) => ({ topic: "a", at: 0, body: `${each}${body}` }));
    await assert.rejects(store.appendLines([...lines, { topic: "x".repeat(721), at: 0, body: "" }]), (error) =>
      hasCode(error, "STORE_DATA"),
    );
    assert.deepEqual(await store.listLines("a", { limit: 9 }), []);
    await store.appendLines(lines);
    const numbers = (await store.listLines("a", { limit: 9 })).map(({ body: each }) => each[0]);
    assert.deepEqual(numbers, ["1", "2", "3"]);
  });
});

describe("errors of a MySQL server", () => {
  const address = parseAddress("mysql://user:pa55-w0rd@example.org/heddle");
  const answer = (errno: number, sqlState: string): Error => Object.assign(new Error("Said so."), { errno, sqlState });

  for (const [errno, state, expected, words] of [
    [
      1040,
      "08004",
      "STORE_UNAVAILABLE",
      /the database heddle on example\.org:3306 failed to run a statement \(Said so\)$/,
    ],
    [1053, "08S01", "STORE_UNAVAILABLE", /failed to run a statement/],
    [1114, "HY000", "STORE_UNAVAILABLE", /the disk of the database .* is full; free some space/],
    [1205, "HY000", "STORE_UNAVAILABLE", /failed to run a statement/],
    [1213, "40001", "STORE_UNAVAILABLE", /failed to run a statement/],
    [1290, "HY000", "STORE_UNAVAILABLE", /has become read-only/],
    [1317, "70100", "STORE_UNAVAILABLE", /failed to run a statement/],
    [1836, "HY000", "STORE_UNAVAILABLE", /has become read-only/],
    [1927, "70100", "STORE_UNAVAILABLE", /failed to run a statement/],
    [65_000, "", "STORE_UNAVAILABLE", /failed to run a statement/],
    [1048, "23000", "STORE_DATA", /refuses the data \(Said so\)$/],
    [1062, "23000", "STORE_DATA", /refuses the data/],
    [1153, "08S01", "STORE_DATA", /refuses the data/],
    [1264, "22003", "STORE_DATA", /refuses the data/],
    [1366, "HY000", "STORE_DATA", /refuses the data/],
    [1406, "22001", "STORE_DATA", /refuses the data/],
    [3140, "22032", "STORE_DATA", /refuses the data/],
  ] as const) {
    test(`${errno} is ${expected}`, () => {
      const error = operationError(answer(errno, state), address.place);
      assert.ok(hasCode(error, expected), String(error));
      assert.match(error.message, words);
    });
  }

  test("an error that is no answer of the server is never about the data", () => {
    for (const error of [
      Object.assign(new Error("reset"), { errno: 1062 }),
      Object.assign(new Error("reset"), { code: "ECONNRESET", errno: -104 }),
      new AggregateError([new Error("one"), new Error("other")]),
      "what",
    ]) {
      const sorted = operationError(error, address.place);
      assert.ok(isUnavailable(sorted) && /does not answer/.test(sorted.message), String(sorted));
    }
  });

  test("have nothing of what was sent in them", async (t) => {
    const store = await opened(t, await newDatabase("mysql", t));
    const owner = await Owner.claim(store);
    const changes = { history: [historyRow({ instance: 1, turn: 0, events: "a secret of somebody's" })] };
    await owner.commit(changes);
    await assert.rejects(owner.commit(changes), (error) => {
      assert.ok(hasCode(error, "STORE_DATA"));
      assert.ok(!JSON.stringify([error, error.cause, { ...(error.cause as object) }]).includes("secret"));
      return true;
    });
  });
});

describe("members that write at once on a MySQL server", () => {
  test("do not wait for each other in a circle when they write the same things", async (t) => {
    const url = await newDatabase("mysql", t);
    const stores = await Promise.all([1, 2, 3, 4].map(() => opened(t, url)));
    const numbers = Array.from({ length: 30 }, (_, number) => number);
    for (let round = 0; round < 5; round++) {
      const definitions = numbers.map((n) => definitionRow({ name: `d${n}`, version: `v${round}` }));
      const jobs = numbers.map((n) => jobRow({ id: `j${n}` }));
      const domains = numbers.map((n) => ({ name: `n${n}-${round}`, size: 1, priority: 0 }));
      const turned = <Row>(rows: Row[], index: number): Row[] => (index % 2 === 0 ? rows : rows.toReversed());
      await Promise.all(
        stores.flatMap((store, index) => [
          store.saveDefinitions(turned(definitions, index)),
          store.saveJobs(turned(jobs, index)),
          store.declareDomains(turned(domains, index)),
        ]),
      );
    }
    assert.equal((await stores[0]?.loadDomains())?.length, 150);
  });

  test("do not wait for each other in a circle when their shards send each other messages", async (t) => {
    const url = await newDatabase("mysql", t);
    const stores = await Promise.all([1, 2, 3].map(() => opened(t, url)));
    const shards = stores.map((_, index) => index + 1);
    const rounds = 60;
    await Promise.all(
      stores.map(async (store, index) => {
        const shard = index + 1;
        const others = shards.filter((other) => other !== shard);
        const owner = await Owner.claim(store, shard, `m${shard}`);
        for (let number = 1; number <= rounds; number++) {
          const messages = await store.loadOutbox([shard]);
          const offsets = others.flatMap((source) => {
            const last = messages.findLast((message) => message.source === source);
            return last ? [{ shard, source, number: last.number }] : [];
          });
          await owner.commit({
            history: [historyRow({ instance: shard, turn: number })],
            outbox: others.map((target) => outboxRow({ source: shard, target, number })),
            offsets,
          });
        }
      }),
    );
    for (const source of shards) {
      for (const { number } of (await stores[0]?.loadSent(source)) ?? []) assert.equal(number, rounds);
    }
  });

  for (const count of [1, 2, 500]) {
    test(`do not wait for what another writes beside histories that begin anew, ${count} at once`, async (t) => {
      const url = await newDatabase("mysql", t);
      const store = await opened(t, url, { limits: { workMs: 1500, heartbeatMs: 1000 } });
      const owner = await Owner.claim(store);
      const keys = Array.from({ length: count }, (_, index) => 2 * index + 2);
      // Of many instances few have rows: that is when a server would rather walk the table.
      const some = keys.slice(0, 2);
      await owner.commit({
        history: some.map((instance) => historyRow({ instance, turn: 0 })),
        payloads: some.map((instance) => ({ instance, ref: 0, body: "0" })),
      });
      const other = await newSession(url);
      t.after(() => other.end());
      await other.run("BEGIN");
      const beside = [1, ...some.map((key) => key + 1)];
      for (const [table, rest] of [
        ["heddle_history (instance, turn, first_event, at, events)", "0, 0, 0, ''"],
        ["heddle_payload (instance, ref, body)", "0, ''"],
      ] as const) {
        await other.run(`INSERT INTO ${table} VALUES ${beside.map((key) => `(${key}, ${rest})`).join()}`);
      }
      try {
        await owner.commit({ trims: keys.map((instance) => ({ instance, turn: 1, ref: 1 })) });
      } finally {
        // Or the database could not be dropped.
        await other.run("COMMIT");
      }
      const left = (await store.loadHistory([...keys, ...beside])).map(({ instance }) => instance);
      assert.deepEqual(left, beside);
    });
  }

  test("and do not wait in between either: commits that share shards land in the order they were sent", async (t) => {
    const store = await opened(t, await newDatabase("mysql", t));
    const shards = [0, 1, 2, 3];
    const claims = await Promise.all(shards.map((shard) => store.claimShard(shard, "a")));
    const numbers = shards.map(() => 0);
    const commits = Array.from({ length: 60 }, (_, index) => {
      const chosen = shards.filter((shard) => ((index * 7 + 3) >> shard) % 2 === 1);
      const fences = (chosen.length > 0 ? chosen : shards).map((shard) => {
        numbers[shard] = (numbers[shard] ?? 0) + 1;
        return { shard, epoch: claims[shard]?.epoch ?? 0, number: numbers[shard], lastKey: 0, released: false };
      });
      return store.commit(batchOf(fences, { history: [historyRow({ instance: 1, turn: index })] }));
    });
    await Promise.all(commits);
    assert.equal((await store.loadHistory([1])).length, 60);
  });
});
