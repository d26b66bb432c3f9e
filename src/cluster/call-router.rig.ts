import type { Clock } from "../base/clock.ts";
import { EngineError } from "../base/error.ts";
import type { Random } from "../base/random.ts";
import type { MailboxRow } from "../stores/store.ts";
import { LogBook } from "../testing/log-book.rig.ts";
import { SeededRandom } from "../testing/seeded-random.ts";
import { TestClock } from "../testing/test-clock.ts";
import type { Bus, BusConnection, BusListener } from "./bus.ts";
import { CallRouter, type CallRouterOptions, type DeliveredCall } from "./call-router.ts";
import { type ClusterTimings, defaultTimings } from "./timings.ts";

type Method = "post" | "listMailboxRows" | "deleteMailboxRows" | "deleteMailboxRowsBefore";

/** Before: nothing happened. After: it happened, and only the answer was lost. */
export type StoreFault = "before" | "after" | undefined;

/** The part of a store that a router uses. */
export class Mailboxes {
  readonly #clock: Clock;
  #rows: (MailboxRow & { at: number })[] = [];
  #lastId = 0;
  readonly reads: { at: number; mailboxes: readonly string[]; limit: number; found: number }[] = [];
  readonly posted: { at: number; mailbox: string }[] = [];
  readonly deletions: (readonly number[])[] = [];
  readonly oldDeleted: { at: number; before: number }[] = [];
  readsUnderWay = 0;
  readsUnderWayMax = 0;
  faultOf: (method: Method) => StoreFault = () => undefined;
  delayMsOf: (method: Method) => number = () => 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get names(): string[] {
    return this.#rows.map((row) => row.mailbox);
  }

  /** As if a member had put it there. */
  put(mailbox: string, body: string): void {
    this.#rows.push({ id: ++this.#lastId, mailbox, body, at: this.#clock.now() });
  }

  /** As if its member had been taken out of the living. */
  drop(mailbox: string): void {
    this.#rows = this.#rows.filter((row) => row.mailbox !== mailbox);
  }

  post(mail: { mailbox: string; body: string; at: number }): Promise<void> {
    return this.#do("post", () => {
      this.posted.push({ at: this.#clock.now(), mailbox: mail.mailbox });
      this.#rows.push({ id: ++this.#lastId, ...mail });
    });
  }

  async listMailboxRows(mailboxes: readonly string[], limit: number): Promise<MailboxRow[]> {
    this.readsUnderWay++;
    this.readsUnderWayMax = Math.max(this.readsUnderWayMax, this.readsUnderWay);
    const at = this.#clock.now();
    try {
      return await this.#do("listMailboxRows", () => {
        const found = this.#rows.filter((row) => mailboxes.includes(row.mailbox)).slice(0, limit);
        this.reads.push({ at, mailboxes, limit, found: found.length });
        return found.map(({ id, mailbox, body }) => ({ id, mailbox, body }));
      });
    } finally {
      this.readsUnderWay--;
    }
  }

  deleteMailboxRows(ids: readonly number[]): Promise<void> {
    const gone = new Set(ids);
    this.deletions.push([...ids]);
    return this.#do("deleteMailboxRows", () => void (this.#rows = this.#rows.filter((row) => !gone.has(row.id))));
  }

  deleteMailboxRowsBefore(before: number): Promise<void> {
    return this.#do("deleteMailboxRowsBefore", () => {
      this.oldDeleted.push({ at: this.#clock.now(), before });
      this.#rows = this.#rows.filter((row) => row.at >= before);
    });
  }

  async #do<T>(method: Method, act: () => T): Promise<T> {
    const delayMs = this.delayMsOf(method);
    if (delayMs > 0) await new Promise<void>((resolve) => this.#clock.after(delayMs, resolve));
    const fault = this.faultOf(method);
    if (fault === "before") throw new EngineError("STORE_UNAVAILABLE", `${method} did not happen`);
    const result = act();
    if (fault === "after") throw new EngineError("STORE_UNAVAILABLE", `${method} may have happened`);
    return result;
  }
}

/** What becomes of one message: it arrives after each of these times, so never for an empty list. */
export type Fate = (message: { to: string; text: string }) => readonly number[];

