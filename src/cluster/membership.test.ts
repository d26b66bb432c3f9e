import assert from "node:assert/strict";
import { beforeEach, describe, test } from "node:test";
import { EngineError, hasCode } from "../base/error.ts";
import type { Clock, Timer } from "../base/clock.ts";
import { silentLogger } from "../base/logger.ts";
import { MemoryStore } from "../stores/memory/memory-store.ts";
import type { ClusterView } from "../stores/store.ts";
import { TestClock } from "../testing/test-clock.ts";
import type { MemberEvent } from "./member-event.ts";
import { Membership } from "./membership.ts";

const timings = { beatMs: 2500, suspectMs: 10_000, lostMs: 30_000 };
const leaseMs = 36_000;

type Call = "join" | "heartbeat" | "remove";

/** A store whose requests and answers the test may hold up or lose. */
class ShakyStore extends MemoryStore {
  readonly calls: string[] = [];
  request: (call: Call, member: string) => Promise<void> = async () => undefined;
  answer: (call: Call, member: string) => Promise<void> = async () => undefined;

  override join(member: { readonly id: string; readonly address: string }): Promise<void> {
    return this.#shake("join", member.id, () => super.join(member));
  }

  override heartbeat(member: string, about?: string): Promise<ClusterView> {
    return this.#shake("heartbeat", member, () => super.heartbeat(member, about));
  }

  override removeMember(member: string, ifHeartbeat?: number): Promise<boolean> {
    return this.#shake("remove", member, () => super.removeMember(member, ifHeartbeat));
  }

  async ids(): Promise<string[]> {
    const { members } = await super.heartbeat("an listener");
    return members.map(({ id }) => id);
  }

  async #shake<T>(call: Call, member: string, act: () => Promise<T>): Promise<T> {
    this.calls.push(`${call} ${member}`);
    await this.request(call, member);
    const result = await act();
    await this.answer(call, member);
    return result;
  }
}

/** A wall clock that may be set, over a steady one. */
class WallClock implements Clock {
  skewMs = 0;
  readonly #clock: TestClock;

  constructor(clock: TestClock) {
    this.#clock = clock;
  }

  now(): number {
    return this.#clock.now() + this.skewMs;
  }

  monotonic(): number {
    return this.#clock.monotonic();
  }

  after(delayMs: number, callback: () => void): Timer {
    return this.#clock.after(delayMs, callback);
  }

  soon(callback: () => void): void {
    this.#clock.soon(callback);
  }
}

const unavailable = (): Promise<never> => Promise.reject(new EngineError("STORE_UNAVAILABLE", "not now"));

