/** Spec §10.2 and §8.3: slots of workers that outlive an engine alone on its store. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { MemoryStore } from "../stores/memory/memory-store.ts";
import { LogBook } from "../testing/log-book.rig.ts";
import { TestClock } from "../testing/test-clock.ts";
import { WorkerRecords } from "./worker-records.ts";

const lostMs = 60_000;
const w = { id: "w", slots: 2, hasStrays: false };

class Rig {
  readonly clock = new TestClock({ now: 1000 });
  readonly log = new LogBook();
  readonly store: MemoryStore;
  /** The domains of the slots that are held. */
  readonly held: string[] = [];
  readonly records: WorkerRecords;
  writes = 0;
  isAway = false;

  constructor(store = new MemoryStore()) {
    this.store = store;
    this.records = new WorkerRecords({
      clock: this.clock,
      logger: this.log,
      lostMs,
      store: {
        findDocument: (kind, name) => store.findDocument(kind, name),
        listDocuments: (kind, page) => store.listDocuments(kind, page),
        deleteDocument: (kind, name, revision) => store.deleteDocument(kind, name, revision),
        saveDocument: async (row) => {
          if (this.isAway) throw new Error("the store is away");
          this.writes++;
          return await store.saveDocument(row);
        },
      },
      dispatcher: {
        holdSlot: ({ domain }) => {
          this.held.push(domain);
          return () => void this.held.splice(this.held.indexOf(domain), 1);
        },
      },
    });
  }

  static async open(): Promise<Rig> {
    const rig = new Rig();
    await rig.store.open();
    return rig;
  }

  /** The next process on the same store, after a crash. */
  async restart(): Promise<Rig> {
    const next = new Rig(this.store);
    await next.records.restore();
    return next;
  }
}

describe("the record of a worker", () => {
  test("is written before its first attempt of a domain, and again if that says more", async () => {
    const rig = await Rig.open();
    assert.equal(rig.records.prepareGrant(w, "default"), undefined);
    const [first, second] = [rig.records.prepareGrant(w, "red"), rig.records.prepareGrant(w, "red")];
    assert.deepEqual([await first, await second], [true, true]);
    assert.equal(rig.records.prepareGrant(w, "red"), undefined);
    assert.equal(rig.writes, 1);
    assert.equal(await rig.records.prepareGrant(w, "@acme/red"), true);
    assert.equal(await rig.records.prepareGrant({ ...w, slots: 3 }, "red"), true);
    assert.equal(rig.records.prepareGrant({ ...w, slots: 0 }, "@acme/red"), undefined);
    assert.equal(rig.writes, 3);
    assert.deepEqual((await rig.restart()).held, ["red", "red", "red", "@acme/red", "@acme/red", "@acme/red"]);
  });

  test("is missing while the store is away: the worker is granted nothing of the domain", async () => {
    const rig = await Rig.open();
    rig.isAway = true;
    assert.equal(await rig.records.prepareGrant(w, "red"), false);
    rig.isAway = false;
    assert.equal(await rig.records.prepareGrant(w, "red"), true);
  });

  test("takes the worker's slots at the next start, until the worker has told what it runs", async () => {
    const rig = await Rig.open();
    await rig.records.prepareGrant(w, "red");
    const next = await rig.restart();
    assert.deepEqual(next.held, ["red", "red"]);
    next.records.onChanged({ ...w, id: "other" });
    next.records.onChanged({ ...w, hasStrays: true });
    await next.clock.advance(lostMs);
    assert.deepEqual(next.held, ["red", "red"]);
    next.records.onChanged(w);
    assert.deepEqual(next.held, []);
    // It may get more, so the record stays.
    assert.deepEqual((await next.restart()).held, ["red", "red"]);
  });

  test("takes them for as long as its leases may last, however often the engine crashes", async () => {
    const rig = await Rig.open();
    await rig.records.prepareGrant(w, "red");
    const next = await (await rig.restart()).restart();
    await next.clock.advance(lostMs - 1);
    assert.deepEqual(next.held, ["red", "red"]);
    await next.clock.advance(1);
    assert.deepEqual(next.held, []);
    await next.records.forget("w");
    assert.deepEqual((await next.restart()).held, []);
  });

  test("is deleted when the worker has left or is lost, and written anew if it comes back", async () => {
    const rig = await Rig.open();
    await rig.records.prepareGrant(w, "red");
    rig.records.onGone("w");
    assert.equal(await rig.records.prepareGrant(w, "red"), true);
    assert.equal(rig.writes, 2);
    rig.records.onGone("w");
    await rig.records.forget("w");
    assert.deepEqual((await rig.restart()).held, []);
  });

  test("is read once if a start is repeated", async () => {
    const rig = await Rig.open();
    await rig.records.prepareGrant(w, "red");
    const next = await rig.restart();
    await next.records.restore();
    assert.deepEqual(next.held, ["red", "red"]);
  });
});
