import { type Reservation, type ReservationEvent, reservationStep } from "../attempts/reservation.ts";
import type { Clock } from "../base/clock.ts";
import { messageOf } from "../base/error.ts";
import type { Logger } from "../base/logger.ts";
import { type AttemptClass, classKey } from "../dispatch/attempt-class.ts";
import type { Dispatcher } from "../dispatch/dispatcher.ts";
import type { GrantFence } from "../dispatch/grant-fence.ts";
import type { ClassDemand } from "../dispatch/slot-exchange.ts";
import type { TaskRun } from "../dispatch/task-run.ts";
import type { HostedAttempts } from "../runtime/hosted-attempts.ts";
import { hostedRun } from "../runtime/hosted-run.ts";
import { reservationRun } from "./reservation-run.ts";
import type { AskSlots, SlotAnswerOf, SlotQuestionOf, SlotTimings } from "./slot-question.ts";

/** Time for which a grant that was accepted is remembered after the end of its run: copies of it get the same answer. */
const rememberMs = 600_000;

export interface ReservationsParts {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly dispatcher: Pick<Dispatcher, "abort" | "enqueue" | "exchange" | "isDraining" | "isShutDown" | "status">;
  readonly hosted: Pick<HostedAttempts, "add" | "hasUndelivered" | "report">;
  readonly member: () => string;
  readonly isLeaseValid: () => boolean;
  readonly isLiving: (member: string) => boolean;
  readonly ask: AskSlots;
  readonly timings: () => SlotTimings;
}

/** The attempts of one class that wait at their owner, as it has said. */
interface Level {
  readonly owner: string;
  want: ClassDemand;
  /** The number of attempts that wait for a slot; less one for each slot that the owner has bound since. */
  left: number;
  /** Monotonic time of the request. */
  saidAt: number;
  /** Tickets that wait in the queue, or whose offer is not answered. */
  readonly open: Set<Ticket>;
}

interface Ticket {
  readonly id: string;
  readonly level: Level;
  reservation: Reservation;
  readonly confirmed: PromiseWithResolvers<void>;
  /** Monotonic time of the offer: the lease of the attempt counts from here. */
  offeredAt: number;
  attemptId: string;
  overAt: number;
}

/**
 * The host's side of slots that other members use: reservations in the queue of this member's dispatcher, and the tickets
 * under which their slots are offered and granted. `attempts/reservation.ts` decides; this class carries out.
 */
export class Reservations {
  readonly #parts: ReservationsParts;
  readonly #levels = new Map<string, Level>();
  readonly #tickets = new Map<string, Ticket>();
  /** The newest owners that have asked for their attempts, by shard: grants of earlier ones are refused. */
  readonly #fences = new Map<number, GrantFence>();
  #count = 0;

  constructor(parts: ReservationsParts) {
    this.#parts = parts;
  }

  /** The reservations that wait in the queue of the dispatcher. */
  get queuedCount(): number {
    let count = 0;
    for (const { reservation } of this.#tickets.values()) if (reservation.state === "queued") count++;
    return count;
  }

  request({ owner, wants, held }: SlotQuestionOf<"RequestSlots">): SlotAnswerOf<"RequestSlots"> {
    const { clock, dispatcher, timings } = this.#parts;
    const now = clock.monotonic();
    for (const id of held) this.#tell(id, { type: "Named", now, ticketMs: timings().ticketMs });
    const takesPart = this.#takesPart;
    const lacking: number[] = [];
    const named = new Set<string>();
    for (const [index, want] of wants.entries()) {
      if (!takesPart || !dispatcher.exchange.mayRun(want.class)) lacking.push(index);
      else named.add(this.#setLevel(owner, want, now));
    }
    for (const [key, level] of this.#levels) if (level.owner === owner && !named.has(key)) this.#lower(level, 0);
    return { ...dispatcher.exchange.slots, lacking };
  }

  get #takesPart(): boolean {
    const { dispatcher, isLeaseValid } = this.#parts;
    return !dispatcher.isDraining && !dispatcher.isShutDown && isLeaseValid();
  }

  #setLevel(owner: string, want: ClassDemand, now: number): string {
    const key = `${owner} ${classKey(want.class)}`;
    const level = this.#levels.get(key) ?? { owner, want, left: 0, saidAt: now, open: new Set<Ticket>() };
    this.#levels.set(key, level);
    level.want = want;
    level.saidAt = now;
    this.#lower(level, want.count);
    this.#fill(level);
    return key;
  }

  /** Sets how many slots the owner wants, and withdraws reservations that are too many. */
  #lower(level: Level, count: number): void {
    level.left = count;
    for (const ticket of [...level.open].toReversed()) {
      if (level.open.size <= count) return;
      this.#step(ticket, { type: "Withdrawn" });
    }
  }

  /** Queues reservations; no more than there are slots, because each is followed by the next. */
  #fill(level: Level): void {
    const { dispatcher, clock } = this.#parts;
    if (!this.#takesPart) return;
    const openMax = Math.min(level.left, dispatcher.exchange.slots.slots);
    const waitedMs = level.want.waitedMs + (clock.monotonic() - level.saidAt);
    while (level.open.size < openMax) {
      const ticket = this.#newTicket(level);
      level.open.add(ticket);
      dispatcher.enqueue(this.#runOf(ticket), waitedMs);
    }
  }

  #newTicket(level: Level): Ticket {
    const id = `ticket:${this.#parts.member()}:${++this.#count}`;
    const confirmed = Promise.withResolvers<void>();
    const ticket: Ticket = {
      id,
      level,
      reservation: { state: "queued" },
      confirmed,
      offeredAt: 0,
      attemptId: "",
      overAt: 0,
    };
    this.#tickets.set(id, ticket);
    return ticket;
  }

