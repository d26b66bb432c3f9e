import type { Clock, Timer } from "../base/clock.ts";
import type { Logger } from "../base/logger.ts";
import { poolsAmong } from "../cluster/member-about.ts";
import type { ClusterTimings } from "../cluster/timings.ts";
import type { Dispatcher } from "../dispatch/dispatcher.ts";
import type { WorkerSelector } from "../dispatch/worker-selector.ts";
import type { Hint } from "../runtime/call.ts";
import type { AttemptHosting } from "../runtime/delegated-attempts.ts";
import type { HostedAttempts } from "../runtime/hosted-attempts.ts";
import type { Region } from "../runtime/region.ts";
import type { ClusterView } from "../stores/store.ts";
import type { KnownMembers } from "./known-members.ts";
import { Placements } from "./placements.ts";
import { Reservations } from "./reservations.ts";
import {
  type AskSlots,
  type SlotAnswerOf,
  type SlotQuestionOf,
  type SlotQuestionType,
  slotTimings,
} from "./slot-question.ts";
import { SlotRequests } from "./slot-requests.ts";

/** Time for which a host is asked to take an attempt; shorter than the host remembers its answer. */
const grantMs = 240_000;

const sweepMs = 500;

export interface SlotSharingParts {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly timings: ClusterTimings;
  readonly dispatcher: Dispatcher;
  readonly hosted: HostedAttempts;
  readonly members: KnownMembers;
  readonly member: () => string;
  readonly view: () => ClusterView;
  readonly region: () => Region;
  readonly isLeaseValid: () => boolean;
  readonly isBusConnected: () => boolean;
  readonly ask: (member: string, question: unknown, options: { timeoutMs: number }) => Promise<unknown>;
  readonly hint: (member: string, hint: Hint) => void;
}

type Answers = { readonly [T in SlotQuestionType]: (question: SlotQuestionOf<T>) => SlotAnswerOf<T> };

/**
 * Lets attempts run on slots of any member. This member asks others for slots (`SlotRequests`), starts its attempts on
 * slots that they offer (`Placements`), and offers its own (`Reservations`). See decision 0035.
 */
export class SlotSharing {
  readonly #parts: SlotSharingParts;
  readonly #requests: SlotRequests;
  readonly #placements: Placements;
  readonly #reservations: Reservations;
  readonly #answers: Answers;
  #timer: Timer | undefined;

  constructor(parts: SlotSharingParts) {
    this.#parts = parts;
    const timings = () => slotTimings(parts.isBusConnected());
    const ask: AskSlots = async (member, question, timeoutMs) =>
      // A member of the same cluster has answered the question.
      (await parts.ask(member, question, { timeoutMs })) as SlotAnswerOf<typeof question.type>;
    const { hosted, members } = parts;
    this.#reservations = new Reservations({ ...parts, hosted, ask, timings, isLiving: (id) => members.isLiving(id) });
    const placements = (this.#placements = new Placements({ ...parts, ask, grantMs }));
    this.#requests = new SlotRequests({
      ...parts,
      ask,
      timings,
      pools: () => this.#pools(),
      held: () => placements.held,
    });
    this.#answers = {
      RequestSlots: (question) => this.#reservations.request(question),
      OfferSlot: (question) => this.#placements.offer(question),
      GrantAttempt: (question) => this.#reservations.grant(question),
      FindAttempts: (question) => this.#reservations.findMissing(question),
    };
  }

  /** The reservations that wait in the queue of this member for attempts of others. */
  get queuedReservations(): number {
    return this.#reservations.queuedCount;
  }

  /** Attempts wait here. */
  onBacklog(): void {
    this.#requests.onBacklog();
  }

  hasElsewhere(selector: WorkerSelector): boolean {
    return this.#requests.hasElsewhere(selector);
  }

  /** Answers another member. Undefined if the question is not about slots. */
  answer(body: unknown): { readonly value: unknown } | undefined {
    return this.#isQuestion(body) ? { value: this.#answerTo(body) } : undefined;
  }

  #answerTo<T extends SlotQuestionType>(question: SlotQuestionOf<T>): SlotAnswerOf<T> {
    return this.#answers[question.type](question);
  }

  #isQuestion(body: unknown): body is SlotQuestionOf<SlotQuestionType> {
    const type = typeof body === "object" && body !== null && "type" in body ? body.type : undefined;
    return typeof type === "string" && Object.hasOwn(this.#answers, type);
  }

  readonly findMissing: AttemptHosting["findMissing"] = async (host, fence, attemptIds) => {
    const { ask, member, timings } = this.#parts;
    const question = { type: "FindAttempts", fence, attemptIds } as const;
    if (host === member()) return this.#reservations.findMissing(question);
    return (await ask(host, question, { timeoutMs: timings.workerLostMs })) as SlotAnswerOf<"FindAttempts">;
  };

  free(ticket: string): void {
    this.#reservations.free(ticket);
  }

  start(): void {
    this.#timer = this.#parts.clock.after(sweepMs, () => {
      this.#reservations.sweep();
      this.start();
    });
  }

  /** This member was removed: others own its shards, and the slots that it offered are void. */
  clear(): void {
    this.#reservations.clear();
  }

  stop(): void {
    this.#timer?.cancel();
    this.#requests.stop();
    this.#reservations.clear();
  }

  #pools(): ReturnType<typeof poolsAmong> {
    const { members, member, view } = this.#parts;
    return poolsAmong(view().members).filter(({ member: id }) => id !== member() && !members.isSuspected(id));
  }
}
