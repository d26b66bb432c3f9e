/**
 * Calls between members whose bus loses, doubles, delays and reorders, whose store fails before and after it did what it
 * was asked for, while shards move and members come back under other ids: every call ends with the one answer that is
 * its own, and was carried out once.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { EngineError, hasCode } from "../base/error.ts";
import { SeededRandom } from "../testing/seeded-random.ts";
import { type SeenCall, TestCluster, type TestMember, watch } from "./call-router.rig.ts";

const shards = [0, 1, 2];

type Step =
  | { do: "call"; member: number; shard: number; kind: "value" | "refusal" | "long"; timeoutMs: number }
  | { do: "move"; shard: number; to: number }
  | { do: "look" | "rejoin"; member: number }
  | { do: "advance"; ms: number };

interface Weather {
  /** `loss` of 1 is a bus that is away. */
  readonly bus: "none" | { loss: number; doubled: number; delayMsMax: number };
  readonly store: { faults: number; delayMsMax: number };
  readonly handlerMsMax: number;
}

const which = fc.nat(3);
const shard = fc.constantFrom(...shards);

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constant("call" as const),
      member: which,
      shard,
      kind: fc.constantFrom("value", "value", "refusal", "long"),
      timeoutMs: fc.constantFrom(Infinity, Infinity, 5000, 60_000),
    }),
  },
  { weight: 3, arbitrary: fc.record({ do: fc.constant("move" as const), shard, to: fc.integer({ min: -1, max: 3 }) }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant("look" as const), member: which }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("rejoin" as const), member: which }) },
  {
    weight: 4,
    arbitrary: fc.record({ do: fc.constant("advance" as const), ms: fc.constantFrom(1, 60, 400, 1500, 9000) }),
  },
);

const lossyBus = fc.record({
  loss: fc.constantFrom(0, 0.1, 0.5, 0.9, 1),
  doubled: fc.constantFrom(0, 0.5),
  delayMsMax: fc.constantFrom(0, 30, 3000),
});

function weather(bus: fc.Arbitrary<Weather["bus"]>): fc.Arbitrary<Weather> {
  return fc.record({
    bus,
    store: fc.record({ faults: fc.constantFrom(0, 0.1, 0.4), delayMsMax: fc.constantFrom(0, 300) }),
    handlerMsMax: fc.constantFrom(0, 20, 4000),
  });
}

class World {
  readonly cluster: TestCluster;
  readonly #weather: Weather;
  readonly #random: SeededRandom;
  readonly #members: TestMember[];
  readonly #calls: { n: number; kind: string; timeoutMs: number; end: ReturnType<typeof watch> }[] = [];
  readonly #promises: Promise<unknown>[] = [];
  /** As a database remembers them, by key: what was carried out, and for which call. */
  readonly #carriedOut = new Map<string, number>();
  readonly #times = new Map<number, number>();
  #isCalm = false;
  #ids = 0;

