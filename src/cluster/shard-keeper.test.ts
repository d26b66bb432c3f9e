import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { LogFields, Logger } from "../base/logger.ts";
import { silentLogger } from "../base/logger.ts";
import type { ClusterView, ShardRow } from "../stores/store.ts";
import { TestClock } from "../testing/test-clock.ts";
import type { MemberEvent } from "./member-event.ts";
import { ownerOf } from "./placement.rig.ts";
import { ShardKeeper } from "./shard-keeper.ts";

const shardCount = 24;
const all = Array.from({ length: shardCount }, (_, shard) => shard);

/** What placement gives to that member, of these. */
function shardsOf(member: string, members: readonly string[]): number[] {
  return all.filter((shard) => ownerOf(shard, members) === member);
}

function view(members: readonly string[], shards: readonly ShardRow[] = []): ClusterView {
  const rows = members.map((id) => ({ id, address: `${id}:1`, about: "", heartbeat: 1 }));
  return { incarnation: 0, members: rows, shards };
}

function held(owner: string, shards: readonly number[], released = false): ShardRow[] {
  return shards.map((shard) => ({ shard, epoch: 1, owner, lastBatch: 0, released }));
}

interface Ask {
  readonly what: string;
  readonly resolve: (outcome: "open" | "taken") => void;
  readonly reject: (error: Error) => void;
}

/** A keeper and its host, which answers at once unless it is told to wait. */
class Rig {
  readonly clock = new TestClock();
  readonly events: MemberEvent[] = [];
  readonly warnings: LogFields[] = [];
  /** Everything the host was asked for: `open 3`, `release 3`. */
  readonly asked: string[] = [];
  /** What waits for an answer. */
  readonly open: Ask[] = [];
  answer: ((what: string) => "open" | "taken") | undefined = () => "open";
  readonly keeper: ShardKeeper;

  constructor(options: { opensAtOnce?: number; hearsOpenings?: () => boolean } = {}) {
    const logger: Logger = { ...silentLogger, warn: (fields) => void this.warnings.push(fields) };
    this.keeper = new ShardKeeper({
      ...options,
      shardCount,
      clock: this.clock,
      logger,
      onEvent: (event) => void this.events.push(event),
      shards: {
        open: (shard) => this.#ask(`open ${shard}`),
        release: async (shard) => void (await this.#ask(`release ${shard}`)),
      },
    });
  }

  get owned(): number[] {
    return [...this.keeper.owned].toSorted((a, b) => a - b);
  }

  async follow(members: readonly string[], shards: readonly ShardRow[] = [], me = "a"): Promise<void> {
    this.keeper.follow(view(members, shards), me);
    await this.clock.settle();
  }

  /** What was asked for since the last look. */
  news(): string[] {
    return this.asked.splice(0);
  }

  async settle(what: string, outcome: "open" | "taken" | Error = "open"): Promise<void> {
    const place = this.open.findIndex((ask) => ask.what === what);
    assert.notEqual(place, -1, `${what} is not under way`);
    const [ask] = this.open.splice(place, 1);
    if (outcome instanceof Error) ask?.reject(outcome);
    else ask?.resolve(outcome);
    await this.clock.settle();
  }

  async #ask(what: string): Promise<"open" | "taken"> {
    this.asked.push(what);
    const shard = what.split(" ")[1];
    const isBusy = this.open.some((ask) => ask.what.endsWith(` ${shard}`));
    assert.equal(isBusy, false, `${what}: the host is still busy with the shard`);
    if (this.answer !== undefined) return this.answer(what);
    const { promise, resolve, reject } = Promise.withResolvers<"open" | "taken">();
    this.open.push({ what, resolve, reject });
    return promise;
  }
}

const opens = (shards: readonly number[]): string[] => shards.map((shard) => `open ${shard}`);
const releases = (shards: readonly number[]): string[] => shards.map((shard) => `release ${shard}`);

const mine = shardsOf("a", ["a", "b"]);
const theirs = shardsOf("b", ["a", "b"]);
const one = mine[0]!;