  #runOf(ticket: Ticket): TaskRun {
    const { clock, timings } = this.#parts;
    return reservationRun(ticket.id, ticket.level.want, {
      confirmStart: () => ticket.confirmed.promise,
      onReserved: (worker) => {
        const now = clock.monotonic();
        ticket.offeredAt = now;
        this.#step(ticket, { type: "Reserved", now, ticketMs: timings().ticketMs });
        void this.#offer(ticket, worker);
      },
      onLapsed: () => this.#step(ticket, { type: "Lapsed" }),
    });
  }

  async #offer(ticket: Ticket, worker: string): Promise<void> {
    const { ask, clock, member, timings, logger } = this.#parts;
    const { id, level } = ticket;
    const { ticketMs } = timings();
    try {
      const wanted: AttemptClass = level.want.class;
      const question = { type: "OfferSlot", host: member(), ticket: id, class: wanted, worker } as const;
      const answer = await ask(level.owner, question, ticketMs);
      level.open.delete(ticket);
      if (answer === "bound") {
        level.left = Math.max(0, level.left - 1);
        this.#step(ticket, { type: "Named", now: clock.monotonic(), ticketMs });
      } else {
        // No attempt of the class waits there any more; the next request says otherwise.
        this.#lower(level, 0);
        this.#step(ticket, { type: "Freed" });
      }
    } catch (error) {
      level.open.delete(ticket);
      logger.debug({ ticket: id, error: messageOf(error) }, "an offer of a slot was not answered");
    }
    this.#fill(level);
  }

  free(id: string): void {
    this.#tell(id, { type: "Freed" });
  }

  grant(question: SlotQuestionOf<"GrantAttempt">): SlotAnswerOf<"GrantAttempt"> {
    const { clock, dispatcher, hosted } = this.#parts;
    const { ticket: id, descriptor, params, inputs, completionToken, fence } = question;
    const ticket = this.#tickets.get(id);
    if (ticket === undefined) return "refused";
    const { attemptId, startedAt } = descriptor;
    const isStale = this.#isFenced(fence) || !dispatcher.exchange.mayFill(id, attemptId);
    const actions = this.#step(ticket, { type: "Granted", now: clock.monotonic(), isStale });
    if (actions.includes("run")) {
      ticket.attemptId = attemptId;
      const run = hostedRun(descriptor, (...report) => hosted.report(...report));
      // If its worker does not take it, the owner decides where it runs.
      const asked = { params, inputs: () => inputs, completionToken, fence };
      const granted: TaskRun = { ...run, ...asked, isHandedOver: true };
      dispatcher.exchange.fill(id, granted, startedAt);
      hosted.add(fence.shard, [attemptId], ticket.offeredAt);
      ticket.confirmed.resolve();
    }
    return actions.includes("accept") ? "accepted" : "refused";
  }

  /** Says which attempts are not here, and never will be by a grant of an earlier owner. */
  findMissing({ fence, attemptIds }: SlotQuestionOf<"FindAttempts">): SlotAnswerOf<"FindAttempts"> {
    const { dispatcher, hosted } = this.#parts;
    if (!this.#isFenced(fence)) this.#fences.set(fence.shard, fence);
    return attemptIds.filter((id) => !dispatcher.status.isRunning(id) && !hosted.hasUndelivered(id));
  }

  #isFenced({ incarnation, shard, epoch }: GrantFence): boolean {
    const newest = this.#fences.get(shard);
    if (newest === undefined) return false;
    return incarnation !== newest.incarnation ? incarnation < newest.incarnation : epoch < newest.epoch;
  }

  /** Expires tickets, forgets requests that were not repeated, and what ended long ago. Called twice a second. */
  sweep(): void {
    const { clock, dispatcher, isLiving, timings } = this.#parts;
    const now = clock.monotonic();
    for (const ticket of this.#tickets.values()) {
      const { reservation, attemptId } = ticket;
      if (reservation.state === "reserved") this.#step(ticket, { type: "Expired", now });
      else if (reservation.state === "running" && !dispatcher.status.isRunning(attemptId))
        this.#step(ticket, { type: "Ended" });
      else if (reservation.state === "over" && now - ticket.overAt > rememberMs) this.#tickets.delete(ticket.id);
    }
    const { forgetMs } = timings();
    for (const [key, level] of this.#levels) {
      if (now - level.saidAt > forgetMs || !isLiving(level.owner)) this.#lower(level, 0);
      if (level.left === 0 && level.open.size === 0) this.#levels.delete(key);
      else this.#fill(level);
    }
  }

  /** Forgets everything, because this member was removed and its dispatcher has stopped what ran. */
  clear(): void {
    for (const level of this.#levels.values()) level.left = 0;
    for (const ticket of this.#tickets.values()) {
      this.#step(ticket, { type: "Withdrawn" });
      this.#step(ticket, { type: "Freed" });
    }
    this.#levels.clear();
    this.#tickets.clear();
  }

  #tell(id: string, event: ReservationEvent): void {
    const ticket = this.#tickets.get(id);
    if (ticket !== undefined) this.#step(ticket, event);
  }

  #step(ticket: Ticket, event: ReservationEvent): readonly string[] {
    const { next, actions } = reservationStep(ticket.reservation, event);
    ticket.reservation = next;
    if (next.state === "over") {
      ticket.level.open.delete(ticket);
      ticket.overAt = this.#parts.clock.monotonic();
      // An unknown ticket refuses its grant as well.
      if (!next.hasRun) this.#tickets.delete(ticket.id);
    }
    if (actions.includes("free")) this.#parts.dispatcher.abort([ticket.id]);
    return actions;
  }
}