describe("membership", () => {
  let clock: TestClock;
  let store: ShakyStore;

  beforeEach(async () => {
    clock = new TestClock();
    store = new ShakyStore();
    await store.open();
  });

  /** A member with a book of what it is told. Its ids are its name and a number. */
  class Member {
    readonly name: string;
    readonly clock = new WallClock(clock);
    readonly membership: Membership;
    readonly events: MemberEvent[] = [];
    readonly told: string[] = [];
    readonly views: ClusterView[] = [];
    about = "";
    /** Level and message of each line about a member, with its id. */
    readonly logged: string[] = [];
    drop: () => Promise<void> = async () => undefined;
    #lives = 0;

    constructor(name: string, died: ReadonlySet<string> = new Set()) {
      this.name = name;
      this.membership = new Membership({
        store,
        clock: this.clock,
        logger: {
          ...silentLogger,
          info: ({ member }, message) => void this.logged.push(`info ${String(member)} ${message}`),
          warn: ({ member }, message) => void this.logged.push(`warn ${String(member)} ${message}`),
        },
        process: { stamp: `of ${name}`, hasDied: (stamp) => died.has(stamp) },
        address: `${name}:1`,
        about: () => this.about,
        newId: () => `${name}${++this.#lives}`,
        timings,
        onView: (view) => void this.views.push(view),
        onEvent: (event) => {
          this.events.push(event);
          if (event.type === "joined" && event.member === this.membership.id) this.#checkReady();
        },
        onLapsed: () => void this.told.push("lapsed"),
        onRegained: () => void this.told.push("regained"),
        onGone: () => {
          this.told.push(`gone as ${this.membership.id}`);
          return this.drop();
        },
      });
    }

    /** Whoever hears that it has joined may begin to work. */
    #checkReady(): void {
      const { id, lease, living } = this.membership;
      assert.deepEqual([lease.isValid, living.has(id)], [true, true]);
    }

    get tale(): string[] {
      return this.events.map((event) => `${event.type} ${event.member}`);
    }
  }

  async function begin(name: string): Promise<Member> {
    const member = new Member(name);
    await member.membership.start();
    return member;
  }

  /** From now on nothing that this member sends arrives, and it hears no errors either. */
  function silence(name: string): void {
    const before = store.request;
    store.request = (call, member) =>
      member.startsWith(name) && call !== "remove" ? new Promise(() => undefined) : before(call, member);
  }

  /** When the calls of that kind were made, in ms from now on. */
  function timesOf(call: Call): number[] {
    const times: number[] = [];
    const start = clock.now();
    const before = store.request;
    store.request = (one, member) => {
      if (one === call) times.push(clock.now() - start);
      return before(one, member);
    };
    return times;
  }

  const after = (ms: number): Promise<void> => new Promise((resolve) => void clock.after(ms, resolve));

  describe("starting and stopping", () => {
    test("joins, and has its first view and its lease when it has started", async () => {
      const { membership, views, tale } = await begin("a");
      assert.deepEqual(store.calls, ["join a1", "heartbeat a1"]);
      assert.equal(membership.id, "a1");
      assert.equal(membership.lease.isValid, true);
      assert.equal(views.length, 1);
      assert.equal(membership.view, views[0]);
      assert.deepEqual([...membership.living], ["a1"]);
      assert.deepEqual(tale, ["joined a1"]);
    });

    test("looks again at once when it is told to, also while it is looking, and then beats as before", async () => {
      const { membership } = await begin("a");
      await clock.advance(1000);
      const times = timesOf("heartbeat");
      store.answer = (call) => (call === "heartbeat" ? after(100) : Promise.resolve());
      membership.refreshView();
      await clock.advance(50);
      membership.refreshView();
      membership.refreshView();
      await clock.advance(5000);
      assert.deepEqual(times, [0, 100, 2600]);
    });

    test("looks no more once it has stopped", async () => {
      const { membership } = await begin("a");
      await membership.stop();
      const times = timesOf("heartbeat");
      membership.refreshView();
      await clock.advance(5000);
      assert.deepEqual(times, []);
    });

    test("knows nobody and has no lease before", () => {
      const { membership } = new Member("a");
      assert.equal(membership.id, "a1");
      assert.equal(membership.lease.isValid, false);
      assert.equal(membership.living.size, 0);
    });

    test("throws the store's error, leaves and does nothing more", async () => {
      store.answer = (call) => (call === "heartbeat" ? unavailable() : Promise.resolve());
      const { membership, told } = new Member("a");
      await assert.rejects(membership.start(), (error) => hasCode(error, "STORE_UNAVAILABLE"));
      assert.deepEqual(store.calls, ["join a1", "heartbeat a1", "remove a1"]);
      assert.deepEqual(await store.ids(), []);
      assert.equal(clock.timerCount, 0);
      assert.equal(membership.lease.isValid, false);
      assert.deepEqual(told, []);
    });

    test("takes another id if it was removed before its first sign of life", async () => {
      store.request = async (call, member) => {
        if (call === "heartbeat" && member === "a1") await store.removeMember("a1");
      };
      const { membership, told, tale } = await begin("a");
      assert.equal(membership.id, "a2");
      assert.equal(membership.lease.isValid, true);
      assert.deepEqual([told, tale], [[], ["joined a2"]]);
    });

    test("leaves: its row goes, its lease ends, and nothing more is heard of it", async () => {
      const { membership, views, told } = await begin("a");
      await membership.stop();
      assert.deepEqual(await store.ids(), []);
      assert.equal(membership.lease.isValid, false);
      assert.equal(clock.timerCount, 0);
      await clock.advance(60_000);
      assert.deepEqual([views.length, told], [1, []]);
    });

    test("ends its lease before it asks to be removed", async () => {
      const { membership } = await begin("a");
      let wasValid: boolean | undefined;
      store.request = async () => void (wasValid = membership.lease.isValid);
      await membership.stop();
      assert.equal(wasValid, false);
    });

    test("takes no notice of an answer that arrives after it has stopped", async () => {
      const { membership, views } = await begin("a");
      const answer = Promise.withResolvers<void>();
      store.answer = (call) => (call === "heartbeat" ? answer.promise : Promise.resolve());
      await clock.advance(2500);
      await membership.stop();
      answer.resolve();
      await clock.advance(60_000);
      assert.equal(views.length, 1);
      assert.equal(membership.lease.isValid, false);
      assert.equal(clock.timerCount, 0);
    });

    test("may leave without having started, twice, and without a store", async () => {
      await new Member("a").membership.stop();
      assert.deepEqual(store.calls, []);
      const { membership } = await begin("b");
      store.request = unavailable;
      await Promise.all([membership.stop(), membership.stop()]);
      await membership.stop();
      assert.deepEqual(store.calls, ["join b1", "heartbeat b1", "remove b1"]);
    });

    test("waits for a join that is under way, so that nobody is left behind", async () => {
      const gate = Promise.withResolvers<void>();
      store.request = (call) => (call === "join" ? gate.promise : Promise.resolve());
      const { membership, views } = new Member("a");
      const started = membership.start();
      const stopped = membership.stop();
      gate.resolve();
      await Promise.all([started, stopped]);
      assert.deepEqual(await store.ids(), []);
      assert.deepEqual([views.length, clock.timerCount], [0, 0]);
    });
  });

  describe("signs of life", () => {
    test("come every beatMs, counted from when the last one was sent", async () => {
      await begin("a");
      const times = timesOf("heartbeat");
      store.answer = () => after(700);
      await clock.advance(10_000);
      assert.deepEqual(times, [2500, 5000, 7500, 10_000]);
    });

    test("come one at a time, the next one at once if it is overdue", async () => {
      await begin("a");
      const times = timesOf("heartbeat");
      store.answer = () => after(4000);
      await clock.advance(11_000);
      assert.deepEqual(times, [2500, 6500, 10_500]);
    });

    test("come again after a quarter of the time if the store fails", async () => {
      const { membership } = await begin("a");
      store.request = unavailable;
      const times = timesOf("heartbeat");
      await clock.advance(4000);
      assert.deepEqual(times, [2500, 3125, 3750]);
      store.request = async () => undefined;
      await clock.advance(400);
      assert.equal(membership.view.members[0]?.heartbeat, 2);
    });
  });

  describe("the lease", () => {
    test("lapses by itself while the store says nothing, once, and is regained", async () => {
      const member = await begin("a");
      const { membership, told } = member;
      const gate = Promise.withResolvers<void>();
      store.request = () => gate.promise;
      await clock.advance(leaseMs - 1);
      assert.equal(membership.lease.isValid, true);
      assert.deepEqual(told, []);
      await clock.advance(1);
      assert.equal(membership.lease.isValid, false);
      assert.deepEqual(told, ["lapsed"]);
      await clock.advance(leaseMs);
      const next = Promise.withResolvers<void>();
      store.request = () => next.promise;
      gate.resolve();
      await clock.settle();
      assert.equal(membership.lease.isValid, false, "the answer is to a heartbeat that was sent long ago");
      next.resolve();
      await clock.settle();
      assert.equal(membership.lease.isValid, true, "the next one was sent at once");
      assert.deepEqual(told, ["lapsed", "regained"]);
      assert.deepEqual(member.tale, ["joined a1", "lapsed a1", "regained a1"]);
    });

    test("lapses once while the store fails, and can lapse again", async () => {
      const { told } = await begin("a");
      for (let round = 0; round < 2; round++) {
        store.request = unavailable;
        await clock.advance(2 * leaseMs);
        store.request = async () => undefined;
        await clock.advance(2500);
      }
      assert.deepEqual(told, ["lapsed", "regained", "lapsed", "regained"]);
    });

    test("lapses when the machine was suspended, until the next renewal", async () => {
      const member = await begin("a");
      await clock.advance(1000);
      member.clock.skewMs = leaseMs;
      assert.equal(member.membership.lease.isValid, false);
      await clock.advance(1500);
      assert.deepEqual(member.told, ["lapsed", "regained"]);
      assert.equal(member.membership.lease.isValid, true);
    });

    test("lapses within a heartbeat interval after the machine was suspended, although a heartbeat is not answered", async () => {
      const member = await begin("a");
      store.request = () => new Promise(() => undefined);
      await clock.advance(2600);
      member.clock.skewMs = leaseMs;
      await clock.advance(2400);
      assert.deepEqual(member.told, ["lapsed"]);
    });

    test("has lapsed for an answer that was under way while the machine was suspended", async () => {
      const member = await begin("a");
      store.answer = () => after(100);
      await clock.advance(2500);
      member.clock.skewMs = leaseMs;
      await clock.advance(100);
      assert.deepEqual(member.told, ["lapsed"]);
      assert.equal(member.membership.lease.isValid, false);
      await clock.advance(2500);
      assert.deepEqual(member.told, ["lapsed", "regained"]);
    });

    test("does not care for a wall clock that is set back, and lapses in time all the same", async () => {
      const member = await begin("a");
      member.clock.skewMs = -3_600_000;
      await clock.advance(60_000);
      assert.deepEqual(member.told, []);
      silence("a");
      await clock.advance(leaseMs);
      assert.deepEqual(member.told, ["lapsed"]);
    });

    test("that has lapsed by a wall clock that was ahead is not valid when that is set back, before the next renewal", async () => {
      const member = await begin("a");
      await clock.advance(1000);
      silence("a");
      member.clock.skewMs = leaseMs;
      await clock.advance(2500);
      assert.deepEqual(member.told, ["lapsed"]);
      member.clock.skewMs = 0;
      assert.equal(
        member.membership.lease.isValid,
        false,
        "what ran was stopped, and nothing would stop it again in time",
      );
    });

    test("is looked at again if its end had only been near by a wall clock that was ahead for a while", async () => {
      const member = await begin("a");
      await clock.advance(1000);
      member.clock.skewMs = leaseMs - 5000;
      await clock.advance(1500);
      silence("a");
      member.clock.skewMs = 0;
      await clock.advance(leaseMs - 1);
      assert.deepEqual(member.told, []);
      await clock.advance(1);
      assert.deepEqual(member.told, ["lapsed"]);
    });
  });

  describe("a member that was given up", () => {
    test("drops everything first, and then joins under a new id", async () => {
      const member = new Member("a");
      const dropped = Promise.withResolvers<void>();
      member.drop = () => dropped.promise;
      const { membership } = member;
      await membership.start();
      const old = membership.lease;
      await store.removeMember("a1");
      await clock.advance(10_000);
      assert.deepEqual(member.told, ["gone as a1"]);
      assert.deepEqual([membership.id, membership.lease.isValid], ["a1", false]);
      assert.equal(member.views.length, 1);
      assert.equal(clock.timerCount, 0);

      dropped.resolve();
      await clock.settle();
      assert.deepEqual([membership.id, membership.lease.isValid, old.isValid], ["a2", true, false]);
      assert.deepEqual([...membership.living], ["a2"]);
      assert.deepEqual(member.tale, ["joined a1", "gone a1", "joined a2"]);
      await clock.advance(5000);
      assert.equal(member.views.length, 4);
    });

    test("learns it also after its lease has lapsed, and is not told that it was regained", async () => {
      const member = await begin("a");
      store.request = (call) => (call === "heartbeat" ? unavailable() : Promise.resolve());
      await clock.advance(leaseMs);
      await store.removeMember("a1");
      store.request = async () => undefined;
      await clock.advance(2500);
      assert.deepEqual(member.told, ["lapsed", "gone as a1"]);
      assert.deepEqual([member.membership.id, member.membership.lease.isValid], ["a2", true]);
    });

    test("tries to join until it succeeds, each time under another id, and leaves none behind", async () => {
      const member = await begin("a");
      await store.removeMember("a1");
      store.calls.length = 0;
      store.answer = (call) => (call === "join" ? unavailable() : Promise.resolve());
      await clock.advance(3750);
      assert.deepEqual(store.calls, ["heartbeat a1", "join a2", "join a3", "join a4"]);
      assert.deepEqual(await store.ids(), ["a2", "a3", "a4"]);
      store.answer = async () => undefined;
      await clock.advance(1000);
      assert.deepEqual(store.calls.slice(4), ["join a5", "heartbeat a5", "remove a2", "remove a3", "remove a4"]);
      assert.deepEqual(await store.ids(), ["a5"]);
      assert.deepEqual([member.membership.id, member.membership.lease.isValid], ["a5", true]);
    });

    test("does not join twice if only its first sign of life failed", async () => {
      const member = await begin("a");
      await store.removeMember("a1");
      store.calls.length = 0;
      store.answer = (call, name) => (call === "heartbeat" && name === "a2" ? unavailable() : Promise.resolve());
      await clock.advance(3125);
      store.answer = async () => undefined;
      await clock.advance(625);
      assert.deepEqual(store.calls, ["heartbeat a1", "join a2", "heartbeat a2", "heartbeat a2", "heartbeat a2"]);
      assert.equal(member.membership.lease.isValid, true);
    });

    test("takes yet another id if it was removed again before its first sign of life", async () => {
      const member = await begin("a");
      await store.removeMember("a1");
      let tries = 0;
      store.answer = async (call, name) => {
        if (call === "join" && name === "a2") await store.removeMember("a2");
        // Just then the store fails.
        if (call === "heartbeat" && name === "a3" && tries++ === 0) await unavailable();
      };
      await clock.advance(5000);
      assert.equal(member.membership.id, "a3");
      assert.deepEqual(member.tale, ["joined a1", "gone a1", "joined a3"]);
    });

    test("does not join again once it is stopped, wherever it is on its way", async () => {
      const dropping = new Member("a");
      const dropped = Promise.withResolvers<void>();
      dropping.drop = () => dropped.promise;
      await dropping.membership.start();
      const joining = await begin("b");
      await store.removeMember("a1");
      await store.removeMember("b1");
      store.request = (call) => (call === "join" ? unavailable() : Promise.resolve());
      await clock.advance(2500);
      await Promise.all([dropping.membership.stop(), joining.membership.stop()]);
      dropped.resolve();
      store.request = async () => undefined;
      await clock.advance(60_000);
      assert.deepEqual(await store.ids(), []);
      assert.equal(clock.timerCount, 0);
    });
  });

  describe("a member whose process is no more", () => {
    test("is removed at once by whoever can tell, and nobody waits for its lease", async () => {
      await begin("b");
      silence("b");
      const startedAt = clock.now();
      const a = new Member("a", new Set(["of b"]));
      await a.membership.start();
      await clock.advance(0);
      assert.deepEqual([...a.membership.living], ["a1"]);
      assert.deepEqual(a.tale, ["joined a1", "lost b1"]);
      assert.equal(clock.now(), startedAt, "no time has passed");
    });

    test("is lost, and not said to have left, however lately it gave a sign of life; this is logged once, as a warning", async () => {
      const died = new Set<string>();
      const a = new Member("a", died);
      await a.membership.start();
      await begin("b");
      const c = new Member("c", died);
      await c.membership.start();
      await clock.advance(5000);
      silence("b");
      died.add("of b");
      await clock.advance(2500);
      assert.deepEqual(a.tale.slice(3), ["lost b1"]);
      assert.deepEqual(
        a.logged.filter((line) => line.includes("b1")),
        ["info b1 member joined", "warn b1 member lost; its shards are taken over"],
      );
      assert.deepEqual(await store.ids(), ["a1", "c1"]);
    });

    test("is lost also for those who cannot tell, as long as its shards show that it did not release them", async () => {
      const a = await begin("a");
      await begin("b");
      await store.claimShard(3, "b1");
      await clock.advance(5000);
      silence("b");
      await store.removeMember("b1");
      await clock.advance(2500);
      assert.deepEqual(a.tale.slice(2), ["lost b1"]);
    });

    test("has left if it took its leave before its process ended", async () => {
      const died = new Set<string>();
      const a = new Member("a", died);
      await a.membership.start();
      const b = await begin("b");
      await clock.advance(5000);
      await b.membership.stop();
      died.add("of b");
      await clock.advance(2500);
      assert.deepEqual(a.tale.slice(2), ["left b1"]);
      assert.deepEqual(a.logged.at(-1), "info b1 member left");
    });

    test("is shown under its address, without what tells its process", async () => {
      const a = await begin("a");
      assert.deepEqual(
        a.membership.view.members.map(({ address }) => address),
        ["a:1"],
      );
    });
  });

  test("what a member says about itself goes out with its next heartbeat", async () => {
    const a = await begin("a");
    const b = await begin("b");
    b.about = "draining";
    await clock.advance(5000);
    assert.deepEqual(
      a.membership.view.members.map(({ about }) => about),
      ["", "draining"],
    );
  });

  describe("watching the others", () => {
    test("hears of those that come and go, and not of those that were there before", async () => {
      const a = await begin("a");
      const b = await begin("b");
      await clock.advance(2500);
      await b.membership.stop();
      await clock.advance(2500);
      assert.deepEqual(a.tale, ["joined a1", "joined b1", "left b1"]);
      assert.deepEqual(b.tale, ["joined b1"]);
      assert.deepEqual(a.events[1], { type: "joined", member: "b1", address: "b:1" });
      assert.deepEqual([...a.membership.living], ["a1"]);
    });

    test("suspects a silent one, and removes it after a while more", async () => {
      const a = await begin("a");
      await begin("b");
      await clock.advance(2500);
      silence("b");
      const removals = timesOf("remove");
      // What was on its way at 2500 was still seen; from the next view on it stands still.
      await clock.advance(10_000);
      assert.deepEqual(a.tale.slice(2), []);
      await clock.advance(2500);
      assert.deepEqual(a.events.at(-1), { type: "suspected", member: "b1", address: "b:1", silentMs: 10_000 });
      assert.deepEqual([...a.membership.living], ["a1", "b1"]);
      await clock.advance(29_999);
      assert.deepEqual(removals, []);
      await clock.advance(1);
      assert.deepEqual(removals, [42_500]);
      assert.deepEqual(await store.ids(), ["a1"]);
      await clock.advance(2500);
      assert.deepEqual(a.tale.slice(2), ["suspected b1", "lost b1"]);
      assert.deepEqual(removals, [42_500]);
    });

    test("is glad about one that returns, and counts anew", async () => {
      const a = await begin("a");
      await begin("b");
      const well = store.request;
      for (let round = 0; round < 2; round++) {
        const held = Promise.withResolvers<void>();
        store.request = (call, member) => (call === "heartbeat" && member === "b1" ? held.promise : well(call, member));
        await clock.advance(35_000);
        held.resolve();
        store.request = well;
        await clock.advance(5000);
      }
      assert.deepEqual(a.tale.slice(2), ["suspected b1", "returned b1", "suspected b1", "returned b1"]);
      assert.deepEqual(await store.ids(), ["a1", "b1"]);
    });

    test("counts from a view's arrival to the asking for a later one", async () => {
      // Each request lands at once, but its answer takes two seconds.
      const a = await begin("a");
      await store.join({ id: "b1", address: "b:1" });
      store.answer = (call) => (call === "heartbeat" ? after(2000) : Promise.resolve());
      const removals = timesOf("remove");
      // Asked for at 2500, first seen at 4500. Of the later views the one asked for at 45,000 is the first that tells.
      await clock.advance(46_999);
      assert.deepEqual(removals, []);
      await clock.advance(1);
      assert.deepEqual(removals, [47_000]);
      const suspected = a.events.find(({ type }) => type === "suspected");
      assert.deepEqual(suspected, { type: "suspected", member: "b1", address: "b:1", silentMs: 10_500 });
    });

    test("leaves one alone that moved in the last moment, and looks again if it was not removed", async () => {
      const a = await begin("a");
      await store.join({ id: "b1", address: "b:1" });
      let tries = 0;
      store.request = async (call, member) => {
        if (call !== "remove") return;
        tries++;
        if (tries === 1) await unavailable();
        if (tries === 2) await MemoryStore.prototype.heartbeat.call(store, member);
      };
      await clock.advance(50_000);
      assert.equal(tries, 2);
      assert.deepEqual(await store.ids(), ["a1", "b1"]);
      assert.deepEqual(a.tale.slice(1), ["joined b1", "suspected b1", "returned b1"]);
    });

    test("asks for a removal once at a time, and goes on beating meanwhile", async () => {
      const a = await begin("a");
      await store.join({ id: "b1", address: "b:1" });
      const gate = Promise.withResolvers<void>();
      store.request = (call) => (call === "remove" ? gate.promise : Promise.resolve());
      await clock.advance(60_000);
      assert.equal(store.calls.filter((call) => call === "remove b1").length, 1);
      assert.deepEqual(a.told, []);
      gate.resolve();
      await clock.advance(2500);
      assert.deepEqual(a.tale.slice(1), ["joined b1", "suspected b1", "lost b1"]);
    });

    test("holds nothing against them of a time in which it saw nothing itself", async () => {
      const [b, c] = [await begin("b"), await begin("c")];
      await clock.advance(1000);
      const a = await begin("a");
      await clock.advance(5000);
      const removals = timesOf("remove");
      const well = store.request;
      store.request = (call, member) => (call === "remove" ? well(call, member) : unavailable());
      await clock.advance(300_000);
      // One reaches the store before the others.
      store.request = (call, member) => (member === "a1" || call === "remove" ? well(call, member) : unavailable());
      await clock.advance(5000);
      store.request = well;
      await clock.advance(60_000);
      assert.deepEqual(removals, []);
      for (const member of [a, b, c]) assert.deepEqual(member.told, ["lapsed", "regained"]);
      assert.equal(a.tale.includes("suspected b1"), false);
    });

    test("a dead member is found out even if every answer of the store takes long", async () => {
      await begin("a");
      await store.join({ id: "b1", address: "b:1" });
      store.answer = (call) => (call === "heartbeat" ? after(8000) : Promise.resolve());
      await clock.advance(120_000);
      assert.deepEqual(await store.ids(), ["a1"]);
    });

    describe("calls one that vanished", () => {
      test("lost if it may have been silent for long before it came into sight", async () => {
        await store.join({ id: "b1", address: "b:1" });
        const newcomer = await begin("a");
        await store.removeMember("b1", 0);
        await clock.advance(2500);
        assert.deepEqual(newcomer.tale.slice(1), ["lost b1"]);
      });

      test("left if it gave a sign of life not long ago", async () => {
        const b = await begin("b");
        await clock.advance(1000);
        const a = await begin("a");
        await clock.advance(2500);
        await b.membership.stop();
        await clock.advance(2500);
        assert.deepEqual(a.tale.slice(1), ["left b1"]);
      });

      test("lost after a time in which this member itself saw nothing, for want of a store or asleep", async () => {
        for (const trouble of ["outage", "sleep"]) {
          const a = await begin(`a ${trouble}`);
          await store.join({ id: trouble, address: "b:1" });
          await clock.advance(2500);
          if (trouble === "outage") {
            store.request = unavailable;
            await clock.advance(leaseMs);
            store.request = async () => undefined;
          } else a.clock.skewMs = leaseMs;
          await store.removeMember(trouble);
          await clock.advance(2500);
          assert.ok(a.tale.includes(`lost ${trouble}`), a.tale.join(", "));
          await a.membership.stop();
        }
      });
    });

    test("goes on through being gone itself", async () => {
      const a = await begin("a");
      await begin("b");
      await clock.advance(2500);
      silence("b");
      await clock.advance(20_000);
      await store.removeMember("a1");
      await clock.advance(25_000);
      assert.deepEqual(a.tale.slice(2), ["suspected b1", "gone a1", "joined a2", "lost b1"]);
    });
  });
});