describe("the keeper of shards", () => {
  test("the only member opens them all", async () => {
    const rig = new Rig();
    await rig.follow(["a"]);
    assert.deepEqual(rig.owned, all);
    assert.deepEqual(rig.news(), opens(all));
    assert.deepEqual(rig.events[0], { type: "shard-opened", member: "a", shard: 0 });
    await rig.follow(["a"], held("a", all));
    assert.deepEqual(rig.news(), []);
  });

  test("gives a few shards at a time to each member, and the next ones when those are open there", async () => {
    const rig = new Rig({ hearsOpenings: () => true });
    await rig.follow(["a"]);
    rig.news();
    const members = ["a", "b", "c"];
    await rig.follow(members, held("a", all));
    const first = rig.news();
    const [ofB, ofC] = [shardsOf("b", members), shardsOf("c", members)];
    assert.deepEqual(first.toSorted(), releases([...ofB.slice(0, 4), ...ofC.slice(0, 4)]).toSorted());
    assert.equal(rig.keeper.isSettled, false);
    rig.keeper.onOpened(ofB[1]!);
    rig.keeper.onOpened(ofB[1]!);
    await rig.clock.settle();
    assert.deepEqual(rig.news(), releases(ofB.slice(4, 5)));
    // A view shows another one that is open there.
    const given = [...ofB.slice(0, 5), ...ofC.slice(0, 4)];
    const shown = all.flatMap((shard) =>
      shard === ofC[0] ? held("c", [shard]) : held("a", [shard], given.includes(shard)),
    );
    await rig.follow(members, shown);
    assert.deepEqual(rig.news(), releases(ofC.slice(4, 5)));
    // Nobody hears of the others.
    await rig.clock.advance(500);
    assert.ok(rig.news().length > 0);
    await rig.clock.advance(5000);
    assert.deepEqual(rig.owned, shardsOf("a", members));
    assert.equal(rig.keeper.isSettled, true);
  });

  test("hands all shards over before it leaves, a few at a time", async () => {
    const rig = new Rig({ hearsOpenings: () => true });
    await rig.follow(["a", "b"], held("b", theirs));
    rig.news();
    let isOver = false;
    void rig.keeper.handOver().then(() => (isOver = true));
    await rig.clock.settle();
    const before = rig.news().length;
    assert.ok(before <= 4 && before > 0);
    for (const shard of mine) {
      assert.equal(isOver, rig.owned.length === 0);
      rig.keeper.onOpened(shard);
      await rig.clock.settle();
    }
    assert.deepEqual([rig.owned, isOver], [[], true]);
  });

  test("does not wait for other members where it cannot hear of them, nor when it leaves at once", async () => {
    for (const hears of [false, true]) {
      const rig = new Rig({ hearsOpenings: () => hears });
      await rig.follow(["a"]);
      await rig.follow(["a", "b"], held("a", all));
      if (hears) await rig.keeper.releaseAll();
      assert.deepEqual(rig.owned, hears ? [] : mine);
    }
  });

  test("opens what belongs to it and was never claimed, was released, or has an owner that does not live", async () => {
    const rig = new Rig();
    const [first, second, third, ...rest] = mine as [number, number, number, ...number[]];
    const rows = [...held("b", [second], true), ...held("dead", [third]), ...held("b", [...rest, ...theirs])];
    await rig.follow(["a", "b"], rows);
    assert.deepEqual(rig.owned, [first, second, third]);
  });

  test("hands over what belongs to another living member", async () => {
    const rig = new Rig();
    await rig.follow(["a"]);
    rig.news();
    await rig.follow(["a", "b"], held("a", all));
    assert.deepEqual(rig.news(), releases(theirs));
    assert.deepEqual(rig.owned, mine);
    assert.deepEqual(rig.events.at(-1), { type: "shard-released", member: "a", shard: theirs.at(-1) });
    await rig.follow(["a", "b"], [...held("a", mine), ...held("a", theirs, true)]);
    assert.deepEqual(rig.news(), []);
  });

  test("places nothing on members that are about to leave, while others stay", async () => {
    const rig = new Rig();
    rig.keeper.follow(view(["a", "b"], held("b", theirs)), "a", ["b"]);
    await rig.clock.settle();
    assert.deepEqual(rig.owned, all);
  });

  test("hands everything over to those that stay, and takes nothing more", async () => {
    const rig = new Rig();
    await rig.follow(["a", "b"], held("b", theirs));
    rig.news();
    await rig.keeper.handOver();
    assert.deepEqual([rig.news(), rig.owned], [releases(mine), []]);
    await rig.follow(["a", "b"], [...held("a", mine, true), ...held("b", theirs)]);
    rig.keeper.onFreed(one);
    await rig.clock.settle();
    assert.deepEqual([rig.news(), rig.owned], [[], []]);
  });

  test("keeps its shards while nobody else is there, or all are about to leave", async () => {
    const rig = new Rig();
    await rig.follow(["a"]);
    rig.news();
    await rig.keeper.handOver();
    assert.deepEqual([rig.news(), rig.owned], [[], all]);
    rig.keeper.follow(view(["a", "b"], held("a", all)), "a", ["b"]);
    await rig.clock.settle();
    assert.deepEqual(rig.owned, mine);
  });

  test("takes its shards back if the one that they went to is about to leave as well", async () => {
    const rig = new Rig();
    await rig.follow(["a", "b"], held("b", theirs));
    await rig.keeper.handOver();
    rig.news();
    rig.keeper.follow(view(["a", "b"], [...held("a", mine, true), ...held("b", theirs)]), "a", ["b"]);
    await rig.clock.settle();
    assert.deepEqual(rig.owned, mine);
  });

  test("does nothing with a view in which it is not", async () => {
    const rig = new Rig();
    await rig.follow(["a"]);
    rig.news();
    await rig.follow(["b"], held("a", all));
    assert.deepEqual([rig.news(), rig.owned], [[], all]);
  });

  test("opens a few at a time, and never two things at once with one shard", async () => {
    const rig = new Rig({ opensAtOnce: 3 });
    rig.answer = undefined;
    await rig.follow(["a"]);
    assert.deepEqual(rig.news(), opens([0, 1, 2]));
    await rig.follow(["a"]);
    assert.deepEqual(rig.news(), []);
    await rig.settle("open 1");
    assert.deepEqual(rig.news(), opens([3]));
    await rig.settle("open 0", "taken");
    await rig.settle("open 2", new Error("no"));
    assert.deepEqual(rig.news(), opens([4, 5]));
    assert.deepEqual(rig.owned, [1]);
  });

  test("opens eight at a time by default", async () => {
    const rig = new Rig();
    rig.answer = undefined;
    await rig.follow(["a"]);
    assert.equal(rig.open.length, 8);
  });

  test("forgets what waits to be opened when a later view gives it to another", async () => {
    const rig = new Rig({ opensAtOnce: 1 });
    rig.answer = undefined;
    await rig.follow(["a"]);
    await rig.follow(["a", "b"]);
    rig.answer = () => "open";
    rig.news();
    await rig.settle("open 0");
    const expected = mine.filter((shard) => shard !== 0);
    assert.deepEqual(
      rig.news().filter((what) => what.startsWith("open")),
      opens(expected),
    );
  });

  test("gives a shard up at once if it came to belong to another while it was opened", async () => {
    const rig = new Rig({ opensAtOnce: shardCount });
    rig.answer = undefined;
    await rig.follow(["a"]);
    await rig.follow(["a", "b"]);
    rig.news();
    const their = theirs[0]!;
    await rig.settle(`open ${their}`);
    assert.deepEqual(rig.news(), releases([their]));
    assert.deepEqual(rig.owned, [their]);
    await rig.settle(`release ${their}`);
    assert.deepEqual(rig.owned, []);
  });

  test("tries a taken one again with the next view", async () => {
    const rig = new Rig();
    rig.answer = () => "taken";
    await rig.follow(["a"]);
    assert.deepEqual(rig.news(), opens(all));
    assert.deepEqual([rig.owned, rig.warnings], [[], []]);
    await rig.follow(["a"]);
    assert.deepEqual(rig.news(), opens(all));
  });

  test("tries what failed again with a later view, after a second at least, and says so", async () => {
    const rig = new Rig();
    rig.answer = undefined;
    await rig.follow(["a", "b"], held("b", [...theirs, ...mine.slice(1)]));
    await rig.settle(`open ${one}`, new Error("no disk"));
    assert.deepEqual(rig.warnings, [{ shard: one, error: "no disk" }]);
    rig.news();
    await rig.clock.advance(999);
    await rig.follow(["a", "b"], held("b", [...theirs, ...mine.slice(1)]));
    assert.deepEqual(rig.news(), []);
    await rig.clock.advance(1);
    assert.deepEqual(rig.news(), []);
    await rig.follow(["a", "b"], held("b", [...theirs, ...mine.slice(1)]));
    assert.deepEqual(rig.news(), opens([one]));
  });

  test("still owns what it could not release, and tries again", async () => {
    const rig = new Rig();
    await rig.follow(["a"]);
    rig.answer = () => {
      throw new Error("not now");
    };
    rig.news();
    await rig.follow(["a", "b"], held("a", all));
    assert.deepEqual(rig.news(), releases(theirs));
    assert.deepEqual(rig.owned, all);
    await rig.follow(["a", "b"], held("a", all));
    assert.deepEqual(rig.news(), []);
    rig.answer = () => "open";
    await rig.clock.advance(1000);
    await rig.follow(["a", "b"], held("a", all));
    assert.deepEqual(rig.news(), releases(theirs));
    assert.deepEqual(rig.owned, mine);
  });

  describe("and views, which are snapshots from before", () => {
    test("is not confused by one that still shows the owner before it", async () => {
      const rig = new Rig();
      const before = [...held("dead", mine), ...held("b", theirs)];
      await rig.follow(["a", "b"], before);
      rig.news();
      await rig.follow(["a", "b"], before);
      await rig.follow(["a", "b"], [...held("b", all)]);
      assert.deepEqual([rig.news(), rig.owned], [[], mine]);
    });

    test("loses a shard only when it is told so, and then claims it again if it may", async () => {
      const rig = new Rig();
      await rig.follow(["a", "b"], held("b", theirs));
      rig.keeper.onLost(one);
      rig.keeper.onLost(theirs[0]!);
      assert.deepEqual(rig.owned, mine.slice(1));
      assert.deepEqual(rig.events.at(-1), { type: "shard-lost", member: "a", shard: one });
      rig.news();
      await rig.follow(["a", "b"], [...held("b", theirs), ...held("a", mine)]);
      assert.deepEqual(rig.news(), opens([one]));
    });

    test("does not own what was lost while it was still being opened", async () => {
      const rig = new Rig();
      rig.answer = undefined;
      await rig.follow(["a", "b"], held("b", [...theirs, ...mine.slice(1)]));
      rig.keeper.onLost(one);
      await rig.settle(`open ${one}`);
      assert.deepEqual([rig.owned, rig.events], [[], []]);
    });

    test("does not own what was lost while it was being released", async () => {
      const rig = new Rig();
      await rig.follow(["a"]);
      rig.answer = undefined;
      await rig.follow(["a", "b"], held("a", all));
      const their = theirs[0]!;
      rig.keeper.onLost(their);
      assert.equal(rig.keeper.owned.has(their), false);
      rig.events.length = 0;
      await rig.settle(`release ${their}`);
      assert.deepEqual(rig.events, []);
    });

    test("hands over what was claimed for it by a request that seemed to fail", async () => {
      const rig = new Rig();
      rig.answer = () => {
        throw new Error("no answer");
      };
      await rig.follow(["a"]);
      rig.news();
      rig.answer = () => "open";
      // Meanwhile another member joined. The view that was on its way when the open ended proves nothing yet.
      await rig.clock.advance(1000);
      await rig.follow(["a", "b"], held("a", theirs));
      assert.deepEqual(rig.news(), opens(mine));
      await rig.follow(["a", "b"], held("a", theirs));
      const news = rig.news();
      assert.deepEqual(news.toSorted(), [...opens(theirs), ...releases(theirs)].toSorted());
      assert.deepEqual(rig.owned, mine);
    });

    test("does not take back what it has just released", async () => {
      const rig = new Rig();
      await rig.follow(["a"]);
      await rig.follow(["a", "b"], held("a", all));
      rig.news();
      await rig.follow(["a", "b"], held("a", all));
      assert.deepEqual(rig.news(), []);
    });
  });

  describe("hears that a shard was freed", () => {
    const elsewhere = held("b", all);

    test("and opens it at once", async () => {
      const rig = new Rig();
      await rig.follow(["a", "b"], elsewhere);
      assert.deepEqual(rig.news(), []);
      rig.keeper.onFreed(one);
      await rig.clock.settle();
      assert.deepEqual([rig.news(), rig.owned], [opens([one]), [one]]);
      rig.keeper.onFreed(one);
      await rig.clock.settle();
      assert.deepEqual(rig.news(), []);
    });

    test("and does not care if it belongs to another, or if it knows of nobody yet", async () => {
      const rig = new Rig();
      rig.keeper.onFreed(one);
      await rig.follow(["a", "b"], elsewhere);
      rig.keeper.onFreed(theirs[0]!);
      await rig.clock.settle();
      assert.deepEqual(rig.news(), []);
    });

    test("and tries again if it had asked a moment too early", async () => {
      const rig = new Rig();
      rig.answer = undefined;
      await rig.follow(["a", "b"], held("b", [...theirs, ...mine.slice(1)]));
      rig.keeper.onFreed(one);
      assert.deepEqual(rig.news(), opens([one]));
      await rig.settle(`open ${one}`, "taken");
      assert.deepEqual(rig.news(), opens([one]));
      await rig.settle(`open ${one}`, "taken");
      assert.deepEqual(rig.news(), []);
    });

    test("and remembers it while there is no room, whatever an old view shows", async () => {
      const rig = new Rig({ opensAtOnce: 1 });
      rig.answer = undefined;
      await rig.follow(["a", "b"], held("b", [...theirs, ...mine.slice(1)]));
      const [, second, third] = mine as [number, number, number];
      rig.keeper.onFreed(second);
      rig.keeper.onFreed(third);
      await rig.follow(["a", "b"], elsewhere);
      rig.answer = () => "open";
      await rig.settle(`open ${one}`);
      assert.deepEqual(rig.owned, [one, second, third]);
    });

    test("and waits all the same if opening it failed just now", async () => {
      const rig = new Rig();
      rig.answer = undefined;
      await rig.follow(["a", "b"], held("b", [...theirs, ...mine.slice(1)]));
      await rig.settle(`open ${one}`, new Error("no"));
      rig.news();
      rig.keeper.onFreed(one);
      await rig.clock.settle();
      assert.deepEqual(rig.news(), []);
      await rig.clock.advance(1000);
      await rig.follow(["a", "b"], elsewhere);
      assert.deepEqual(rig.news(), opens([one]));
    });

    test("and forgets it if it comes to belong to another", async () => {
      const rig = new Rig({ opensAtOnce: 1 });
      rig.answer = undefined;
      await rig.follow(["a", "b"], held("b", [...theirs, ...mine.slice(1)]));
      const moving = mine.slice(1).find((shard) => ownerOf(shard, ["a", "b", "c"]) === "c")!;
      rig.keeper.onFreed(moving);
      await rig.follow(["a", "b", "c"], elsewhere);
      await rig.follow(["a", "b"], elsewhere);
      rig.news();
      await rig.settle(`open ${one}`);
      assert.deepEqual(rig.news(), []);
    });
  });

  describe("when its member is gone", () => {
    test("forgets everything, and begins anew under the new id", async () => {
      const rig = new Rig();
      await rig.follow(["a"]);
      rig.keeper.dropAll();
      assert.deepEqual(rig.owned, []);
      rig.keeper.onFreed(one);
      await rig.clock.settle();
      rig.news();
      const ours = shardsOf("c", ["b", "c"]);
      await rig.follow(["b", "c"], held("a", all), "c");
      assert.deepEqual(rig.news(), opens(ours));
      assert.deepEqual(rig.owned, ours);
      assert.deepEqual(rig.events.at(-1), { type: "shard-opened", member: "c", shard: ours.at(-1) });
    });

    test("waits with a shard that is still busy from before, and takes nothing from that", async () => {
      const rig = new Rig();
      rig.answer = undefined;
      await rig.follow(["a"]);
      rig.keeper.dropAll();
      rig.news();
      await rig.follow(["c"], [], "c");
      assert.deepEqual(rig.news(), [], "eight are under way");
      await rig.settle("open 0");
      assert.deepEqual([rig.news(), rig.owned], [opens([0]), []]);
      rig.answer = () => "open";
      await rig.settle("open 0");
      assert.deepEqual(rig.news(), opens(all.slice(8)));
      await rig.settle("open 1", "taken");
      await rig.settle("open 2", new Error("of an earlier life"));
      assert.deepEqual(rig.news(), opens([1, 2]));
      assert.deepEqual(rig.warnings, []);
      assert.deepEqual(rig.owned, [0, 1, 2, ...all.slice(8)]);
      assert.ok(rig.events.every(({ member }) => member === "c"));
    });

    test("takes nothing from a release of before either", async () => {
      const rig = new Rig();
      await rig.follow(["a"]);
      rig.answer = undefined;
      await rig.follow(["a", "b"], held("a", all));
      const their = theirs[0]!;
      rig.keeper.dropAll();
      await rig.follow(["c"], [], "c");
      rig.answer = () => "open";
      for (const what of rig.open.map((ask) => ask.what)) await rig.settle(what);
      assert.equal(rig.keeper.owned.has(their), true);
      assert.deepEqual(rig.owned, all);
    });

    test("does not believe that a shard of the new life is lost because one of the old was", async () => {
      const rig = new Rig();
      rig.answer = undefined;
      await rig.follow(["a"]);
      rig.keeper.dropAll();
      await rig.follow(["c"], [], "c");
      rig.keeper.onLost(0);
      rig.answer = () => "open";
      await rig.settle("open 0");
      assert.equal(rig.keeper.owned.has(0), true);
    });
  });

  describe("when its member leaves", () => {
    test("gives up all it has, all at once", async () => {
      const rig = new Rig();
      await rig.follow(["a"]);
      rig.answer = undefined;
      rig.news();
      let isDone = false;
      const done = rig.keeper.releaseAll().then(() => void (isDone = true));
      assert.deepEqual(rig.news(), releases(all));
      for (const shard of all.slice(1)) await rig.settle(`release ${shard}`);
      assert.equal(isDone, false);
      await rig.settle("release 0", new Error("not now"));
      await done;
      assert.deepEqual(rig.owned, [0]);
      assert.deepEqual(rig.warnings, [{ shard: 0, error: "not now" }]);
    });

    test("waits for what is being opened, gives that up too, and opens nothing after", async () => {
      const rig = new Rig({ opensAtOnce: 2 });
      rig.answer = undefined;
      await rig.follow(["a"]);
      await rig.settle("open 0");
      rig.news();
      const done = rig.keeper.releaseAll();
      assert.deepEqual(rig.news(), releases([0]));
      rig.keeper.onFreed(5);
      await rig.follow(["a"]);
      await rig.settle("open 1");
      assert.deepEqual(rig.news(), releases([1]));
      await rig.settle("open 2", "taken");
      await rig.settle("release 0");
      await rig.settle("release 1");
      await done;
      assert.deepEqual([rig.news(), rig.owned, rig.open], [[], [], []]);
      await rig.follow(["a"]);
      assert.deepEqual(rig.news(), []);
    });

    test("waits for a release that is under way, and does not ask twice", async () => {
      const rig = new Rig();
      await rig.follow(["a"]);
      rig.answer = undefined;
      await rig.follow(["a", "b"], held("a", all));
      const done = rig.keeper.releaseAll();
      for (const what of rig.open.map((ask) => ask.what)) await rig.settle(what);
      await done;
      assert.deepEqual(rig.owned, []);
    });
  });
});
