import { chooseHosts, type HostPool } from "../attempts/host-choice.ts";
import type { Clock, Timer } from "../base/clock.ts";
import { messageOf } from "../base/error.ts";
import type { Logger } from "../base/logger.ts";
import { RecentMap } from "../cluster/recent-map.ts";
import { classKey } from "../dispatch/attempt-class.ts";
import type { Dispatcher } from "../dispatch/dispatcher.ts";
import type { ClassDemand } from "../dispatch/slot-exchange.ts";
import { selectorKey, type WorkerSelector } from "../dispatch/worker-selector.ts";
import type { AskSlots, SlotsAnswer, SlotTimings } from "./slot-question.ts";

/** Time in which the own pool may start an attempt before others are asked: short tasks do not leave their member. */
const patienceMs = 50;

/** Time after which members without a free slot are asked too. */
const urgentMs = 500;

/** Requests are sent more often than their interval if more attempts wait than before, but not more often than this. */
const pauseMs = 200;

/** Time for which a member that lacks a job is not asked for it again. */
const lackingMs = 2000;

/** Time for which the answer of a member is preferred to the pool that it publishes with its heartbeat. */
const answerMs = 2500;

/** Time for which a class that some member can run counts as eligible elsewhere. */
const eligibleMs = 10_000;

export interface SlotRequestsParts {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly dispatcher: Pick<Dispatcher, "exchange" | "isShutDown" | "status">;
  readonly member: () => string;
  /** The pools that the other living members publish. */
  readonly pools: () => readonly HostPool[];
  /** The tickets under which starts are being recorded, by host. */
  readonly held: () => ReadonlyMap<string, readonly string[]>;
  readonly ask: AskSlots;
  readonly timings: () => SlotTimings;
}

/** Asks other members for slots, as long as attempts wait here that they may run. */
export class SlotRequests {
  readonly #parts: SlotRequestsParts;
  #timer: Timer | undefined;
  /** Monotonic time of the last requests, and how many attempts waited then. */
  #sentAt = -Infinity;
  #sentFor = 0;
  #turn = 0;
  #isStopped = false;
  /** Members whose answer is awaited. */
  readonly #asking = new Set<string>();
  readonly #lacking: RecentMap<true>;
  readonly #answers: RecentMap<SlotsAnswer>;
  readonly #eligible: RecentMap<true>;

  constructor(parts: SlotRequestsParts) {
    this.#parts = parts;
    const { clock } = parts;
    this.#lacking = new RecentMap({ clock, ageMsMax: lackingMs });
    this.#answers = new RecentMap({ clock, ageMsMax: answerMs });
    this.#eligible = new RecentMap({ clock, ageMsMax: eligibleMs });
  }

  /** True if another member has said that it can run such attempts. */
  hasElsewhere(selector: WorkerSelector): boolean {
    return this.#eligible.get(selectorKey(selector)) === true;
  }

  /** Attempts wait here that cannot start at once. */
  onBacklog(): void {
    if (this.#isStopped) return;
    const { clock, dispatcher } = this.#parts;
    if (this.#timer === undefined) return this.#arm(this.#patienceMs);
    if (dispatcher.status.waitingCount <= this.#sentFor || clock.monotonic() < this.#sentAt + pauseMs) return;
    this.#timer.cancel();
    this.#sentFor = dispatcher.status.waitingCount;
    this.#arm(this.#patienceMs);
  }

  stop(): void {
    this.#isStopped = true;
    this.#timer?.cancel();
  }

  /** A member without slots starts nothing itself. */
  get #patienceMs(): number {
    return this.#parts.dispatcher.exchange.slots.slots === 0 ? 0 : patienceMs;
  }

  #arm(ms: number): void {
    this.#timer = this.#parts.clock.after(ms, () => {
      this.#timer = undefined;
      this.#send();
    });
  }

  #send(): void {
    const { clock, dispatcher, held, timings } = this.#parts;
    if (this.#isStopped || dispatcher.isShutDown) return;
    const demand = dispatcher.exchange.demand(this.#patienceMs);
    const tickets = held();
    this.#sentAt = clock.monotonic();
    this.#sentFor = dispatcher.status.waitingCount;
    this.#turn++;
    const hosts = new Set([...this.#choose(demand), ...tickets.keys()]);
    for (const host of hosts) void this.#ask(host, demand, tickets.get(host) ?? []);
    if (dispatcher.status.waitingCount > 0 || tickets.size > 0) this.#arm(timings().requestMs);
  }

  #choose(demand: readonly ClassDemand[]): string[] {
    if (demand.length === 0) return [];
    const pools = this.#parts.pools().map((pool) => ({ ...pool, ...this.#answers.get(pool.member) }));
    const able = pools.filter(({ member }) => demand.some((want) => !this.#lacks(member, want)));
    return chooseHosts(able, {
      demand: demand.reduce((sum, { count }) => sum + count, 0),
      isUrgent: demand.some(({ waitedMs }) => waitedMs >= urgentMs),
      turn: this.#turn,
    });
  }

  async #ask(host: string, demand: readonly ClassDemand[], held: readonly string[]): Promise<void> {
    if (this.#asking.has(host)) return;
    const { ask, member, timings, logger } = this.#parts;
    const wants = demand.filter((want) => !this.#lacks(host, want));
    this.#asking.add(host);
    try {
      const question = { type: "RequestSlots", owner: member(), wants, held } as const;
      this.#note(host, wants, await ask(host, question, timings().forgetMs));
    } catch (error) {
      logger.debug({ host, error: messageOf(error) }, "a member did not answer a request for slots");
    }
    this.#asking.delete(host);
  }

  #note(host: string, wants: readonly ClassDemand[], answer: SlotsAnswer): void {
    const lacking = new Set(answer.lacking);
    this.#answers.set(host, answer);
    for (const [index, want] of wants.entries()) {
      if (lacking.has(index)) this.#lacking.set(lackingKey(host, want), true);
      else this.#eligible.set(selectorKey(want.class), true);
    }
  }

  #lacks(host: string, want: ClassDemand): boolean {
    return this.#lacking.get(lackingKey(host, want)) === true;
  }
}

function lackingKey(host: string, want: ClassDemand): string {
  return `${host} ${classKey(want.class)}`;
}