/** A bus that does to messages what it is told to. */
export class LossyBus implements Bus {
  readonly kind = "lossy";
  readonly #clock: Clock;
  readonly #listeners = new Map<string, BusListener>();
  readonly #onChanged = new Map<string, () => void>();
  #isConnected = true;
  readonly sent: { at: number; to: string; text: string }[] = [];
  fateOf: Fate = () => [0];

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Whether the bus is there, for all members. */
  set isConnected(isConnected: boolean) {
    this.#isConnected = isConnected;
    for (const onChanged of this.#onChanged.values()) onChanged();
  }

  connect(address: string, listener: BusListener, onChanged: () => void = () => undefined): BusConnection {
    this.#listeners.set(address, listener);
    this.#onChanged.set(address, onChanged);
    const isConnected = (): boolean => this.#isConnected;
    return {
      get isConnected() {
        return isConnected();
      },
      send: (to, text) => {
        if (this.#isConnected) this.send(to, text);
        return this.#isConnected;
      },
      close: async () => {
        this.#onChanged.delete(address);
        if (this.#listeners.get(address) === listener) this.#listeners.delete(address);
      },
    };
  }

  send(to: string, text: string): void {
    this.sent.push({ at: this.#clock.now(), to, text });
    for (const delayMs of this.fateOf({ to, text })) {
      this.#clock.after(delayMs, () => this.#listeners.get(to)?.(text));
    }
  }

  /** Requests only, to anybody. */
  get requests(): { at: number; to: string }[] {
    return this.sent.filter(({ text }) => text.includes('"kind":"request"')).map(({ at, to }) => ({ at, to }));
  }
}

/** A call, where it was handled and by whom. */
export interface SeenCall extends DeliveredCall {
  readonly by: string;
  readonly shard: number;
}

/** One member: its router, and a handler that answers as the test says. */
export class TestMember {
  readonly router: CallRouter;
  readonly hints: { from: string; body: unknown }[] = [];
  readonly log = new LogBook();
  readonly questions: unknown[] = [];
  readonly #cluster: TestCluster;
  #id: string;
  /** What it believes, where that is not the truth. */
  readonly beliefs = new Map<number, string | undefined>();

  constructor(cluster: TestCluster, parts: { id: string; bus: Bus | undefined; random: Random }) {
    this.#cluster = cluster;
    this.#id = parts.id;
    const options: CallRouterOptions = {
      store: cluster.mailboxes,
      bus: parts.bus,
      clock: cluster.clock,
      random: parts.random,
      logger: this.log,
      timings: cluster.timings,
      ownerOf: (shard) => (this.beliefs.has(shard) ? this.beliefs.get(shard) : cluster.owners.get(shard)),
      ownedShards: () => [...cluster.owners].filter(([, owner]) => owner === this.#id).map(([shard]) => shard),
      handle: (shard, call) => this.#handle(shard, call),
      answer: async (question) => {
        this.questions.push(question);
        return `${this.#id} says ${String(question)}`;
      },
      isAbandoned: async ({ from }) => cluster.gone.has(from),
      onHint: (hint) => {
        this.hints.push(hint);
        if (hint.body === "bang") throw new Error("cannot bear hints");
      },
    };
    this.router = new CallRouter(options);
  }

  get id(): string {
    return this.#id;
  }

  start(id: string = this.#id): void {
    this.#id = id;
    this.router.start(id);
  }

  call(shard: number, body: unknown, options?: { timeoutMs?: number; key?: string }): Promise<unknown> {
    return this.router.call(shard, body, options);
  }

  async #handle(shard: number, call: DeliveredCall): Promise<unknown> {
    if (!this.#cluster.isOwner(this, shard)) throw new EngineError("SHARD_MOVED", `${shard} is not ${this.#id}'s`);
    const handled = { by: this.#id, shard, ...call };
    this.#cluster.handled.push(handled);
    return await this.#cluster.answer(handled, this);
  }
}

/** Members around one store, with time and faults in the hands of the test. */
export class TestCluster {
  readonly clock = new TestClock();
  readonly mailboxes = new Mailboxes(this.clock);
  readonly lossyBus = new LossyBus(this.clock);
  readonly owners = new Map<number, string>();
  /** Members whose requests are abandoned. */
  readonly gone = new Set<string>();
  readonly handled: SeenCall[] = [];
  readonly timings: ClusterTimings;
  readonly #bus: Bus | undefined;
  readonly #random: Random;
  readonly #members: TestMember[] = [];
  /** By default the body comes back. */
  answer: (call: SeenCall, by: TestMember) => unknown = ({ body }) => body;

  constructor(options: { bus?: "none"; random?: Random; timings?: Partial<ClusterTimings> } = {}) {
    this.#bus = options.bus === "none" ? undefined : this.lossyBus;
    this.#random = options.random ?? new SeededRandom(1);
    this.timings = { ...defaultTimings, ...options.timings };
  }

  /** A member that has started, and owns these shards. */
  member(id: string, ...shards: readonly number[]): TestMember {
    const member = new TestMember(this, { id, bus: this.#bus, random: this.#random });
    this.#members.push(member);
    for (const shard of shards) this.owners.set(shard, id);
    member.start();
    return member;
  }

  isOwner(member: TestMember, shard: number): boolean {
    return this.owners.get(shard) === member.id;
  }

  stop(): void {
    for (const { router } of this.#members) void router.stop(new EngineError("ENGINE_STATE", "the test is over"));
  }
}

/** What becomes of a promise, without waiting for it. */
export function watch(promise: Promise<unknown>): { state: "waiting" | "resolved" | "rejected"; value: unknown } {
  const watched: { state: "waiting" | "resolved" | "rejected"; value: unknown } = {
    state: "waiting",
    value: undefined,
  };
  promise.then(
    (value) => Object.assign(watched, { state: "resolved", value }),
    (value: unknown) => Object.assign(watched, { state: "rejected", value }),
  );
  return watched;
}