  constructor(weather: Weather, seed: number, memberCount: number) {
    this.#weather = weather;
    this.#random = new SeededRandom(seed);
    const random = new SeededRandom(seed + 1);
    this.cluster = new TestCluster(weather.bus === "none" ? { bus: "none", random } : { random });
    this.cluster.answer = (call, by) => this.#carryOut(call, by);
    this.cluster.mailboxes.faultOf = () => this.#storeFault();
    this.cluster.mailboxes.delayMsOf = () => this.#upTo(this.#isCalm ? 0 : weather.store.delayMsMax);
    this.cluster.lossyBus.fateOf = () => this.#fate();
    this.#members = Array.from({ length: memberCount }, () => this.cluster.member(this.#newId()));
    for (const shard of shards) this.#move(shard, shard);
    for (const member of this.#members) this.#look(member);
  }

  async play(steps: readonly Step[]): Promise<void> {
    for (const step of steps) await this.#step(step);
    for (const shard of shards) if (!this.cluster.owners.has(shard)) this.#move(shard, shard);
    for (const member of this.#members) this.#look(member);
    await this.cluster.clock.until(Promise.allSettled(this.#promises));
  }

  /** Every call has ended as it should. */
  check(): void {
    for (const { n, kind, timeoutMs, end } of this.#calls) {
      const times = this.#times.get(n) ?? 0;
      if (timeoutMs !== Infinity && end.state === "rejected" && hasCode(end.value, "CALL_UNANSWERED")) {
        assert.ok(times <= 1, `call ${n} was carried out ${times} times`);
        continue;
      }
      assert.equal(times, 1, `call ${n} was carried out ${times} times, and ended with ${String(end.value)}`);
      if (kind === "refusal") assert.ok(hasCode(end.value, "QUEUE_FULL") && end.value.message === `no room for ${n}`);
      else assert.deepEqual(end, { state: "resolved", value: answerTo(n, kind) });
    }
  }

  /** Nothing goes on and nothing is left when all is over. */
  async checkRest(): Promise<void> {
    const { clock, mailboxes, lossyBus } = this.cluster;
    this.#isCalm = true;
    await clock.advance(30_000);
    const gone = (mailbox: string): boolean =>
      mailbox.startsWith("member:") && !this.#members.some(({ id }) => mailbox === `member:${id}`);
    assert.deepEqual(
      mailboxes.names.filter((mailbox) => !gone(mailbox)),
      [],
      "mail is left over",
    );
    const sentBefore = lossyBus.sent.length;
    await clock.advance(120_000);
    assert.equal(lossyBus.sent.length, sentBefore, "somebody still sends");
    for (const { log } of this.#members) assert.deepEqual([...log.messages("warn"), ...log.messages("error")], []);
    this.cluster.stop();
    await clock.advance(5000);
    assert.equal(clock.timerCount, 0, "a timer is left behind");
  }

  async #step(step: Step): Promise<void> {
    switch (step.do) {
      case "call":
        return this.#call(step);
      case "move":
        return this.#move(step.shard, step.to);
      case "look":
        return this.#look(this.#member(step.member));
      case "rejoin":
        return this.#rejoin(this.#member(step.member));
      case "advance":
        return await this.cluster.clock.advance(step.ms);
    }
  }

  #call(step: Step & { do: "call" }): void {
    const { kind, shard, timeoutMs } = step;
    const n = this.#calls.length;
    const promise = this.#member(step.member).call(shard, { n, kind }, { timeoutMs });
    this.#promises.push(promise);
    this.#calls.push({ n, kind, timeoutMs, end: watch(promise) });
  }

  #move(shard: number, to: number): void {
    if (to < 0) this.cluster.owners.delete(shard);
    else this.cluster.owners.set(shard, this.#member(to).id);
  }

  /** It sees who owns what, and believes it until it looks again. */
  #look(member: TestMember): void {
    for (const shard of shards) member.beliefs.set(shard, this.cluster.owners.get(shard));
  }

  /** Taken for dead: its shards go, its mailbox goes, and it comes back as another. */
  #rejoin(member: TestMember): void {
    for (const shard of shards) if (this.cluster.isOwner(member, shard)) this.cluster.owners.delete(shard);
    this.cluster.mailboxes.drop(`member:${member.id}`);
    member.start(this.#newId());
  }

  async #carryOut(call: SeenCall, by: TestMember): Promise<unknown> {
    const { clock } = this.cluster;
    const delayMs = this.#upTo(this.#weather.handlerMsMax);
    if (delayMs > 0) await new Promise<void>((resolve) => clock.after(delayMs, resolve));
    if (!this.cluster.isOwner(by, call.shard)) throw new EngineError("SHARD_MOVED", "fenced");
    const { n, kind } = call.body as { n: number; kind: string };
    assert.equal(this.#carriedOut.get(call.key) ?? n, n, "two calls have one key");
    if (!this.#carriedOut.has(call.key)) this.#times.set(n, (this.#times.get(n) ?? 0) + 1);
    this.#carriedOut.set(call.key, n);
    if (kind === "refusal") throw new EngineError("QUEUE_FULL", `no room for ${n}`);
    return answerTo(n, kind);
  }

  #fate(): number[] {
    const { bus } = this.#weather;
    if (bus === "none" || this.#random.next() < bus.loss) return [];
    const times = this.#random.next() < bus.doubled ? 2 : 1;
    return Array.from({ length: times }, () => this.#upTo(bus.delayMsMax));
  }

  #storeFault(): "before" | "after" | undefined {
    if (this.#isCalm || this.#random.next() >= this.#weather.store.faults) return undefined;
    return this.#random.next() < 0.5 ? "before" : "after";
  }

  #upTo(max: number): number {
    return Math.floor(this.#random.next() * (max + 1));
  }

  #member(number: number): TestMember {
    const member = this.#members[number % this.#members.length];
    assert.ok(member !== undefined);
    return member;
  }

  #newId(): string {
    return `m${++this.#ids}`;
  }
}

/** Some answers are too long for the bus. */
function answerTo(n: number, kind: string): unknown {
  return kind === "long" ? { n, padding: "x".repeat(300_000) } : { n };
}

for (const [name, bus] of [
  ["a bad bus", lossyBus],
  ["no bus", fc.constant("none" as const)],
] as const) {
  test(`with ${name}, every call has one answer and is carried out once`, async () => {
    const scenario = fc.record({
      weather: weather(bus),
      seed: fc.nat(),
      memberCount: fc.integer({ min: 1, max: 4 }),
      steps: fc.array(step, { minLength: 1, maxLength: 40 }),
    });
    const property = fc.asyncProperty(scenario, async ({ weather, seed, memberCount, steps }) => {
      const world = new World(weather, seed, memberCount);
      await world.play(steps);
      world.check();
      await world.checkRest();
    });
    await fc.assert(property, { numRuns: 60 });
  });
}
