import assert from "node:assert/strict";
import { beforeEach, describe, test } from "node:test";
import { hasCode } from "../base/error.ts";
import { silentLogger } from "../base/logger.ts";
import type { Input } from "./input.ts";
import type { OffsetRow } from "../stores/store.ts";
import { SeededRandom } from "../testing.ts";
import { TestClock } from "../testing/test-clock.ts";
import type { InstanceActor } from "./instance-actor.ts";
import { Lane } from "./lane.ts";
import { ask, outcomeOf, outcomes, RigShard, RigStore, tell } from "./shard.rig.ts";

const note: Input = { type: "UpdateContext", patch: { noted: "1" } };

describe("a lane", () => {
  let clock: TestClock;
  let store: RigStore;
  let lane: Lane;
  let one: RigShard;
  let two: RigShard;
  let three: RigShard;

  beforeEach(async () => {
    clock = new TestClock();
    store = new RigStore();
    await store.open();
    lane = new Lane({ store, clock, logger: silentLogger, onHealth: () => undefined });
    one = new RigShard(1, await store.claim(1), lane);
    two = new RigShard(2, await store.claim(2), lane);
    three = new RigShard(3, await store.claim(3), lane);
  });

  /** One instance in each of the shards. */
  async function oneInEach(): Promise<[InstanceActor, InstanceActor, InstanceActor]> {
    return await Promise.all([one.startNew("a"), two.startNew("b"), three.startNew("c")]);
  }

  test("brings turns of several shards into one commit, and tells each shard of its own", async () => {
    const [a, b, c] = await oneInEach();
    assert.deepEqual(store.fences, ["1#1 2#1 3#1"]);
    await Promise.all([tell(a, note), tell(c, note)]);
    assert.deepEqual(store.fences.slice(1), ["1#2 3#2"]);
    for (const actor of [a, b, c]) assert.ok(await store.has(actor));
    assert.deepEqual([one.released, two.released, three.released], [["a", "a"], ["b"], ["c", "c"]]);
  });

  test("lets nothing out before the commit has landed", async () => {
    const unblock = store.hold();
    const starts = [one.startNew("a"), two.startNew("b")];
    assert.deepEqual(await outcomes(clock, starts), ["waiting", "waiting"]);
    assert.deepEqual([one.released, two.released], [[], []]);
    unblock();
    assert.deepEqual(await outcomes(clock, starts), ["done", "done"]);
  });

  test("has one commit under way; what comes meanwhile shares the next", async () => {
    const [a, b] = await oneInEach();
    const unblock = store.hold();
    const first = tell(a, note);
    await clock.settle();
    const later = [tell(a, note), tell(b, note), tell(a, note), two.startNew("b2")];
    await clock.settle();
    assert.equal(store.sent.length, 2);
    unblock();
    await Promise.all([first, ...later]);
    assert.deepEqual(store.fences.slice(1), ["1#2", "1#3 2#2"]);
    assert.equal(store.sent[2]?.changes.instances.length, 3, "an actor has one turn in it");
  });

  test("a turn in which nothing happened is let out after what is written with it", async () => {
    const [a, b] = await oneInEach();
    const unblock = store.hold();
    const both = [tell(a, note), ask(b)];
    assert.deepEqual(await outcomes(clock, both), ["waiting", "waiting"]);
    unblock();
    await Promise.all(both);
    assert.deepEqual(store.fences.slice(1), ["1#2"]);
    await ask(b);
    assert.equal(store.sent.length, 2, "by itself it needs no commit");
  });

  test("writes down which messages the turns have read, by shard and source, in the same commit", async () => {
    const [a, b] = await oneInEach();
    await Promise.all([
      tell(a, note, { source: 5, number: 7 }),
      tell(a, note, { source: 6, number: 2 }),
      tell(b, note, { source: 5, number: 1 }),
      one.start(one.actor("a2"), { source: 5, number: 8 }),
    ]);
    assert.deepEqual(store.fences.slice(1), ["1#2 2#2"]);
    assert.deepEqual(await store.loadOffsets(1), [
      { shard: 1, source: 5, number: 8 },
      { shard: 1, source: 6, number: 2 },
    ]);
    assert.deepEqual(await store.loadOffsets(2), [{ shard: 2, source: 5, number: 1 }]);
  });

  test("a message that came to nothing was read all the same", async () => {
    const [a] = await oneInEach();
    const refused = tell(a, { type: "ResumeInstance" }, { source: 5, number: 3 });
    await assert.rejects(refused, (error) => hasCode(error, "INSTANCE_STATE"));
    assert.deepEqual(await store.loadOffsets(1), [{ shard: 1, source: 5, number: 3 }]);
    assert.deepEqual(store.fences.slice(1), ["1#2"]);
  });

  describe("when one of several shards is lost", () => {
    test("the others are written, its turns fail, also those that only asked, and it is lost once", async () => {
      const [a, b, c] = await oneInEach();
      const b2 = await two.startNew("b2");
      await store.claim(2, "somebody else");
      const told = [tell(a, note), tell(b, note), ask(b2), two.startNew("b3"), tell(c, note)];
      const codes = ["done", "STORE_FENCED", "STORE_FENCED", "STORE_FENCED", "done"];
      assert.deepEqual(await outcomes(clock, told), codes);
      assert.deepEqual(
        [one, two, three].map(({ losses }) => losses),
        [0, 1, 0],
      );
      assert.ok(two.isFenced);
      assert.deepEqual(two.rejected, [], "nobody is to blame");
      await Promise.all([tell(a, note), tell(c, note)]);
      assert.deepEqual(store.fences.slice(2), ["1#2 2#3 3#2", "1#2 3#2", "1#3 3#3"]);
    });

    test("what still lay in its inboxes has no further turn, and nobody else waits for it", async () => {
      const [a, b, c] = await oneInEach();
      await store.claim(2, "somebody else");
      const unblock = store.hold();
      const first = [tell(a, note), tell(b, note)];
      await clock.settle();
      const behind = [tell(b, note), tell(c, note)];
      unblock();
      const codes = ["done", "STORE_FENCED", "STORE_FENCED", "done"];
      assert.deepEqual(await outcomes(clock, [...first, ...behind]), codes);
      assert.deepEqual(store.fences.at(-1), "3#2");
    });

    test("a shard that is lost by a message it has read is lost with all its turns", async () => {
      const [a, b] = await oneInEach();
      await store.claim(1, "somebody else");
      const told = [tell(a, { type: "ResumeInstance" }, { source: 5, number: 3 }), tell(b, note)];
      assert.deepEqual(await outcomes(clock, told), ["STORE_FENCED", "done"]);
      assert.equal(one.losses, 1);
      assert.deepEqual(await store.loadOffsets(1), []);
    });
  });

  describe("when the store refuses data", () => {
    test("only the turn that is to blame is rejected, and its shard goes on", async () => {
      const [a, b, c] = await oneInEach();
      const a2 = await one.startNew("a2");
      store.refused.add(a.key);
      const told = [tell(a, note), tell(a2, note), tell(b, note), tell(c, note)];
      assert.deepEqual(await outcomes(clock, told), ["STORE_DATA", "done", "done", "done"]);
      assert.deepEqual([one.rejected, two.rejected, three.rejected], [["a"], [], []]);
      assert.deepEqual([one.losses, two.losses, three.losses], [0, 0, 0]);
      await Promise.all([tell(a2, note), tell(b, note)]);
    });

    test("a question in the same commit is answered", async () => {
      const [a, b] = await oneInEach();
      store.refused.add(a.key);
      assert.deepEqual(await outcomes(clock, [tell(a, note), ask(b)]), ["STORE_DATA", "done"]);
    });

    test("messages that the others have read are marked as read", async () => {
      const [a, b] = await oneInEach();
      store.refused.add(a.key);
      const told = [tell(a, note, { source: 5, number: 1 }), tell(b, note, { source: 5, number: 1 })];
      assert.deepEqual(await outcomes(clock, told), ["STORE_DATA", "done"]);
      assert.deepEqual(await store.loadOffsets(2), [{ shard: 2, source: 5, number: 1 }]);
    });

    test("one that is refused and one that is lost are told apart", async () => {
      const [a, b, c] = await oneInEach();
      store.refused.add(a.key);
      await store.claim(2, "somebody else");
      const told = [tell(a, note), tell(b, note), tell(c, note)];
      assert.deepEqual(await outcomes(clock, told), ["STORE_DATA", "STORE_FENCED", "done"]);
      assert.deepEqual([one.losses, two.losses, three.losses], [0, 1, 0]);
    });
  });

  describe("a flush", () => {
    test("ends when its own shard has nothing left, although another keeps busy", async () => {
      const [a, b] = await oneInEach();
      let turns = 0;
      two.onRelease = (actor) => {
        if (++turns < 100) void tell(actor, note);
      };
      const busy = tell(b, note);
      await clock.settle();
      turns = 0;
      void tell(b, note);
      const told = tell(a, note);
      await lane.flush(one);
      assert.ok(turns < 10, `${turns} turns of the other shard`);
      assert.deepEqual(await outcomes(clock, [told, busy]), ["done", "done"]);
    });

    test("writes starts that would have waited for company", async () => {
      const [a] = await oneInEach();
      a.onStarted(one.run(a), { worker: "here", startedAt: clock.now() });
      await clock.settle();
      assert.equal(store.sent.length, 1);
      await lane.flush(one);
      assert.match(store.sent[1]?.changes.instances[0]?.history ?? "", /\["B",0,1,"here"/);
    });

    test("of a shard with nothing to write waits for no commit of its own", async () => {
      await lane.flush(one);
      assert.deepEqual(store.sent, []);
    });

    test("waits for turns that are being prepared, until their shard is gone", async () => {
      const [a] = await oneInEach();
      Object.defineProperty(a, "needsPreparation", { value: true });
      let onPrepared: (() => void) | undefined;
      a.prepare = (whenPrepared) => (onPrepared = () => whenPrepared(a));
      const told = tell(a, note);
      const flushed = lane.flush(one);
      assert.deepEqual(await outcomes(clock, [told, flushed]), ["waiting", "waiting"]);
      onPrepared?.();
      assert.deepEqual(await outcomes(clock, [told, flushed]), ["done", "done"]);
      void tell(a, note).catch(() => undefined);
      const again = lane.flush(one);
      assert.deepEqual(await outcomes(clock, [again]), ["waiting"]);
      lane.leave(one);
      assert.deepEqual(await outcomes(clock, [again]), ["done"]);
    });

    test("waits for the commit that is under way", async () => {
      const [a] = await oneInEach();
      const unblock = store.hold();
      const told = tell(a, note);
      await clock.settle();
      const flushed = lane.flush(one);
      assert.deepEqual(await outcomes(clock, [flushed]), ["waiting"]);
      unblock();
      await Promise.all([told, flushed]);
    });
  });

  test("a start waits 100 ms for company, and is then written by itself", async () => {
    const [a] = await oneInEach();
    a.onStarted(one.run(a), { worker: "here", startedAt: clock.now() });
    await clock.advance(99);
    assert.equal(store.sent.length, 1);
    await clock.advance(1);
    assert.deepEqual(store.fences.slice(1), ["1#2"]);
  });

  describe("rows that are no turn's", () => {
    const offset = { shard: 1, source: 4, number: 9 };

    test("are written by themselves, when no other commit is under way", async () => {
      const [a, b] = await oneInEach();
      const unblock = store.hold();
      const told = tell(a, note);
      await clock.settle();
      const written = lane.commit(one, { offsets: [offset] });
      const behind = tell(b, note);
      await clock.settle();
      assert.equal(store.sent.length, 2);
      unblock();
      await Promise.all([told, written, behind]);
      assert.deepEqual(store.fences.slice(1), ["1#2", "1#3", "2#2"]);
      assert.deepEqual(await store.loadOffsets(1), [offset]);
    });

    test("are written in the order they were asked for", async () => {
      const [a] = await oneInEach();
      const unblock = store.hold();
      const told = tell(a, note);
      await clock.settle();
      const numbers = [1, 2, 3, 4, 5];
      const all = numbers.map((number) => lane.commit(one, { offsets: [{ ...offset, number }] }));
      unblock();
      await Promise.all([told, ...all]);
      assert.deepEqual(
        store.sent.slice(2).map(({ changes }) => changes.offsets[0]?.number),
        numbers,
      );
    });

    test("are made when it is their turn, however long that takes: their numbers are in the order of commits", async () => {
      const [a] = await oneInEach();
      let last = 0;
      const next = (): OffsetRow => ({ shard: 1, source: 4, number: ++last });
      one.consume = () => [next()];
      const unblock = store.hold();
      const told = [tell(a, note)];
      await clock.settle();
      const flushed = lane.flush(one);
      const rows = lane.commit(one, () => ({ offsets: [next()] }));
      told.push(tell(a, note, { source: 4, number: 1 }));
      unblock();
      await Promise.all([flushed, rows, ...told]);
      const numbers = store.sent.flatMap(({ changes }) => changes.offsets.map(({ number }) => number));
      assert.deepEqual(numbers, [1, 2]);
      assert.deepEqual(await store.loadOffsets(1), [{ shard: 1, source: 4, number: 2 }]);
    });

    test("that the store refuses are an error for whoever asked, and for nobody else", async () => {
      const [a] = await oneInEach();
      store.faults.push("data");
      const refused = lane.commit(one, { offsets: [offset] });
      await assert.rejects(refused, (error) => hasCode(error, "STORE_DATA"));
      assert.equal(one.losses, 0);
      await tell(a, note);
    });

    test("of a shard that is lost say so, and it is lost", async () => {
      await store.claim(1, "somebody else");
      const lost = lane.commit(one, { offsets: [offset] });
      await assert.rejects(lost, (error) => hasCode(error, "STORE_FENCED"));
      assert.deepEqual([one.losses, two.losses], [1, 0]);
    });
  });

  describe("a release", () => {
    test("is the last commit of its shard, and offsets it as left in good order", async () => {
      const [a, b] = await oneInEach();
      const told = tell(a, note);
      await lane.flush(one);
      lane.leave(one);
      await lane.releaseShard(one);
      await told;
      const last = store.sent.at(-1)?.fences;
      assert.deepEqual(
        last?.map(({ shard, released }) => ({ shard, released })),
        [{ shard: 1, released: true }],
      );
      assert.equal((await store.claim(1, "somebody else")).released, true);
      await tell(b, note);
    });

    test("comes after rows that were asked for before it", async () => {
      const [a] = await oneInEach();
      const unblock = store.hold();
      const told = tell(a, note);
      await clock.settle();
      const flushed = lane.flush(one).then(() => lane.releaseShard(one));
      const rows = [1, 2, 3].map((number) => lane.commit(one, { offsets: [{ shard: 1, source: 4, number }] }));
      unblock();
      await Promise.all([told, flushed, ...rows]);
      assert.deepEqual(
        store.sent.slice(1).map(({ fences }) => fences[0]?.released),
        [false, false, false, false, true],
      );
    });

    test("of a shard that was lost before is refused", async () => {
      await store.claim(1, "somebody else");
      await assert.rejects(lane.releaseShard(one), (error) => hasCode(error, "STORE_FENCED"));
    });
  });

  test("a shard that has left has no further turn, and the others do", async () => {
    const [a, b] = await oneInEach();
    const told = [tell(a, note), tell(b, note)];
    lane.leave(one);
    assert.deepEqual(await outcomes(clock, told), ["waiting", "done"]);
  });

  test("when it is told to give up, all its shards are lost, and whoever waits is told why", async () => {
    const [a, b] = await oneInEach();
    store.faults.push("before", "before");
    const told = [tell(a, note), tell(b, note)].map(outcomeOf);
    await clock.settle();
    lane.giveUp();
    await clock.advance(1000);
    assert.deepEqual(await Promise.all(told), ["STORE_UNAVAILABLE", "STORE_UNAVAILABLE"]);
    assert.deepEqual([one.losses, two.losses, three.losses], [1, 1, 1]);
  });

  for (let seed = 1; seed <= 30; seed++) {
    test(`keeps its word whatever the store does: chance ${seed}`, async () => {
      const run = new RandomRun(new SeededRandom(seed), { clock, store, shards: [one, two, three] });
      for (let step = 0; step < 60; step++) await run.step();
      await run.end();
    });
  }
});

/** Starts instances in several shards, while the store fails, refuses some of them, and gives shards to others. */
class RandomRun {
  readonly #random: SeededRandom;
  readonly #clock: TestClock;
  readonly #store: RigStore;
  readonly #shards: readonly RigShard[];
  readonly #starts: { shard: RigShard; actor: InstanceActor; outcome: Promise<string> }[] = [];

  constructor(random: SeededRandom, parts: { clock: TestClock; store: RigStore; shards: readonly RigShard[] }) {
    this.#random = random;
    this.#clock = parts.clock;
    this.#store = parts.store;
    this.#shards = parts.shards;
  }

  async step(): Promise<void> {
    const drawn = this.#random.next();
    const shard = this.#shards[this.#below(this.#shards.length)];
    assert.ok(shard);
    if (drawn < 0.6) this.#start(shard);
    else if (drawn < 0.75) this.#store.faults.push(this.#random.next() < 0.5 ? "before" : "after");
    else if (drawn < 0.77) await this.#store.claim(shard.token.shard, "somebody else");
    else await this.#clock.advance(this.#below(100));
  }

  async end(): Promise<void> {
    const all = Promise.all(this.#starts.map(({ outcome }) => outcome));
    const settled = { yet: false };
    void all.then(() => (settled.yet = true));
    while (!settled.yet) await this.#clock.advance(5000);
    for (const start of this.#starts) await this.#check(start);
  }

  #start(shard: RigShard): void {
    if (shard.losses > 0) return;
    const actor = shard.actor(`i${this.#starts.length}`);
    if (this.#random.next() < 0.1) this.#store.refused.add(actor.key);
    this.#starts.push({ shard, actor, outcome: outcomeOf(shard.start(actor)) });
  }

  /** Durable is what was said to be; what was refused is nowhere; nothing else fails but with its shard. */
  async #check(start: { shard: RigShard; actor: InstanceActor; outcome: Promise<string> }): Promise<void> {
    const { shard, actor } = start;
    const outcome = await start.outcome;
    const isRefused = this.#store.refused.has(actor.key);
    const isStored = await this.#store.has(actor);
    if (isRefused) assert.equal(isStored, false);
    if (outcome === "done") assert.ok(isStored, `${actor.id} was said to be durable`);
    else if (outcome === "STORE_DATA") assert.ok(isRefused, `${actor.id} is not to blame`);
    else assert.deepEqual([outcome, shard.losses], ["STORE_FENCED", 1]);
  }

  #below(limit: number): number {
    return Math.floor(this.#random.next() * limit);
  }
}
