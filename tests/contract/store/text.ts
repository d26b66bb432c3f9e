import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { mailboxOf } from "../../../src/stores/mailbox.ts";
import type { HistoryRow, TurnText } from "../../../src/stores/store.ts";
import { appendTurn } from "../../../src/stores/turn-text.ts";
import { fresh, Owner } from "./subject.ts";
import type { MakeStore } from "./subject.ts";
import {
  definitionRow,
  documentRow,
  finishedRow,
  historyRow,
  instanceRow,
  jobRow,
  outboxRow,
  requestRow,
} from "./rows.ts";

/** Text is opaque and comes back unit for unit, also where it is no well-formed Unicode. */
const texts: [what: string, text: string][] = [
  ["nothing", ""],
  ["a zero character", "a\u0000b\u0000"],
  ["a lone high surrogate", "a\ud83db"],
  ["a lone low surrogate", "\ude00"],
  ["surrogates the wrong way round", "\ude00\ud83d"],
  ["a pair between two halves", "\ud83d😀\ude00"],
  ["the mark that escapes use", "\ufdd0d83d \ufdd0 \ufdd0\ufdd0"],
  ["emoji and Chinese", "业务域 😀 👩‍👩‍👧"],
  ["a byte order mark", "\ufeffa"],
  ["the ends of Unicode", "\uffff\u{10ffff}"],
  ["line ends and quotes", "\r\n\t'\"\\`;--"],
  ["line ends of Unicode", "\u2028\u2029\u0085"],
  ["what looks like the head of a turn", "]],[0,0,0,1,"],
  ["numbers", "0012.50"],
  ["both forms of one message", "é e\u0301"],
  ["JSON with repeated keys", '{"b":1,"a":2,"b":1e400}'],
];

export function textSuite(name: string, makeStore: MakeStore): void {
  describe(`${name}: text comes back as it was`, () => {
    for (const [what, text] of texts) {
      test(what, async (t) => {
        const store = await fresh(t, makeStore);
        const owner = await Owner.claim(store);
        const turns = [0, 1].map((turn) => historyRow({ instance: 2, turn, events: text }));
        const rows = rowsWith(text, turns);
        await owner.commit(rows);
        assert.deepEqual(await store.listUnfinished(0, { after: 0, limit: 1 }), rows.instances);
        assert.deepEqual(await store.findFinished(text), rows.finished[0]);
        assert.deepEqual(await store.loadHistory([1]), rows.history);
        assert.deepEqual(await store.loadHistory([2]), turns);
        assert.deepEqual(await store.loadPayloads(1, [1]), [text]);
        assert.deepEqual(await store.loadOutbox([1]), rows.outbox);
        assert.deepEqual(await store.findDefinition(text, text), rows.definitions[0]);
        assert.deepEqual(await store.findLatestDefinition(text), rows.definitions[0]);
        assert.ok(await store.findRequest(0, text));
        const listed = await store.listInstances({ workflow: text, idPrefix: text, limit: 9 });
        assert.deepEqual(
          listed.map((row) => row.key),
          [2, 1],
        );
      });

      test(`${what}, in jobs`, async (t) => {
        const store = await fresh(t, makeStore);
        const job = jobRow({
          id: text,
          name: text,
          signature: text,
          parameters: text,
          codePath: text,
          sourceHash: text,
        });
        await store.saveJobs([job]);
        assert.deepEqual(await store.loadJobs(), [job]);
        await store.deleteJobs([text]);
        assert.deepEqual(await store.loadJobs(), []);
      });

      test(`${what}, in documents and lines`, async (t) => {
        const store = await fresh(t, makeStore);
        const document = documentRow({ kind: text, name: text, body: text });
        assert.equal(await store.saveDocument(document), true);
        assert.equal(await store.saveDocument(document), true);
        assert.deepEqual(await store.findDocument(text, text), document);
        assert.deepEqual(await store.listDocuments(text, { limit: 9 }), [document]);
        assert.deepEqual(await store.listDocuments(text, { after: text, limit: 9 }), []);
        assert.equal(await store.deleteDocument(text, text, 1), true);
        await store.appendLines([
          { topic: text, at: 0, body: text },
          { topic: `${text}, another one`, at: 0, body: text },
          { topic: `another ${text}`, at: 0, body: text },
        ]);
        const lines = await store.listLines(text, { limit: 9 });
        assert.deepEqual(
          lines.map(({ topic, body }) => [topic, body]),
          [[text, text]],
        );
        await store.deleteTopic(text);
        assert.deepEqual(await store.listLines(text, { limit: 9 }), []);
        assert.equal((await store.listLines(`${text}, another one`, { limit: 9 })).length, 1);
        await store.deleteLines(text, 1);
        assert.deepEqual(await store.listLines(`${text}, another one`, { limit: 9 }), []);
        assert.equal((await store.listLines(`another ${text}`, { limit: 9 })).length, text === "" ? 0 : 1);
      });

      test(`${what}, in what members share`, async (t) => {
        const store = await fresh(t, makeStore);
        await store.join({ id: text, address: text });
        const epoch = (await store.claimShard(0, text))?.epoch;
        assert.equal(await store.claimShard(0, `${text}, another one`), undefined);
        assert.deepEqual(await store.heartbeat(text, text), {
          incarnation: 0,
          members: [{ id: text, address: text, heartbeat: 1, about: text }],
          shards: [{ shard: 0, epoch, owner: text, lastBatch: 0, released: false }],
        });
        await store.post({ mailbox: text, body: text, at: 0 });
        await store.post({ mailbox: mailboxOf(text), body: "", at: 0 });
        const mail = await store.listMailboxRows([text], 10);
        assert.deepEqual(
          mail.map(({ mailbox, body }) => [mailbox, body]),
          [[text, text]],
        );
        assert.equal(await store.removeMember(text, 1), true);
        assert.deepEqual(await store.listMailboxRows([mailboxOf(text)], 10), []);
        assert.equal((await store.claimShard(0, "other"))?.previousOwner, text);
        await store.declareDomains([{ name: text, size: 1, priority: 2 }]);
        assert.deepEqual(await store.loadDomains(), [{ name: text, size: 1, priority: 2 }]);
      });
    }

    test("ids that differ in a broken character only are two ids", async (t) => {
      const store = await fresh(t, makeStore);
      const owner = await Owner.claim(store);
      await owner.commit({ finished: [finishedRow({ key: 1, id: "\ud800" }), finishedRow({ key: 2, id: "\ud801" })] });
      assert.equal((await store.findFinished("\ud800"))?.key, 1);
      assert.equal(await store.findFinished("\ufffd"), undefined);
    });
  });
}

function joined(turns: readonly HistoryRow[]): TurnText | null {
  let text: TurnText | null = null;
  for (const turn of turns) text = appendTurn(text, turn);
  return text;
}

function rowsWith(text: string, turns: readonly HistoryRow[]) {
  return {
    definitions: [definitionRow({ name: text, version: text, spec: text })],
    instances: [instanceRow({ key: 1, id: text, workflow: text, version: text, quarantined: text })],
    finished: [finishedRow({ key: 2, id: text, workflow: text, version: text, reason: text, history: joined(turns) })],
    history: [historyRow({ instance: 1, turn: 0, events: text })],
    payloads: [{ instance: 1, ref: 1, body: text }],
    outbox: [outboxRow({ target: 1, number: 1, body: text })],
    requests: [requestRow({ idempotencyKey: text })],
  };
}
