import type { Clock } from "../base/clock.ts";
import { EngineError, hasCode, messageOf } from "../base/error.ts";
import type { Logger } from "../base/logger.ts";
import type { Random } from "../base/random.ts";
import { mailboxOf } from "../stores/mailbox.ts";
import { type Bus, type BusConnection, busTextLengthMax } from "./bus.ts";
import {
  type CallAnswer,
  type CallOutcome,
  type CallRequest,
  carryError,
  type Envelope,
  formatEnvelope,
  type HintMessage,
  parseEnvelope,
  rebuildError,
} from "./envelope.ts";
import { MailboxPoller, type MailboxStore } from "./mailbox-poller.ts";
import { type News, OutgoingCall, type CallRoute, type CallTarget } from "./outgoing-call.ts";
import { RecentMap } from "./recent-map.ts";
import type { ClusterTimings } from "./timings.ts";

/** A request over the bus that is not answered for this long is repeated, with exponential backoff. */
const pauseMsFirst = 1000;
const pauseMsMax = 15_000;

/** Tries of a call after which its answer by mail is no longer looked for more often. */
const urgentTriesMax = 2;

/** Time for which calls to a member that did not answer over the bus go through the store. */
const silenceMs = 5000;

/** Limits of the answers that are kept for repetitions: age, number, and characters in all. */
const rememberedMs = 120_000;
const rememberedMax = 10_000;
const rememberedLengthMax = 16 * 1024 * 1024;

/** Longer than any request waits for its answer. */
const heardMs = 60_000;

export interface CallRouterOptions {
  readonly store: MailboxStore;
  /** Undefined without a bus: then everything goes through the store. */
  readonly bus: Bus | undefined;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly timings: ClusterTimings;
  /** The member that owns the shard, as far as this one knows. */
  readonly ownerOf: (shard: number) => string | undefined;
  /** The shards of this member, whose mailboxes it reads. */
  readonly ownedShards: () => Iterable<number>;
  /**
   * Carries out a call to a shard of this member, and always settles. `SHARD_MOVED` if this member is not the owner: then
   * this delivery was not carried out, and never will be. A call may be delivered several times, also after it was
   * answered: the handler carries out each key once.
   */
  readonly handle: (shard: number, call: DeliveredCall) => Promise<unknown>;
  /** Answers a question to this member itself, which may come several times. */
  readonly answer: (body: unknown) => Promise<unknown>;
  /** True if nobody waits for the answer any more, so that the request must not be carried out. Never rejects. */
  readonly isAbandoned: (request: { from: string; body: unknown }) => Promise<boolean>;
  readonly onHint: (hint: { from: string; body: unknown }) => void;
}

/** One delivery of a call to the owner of its shard. */
export interface Delivery {
  /** The same for every repetition of the call; undefined for one that is never repeated. */
  readonly key: string | undefined;
  /** True if the call comes from this member and was never delivered before, so that there are no copies of it. */
  readonly isFirst: boolean;
}

export interface DeliveredCall extends Delivery {
  readonly key: string;
  readonly body: unknown;
}

export interface CallOptions {
  /** `Infinity` for no timeout. */
  readonly timeoutMs?: number;
  /** Time for which the member may keep the request before it answers: so much later it is repeated. */
  readonly holdMs?: number;
  /** The idempotency key of a call that was tried before; a new one by default. */
  readonly key?: string;
}

/**
 * Sends calls to the owner of a shard, or to one member, over the bus or through mailboxes in the store, and returns the
 * answers. Invariants:
 *
 * C1. A call is repeated under one key until it is answered or given up: at least once, or the outcome is unknown. The
 *     handler, which records keys, makes it exactly once.
 * C2. The caller gets one answer, whatever else arrives.
 * C3. A request stays in the shard's mailbox until its answer was sent, so the next owner finds requests that the last one
 *     did not answer. An abandoned request is dropped when it is read.
 * C4. `SHARD_MOVED` never reaches the caller: the router asks the next owner.
 */
export class CallRouter {
  readonly #options: CallRouterOptions;
  readonly #clock: Clock;
  readonly #calls = new Map<string, OutgoingCall>();
  /** Calls of other members that are being handled, by id, and recent answers. They only save work: see C1. */
  readonly #handling = new Map<string, Promise<Handled>>();
  readonly #answers: RecentMap<string>;
  /** Monotonic time of the last message of each member over the bus, and members that did not answer over it. */
  readonly #heardAt: RecentMap<number>;
  readonly #silent: RecentMap<true>;
  #mailboxPoller: MailboxPoller | undefined;
  /** Monotonic time until which mailboxes are polled as without a bus. */
  #mailExpectedUntil = -Infinity;
  #connection: BusConnection | undefined;
  #member: string | undefined;
  #whyStopped = new EngineError("ENGINE_STATE", "this member has not joined the cluster yet");

  constructor(options: CallRouterOptions) {
    const { clock } = options;
    this.#options = options;
    this.#clock = clock;
    this.#answers = new RecentMap({
      clock,
      ageMsMax: rememberedMs,
      countMax: rememberedMax,
      weightMax: rememberedLengthMax,
      weightOf: (text) => text.length,
    });
    this.#heardAt = new RecentMap({ clock, ageMsMax: heardMs });
    this.#silent = new RecentMap({ clock, ageMsMax: silenceMs });
  }

  /** Connects under the member's new id. Calls under way are repeated, so that answers are sent to that id. */
  start(member: string): void {
    void this.#connection?.close();
    this.#member = member;
    this.#connection = this.#options.bus?.connect(
      member,
      (text) => this.#onBusMessage(text),
      () => this.#onBusChanged(),
    );
    this.#mailboxPoller ??= this.#startPolling();
    for (const call of this.#calls.values()) call.tell("rejoined");
  }

  /** Rejects calls under way, and those made before the next start, with the reason. */
  async stop(reason: EngineError): Promise<void> {
    const connection = this.#connection;
    this.#whyStopped = reason;
    this.#member = undefined;
    this.#connection = undefined;
    this.#mailboxPoller?.stop();
    this.#mailboxPoller = undefined;
    for (const call of this.#calls.values()) call.reject(reason);
    await connection?.close();
  }

  /** False without a bus, and while it is away: then members find each other's messages by polling. */
  get isBusConnected(): boolean {
    return this.#connection?.isConnected === true;
  }

  /** Reads the mailboxes now, such as those of a shard that this member has just opened. */
  pollMailboxes(): void {
    this.#mailboxPoller?.pollNow();
  }

  /**
   * Returns the result of the owner's handler. The handler of this member gets the body as it is, others as JSON.
   * `CALL_UNANSWERED` after `timeoutMs`, by default `timings.callMs`: then the outcome is unknown. `ENGINE_STATE` before
   * the start, and the reason of `stop` after it.
   */
  call(shard: number, body: unknown, options: CallOptions = {}): Promise<unknown> {
    return this.#begin({ shard }, body, options);
  }

  /** Asks another member; it may answer several times over. `CALL_UNANSWERED`, also if the member is gone; `ENGINE_STATE`. */
  ask(member: string, body: unknown, options: Pick<CallOptions, "timeoutMs" | "holdMs">): Promise<unknown> {
    return this.#begin({ member }, body, options);
  }

  #begin(target: CallTarget, body: unknown, options: CallOptions): Promise<unknown> {
    if (this.#member === undefined) return Promise.reject(this.#whyStopped);
    const { key, timeoutMs = this.#options.timings.callMs, holdMs = 0 } = options;
    const id = this.#options.random.uuid(this.#clock.now());
    const onSettled = (): void => void this.#calls.delete(id);
    const call = new OutgoingCall({
      clock: this.#clock,
      id,
      key: key ?? id,
      target,
      body,
      timeoutMs,
      holdMs,
      onSettled,
    });
    this.#calls.set(id, call);
    this.#deliver(call).catch((error: unknown) => call.reject(error));
    return call.promise;
  }

  /** Sends a hint over the bus; it may get lost. */
  hint(member: string, body: unknown): void {
    this.hintAll([member], body);
  }

  hintAll(members: Iterable<string>, body: unknown): void {
    if (this.#member === undefined || this.#connection === undefined) return;
    const text = formatEnvelope({ kind: "hint", from: this.#member, body });
    if (text.length <= busTextLengthMax) for (const member of members) this.#send(member, text);
    else this.#options.logger.debug({ length: text.length }, "a hint is too long for the bus and was dropped");
  }

  /** Tries again and again until the call is settled. */
  async #deliver(call: OutgoingCall): Promise<void> {
    while (!call.isSettled && this.#member !== undefined) {
      const from = this.#member;
      const owner = this.#readerOf(call.target);
      const news = owner === from ? await this.#handleLocally(call) : await this.#ask(call, { from, owner });
      if (news === "moved") await call.pause(this.#jittered(call.nextMovedPauseMs()));
    }
  }

  #readerOf(target: CallTarget): string | undefined {
    return "shard" in target ? this.#options.ownerOf(target.shard) : target.member;
  }

  async #carryOut(target: CallTarget, call: DeliveredCall): Promise<unknown> {
    const { handle, answer } = this.#options;
    return "shard" in target ? await handle(target.shard, call) : await answer(call.body);
  }

  async #handleLocally(call: OutgoingCall): Promise<News> {
    const { target, key, isFirst, body } = call;
    call.isFirst = false;
    try {
      call.resolve(await this.#carryOut(target, { key, isFirst, body }));
    } catch (error) {
      if (hasCode(error, "SHARD_MOVED")) return "moved";
      call.reject(error);
    }
    return "settled";
  }

  /** Sends the request once and waits for its answer. A shard without an owner counts as moved: it will have one soon. */
  async #ask(call: OutgoingCall, parties: { from: string; owner: string | undefined }): Promise<News> {
    const { from, owner } = parties;
    if (owner === undefined && call.ageMs < pauseMsFirst) return "moved";
    const { id, key, target, body } = call;
    const text = formatEnvelope({ kind: "request", id, key, from, ...target, body });
    const route = owner === undefined ? "mail" : this.#routeOf(call, { owner, text });
    const pauseMs = this.#pauseMs(call.tries, route) + call.holdMs;
    const sentAt = this.#clock.monotonic();
    call.isFirst = false;
    call.noteTry(route);
    if (route === "mail" || owner === undefined || !this.#send(owner, text)) {
      call.lastRoute = "mail";
      this.#expectMail(call, pauseMs);
      await this.#post({ mailbox: mailboxOfTarget(target), body: text, reader: owner });
    }
    // An answer to an earlier id of this member would not find it.
    const news = from === this.#member ? await call.waitForNews(pauseMs) : "rejoined";
    if (news === "time" && owner !== undefined && call.lastRoute === "bus") this.#onUnanswered(owner, sentAt);
    if (news === "moved" || news === "rejoined") call.forgetTries();
    return news;
  }

  /** The bus first, unless it was silent recently; repetitions alternate between bus and mailbox. */
  #routeOf(call: OutgoingCall, request: { owner: string; text: string }): CallRoute {
    if (!this.isBusConnected || request.text.length > busTextLengthMax) return "mail";
    if (call.lastRoute === undefined) return this.#silent.get(request.owner) === true ? "mail" : "bus";
    return call.lastRoute === "bus" ? "mail" : "bus";
  }

  /** Mailboxes are polled, so their first pause is the second one of the bus. */
  #pauseMs(tries: number, route: CallRoute): number {
    if (tries === 0 && route === "bus") return pauseMsFirst;
    return this.#jittered(Math.min(pauseMsFirst * 2 ** Math.max(1, tries), pauseMsMax));
  }

  /** Called for an unanswered request. A member that has sent a message since the request is only slow. */
  #onUnanswered(member: string, sentAt: number): void {
    if ((this.#heardAt.get(member) ?? -Infinity) < sentAt) this.#silent.set(member, true);
  }

  /** False if the bus does not take the message. One that it takes may still be lost. */
  #send(to: string, text: string): boolean {
    try {
      return this.#connection?.send(to, text) ?? false;
    } catch (error) {
      this.#options.logger.debug(
        { to, error: messageOf(error) },
        "the bus refused a message; it goes through the store if somebody waits for it",
      );
      return false;
    }
  }

  /** Posts a message, and tells the reader over the bus. False if the store did not confirm the write. */
  async #post(mail: { mailbox: string; body: string; reader: string | undefined }): Promise<boolean> {
    const { mailbox, body, reader } = mail;
    try {
      await this.#options.store.post({ mailbox, body, at: this.#clock.now() });
    } catch (error) {
      this.#options.logger.debug(
        { mailbox, error: messageOf(error) },
        "a message could not be posted to a mailbox; it is repeated if it was a request",
      );
      return false;
    }
    if (reader !== undefined && this.#member !== undefined && this.isBusConnected) {
      this.#send(reader, formatEnvelope({ kind: "mail", from: this.#member }));
    }
    return true;
  }

  /** The bus went away, so mailboxes are read more often; or it is back, and may have lost what was sent meanwhile. */
  #onBusChanged(): void {
    if (this.isBusConnected) this.#mailboxPoller?.pollNow();
    else this.#mailboxPoller?.shortenPause();
  }

  #onBusMessage(text: string): void {
    const envelope = this.#read(text, "bus");
    if (envelope === undefined) return;
    this.#heardAt.set(envelope.from, this.#clock.monotonic());
    this.#silent.delete(envelope.from);
    void this.#receive(envelope, "bus");
  }

  /** Logs and returns undefined for a text that no member has written. */
  #read(text: string, cameBy: CallRoute): Envelope | undefined {
    try {
      return parseEnvelope(text);
    } catch (error) {
      this.#options.logger.warn(
        { cameBy, error: messageOf(error) },
        "a message that is not of this cluster's protocol was dropped",
      );
      return undefined;
    }
  }

  /** True when the message is dealt with. Never rejects. */
  async #receive(envelope: Envelope, cameBy: CallRoute): Promise<boolean> {
    if (envelope.kind === "request") return await this.#answerTo(envelope, cameBy);
    if (envelope.kind === "answer") this.#onAnswer(envelope);
    else if (envelope.kind === "hint") this.#onHint(envelope);
    else this.pollMailboxes();
    return true;
  }

  #onHint(hint: HintMessage): void {
    const { from, body } = hint;
    try {
      this.#options.onHint({ from, body });
    } catch (error) {
      this.#options.logger.error(
        { from, error: messageOf(error) },
        "a hint could not be handled; the member finds out by polling",
      );
    }
  }

  #onAnswer(answer: CallAnswer): void {
    const call = this.#calls.get(answer.id);
    if (call === undefined) return;
    const { outcome } = answer;
    if ("value" in outcome) call.resolve(outcome.value);
    else if (outcome.error.code === "SHARD_MOVED") call.tell("moved");
    else call.reject(rebuildError(outcome.error));
  }

  /** False if another member has to answer, or the answer could not be sent: the request then stays in its mailbox. */
  async #answerTo(request: CallRequest, cameBy: CallRoute): Promise<boolean> {
    const { id, from } = request;
    const { text, isMoved } = await this.#handleOnce(request);
    if (this.#member === undefined || (cameBy === "mail" && isMoved)) return false;
    if (this.#calls.has(id)) {
      // The shard has moved to the caller, which knows this call under its present or an earlier id.
      void this.#receive(parseEnvelope(text), cameBy);
      return true;
    }
    if (cameBy === "bus" && text.length <= busTextLengthMax && this.#send(from, text)) return true;
    return from === this.#member || (await this.#post({ mailbox: mailboxOf(from), body: text, reader: from }));
  }

  /** A repetition joins the call that is being handled, and gets the same answer for a while after that. */
  async #handleOnce(request: CallRequest): Promise<Handled> {
    const { id } = request;
    const text = this.#answers.get(id);
    if (text !== undefined) return { text, isMoved: false };
    const joined = this.#handling.get(id);
    if (joined !== undefined) return await joined;
    const handling = this.#handle(request);
    this.#handling.set(id, handling);
    const handled = await handling;
    this.#handling.delete(id);
    // Questions to a member are cheap to answer again, and their answers may be long.
    if (!handled.isMoved && "shard" in request) this.#answers.set(id, handled.text);
    return handled;
  }

  /** Never rejects. */
  async #handle(request: CallRequest): Promise<Handled> {
    const { id, key, body } = request;
    const from = this.#member ?? "";
    const answer = (outcome: CallOutcome): string => formatEnvelope({ kind: "answer", id, from, outcome });
    try {
      return {
        text: answer({ value: await this.#carryOut(request, { key, isFirst: false, body }) }),
        isMoved: false,
      };
    } catch (error) {
      return { text: answer({ error: carryError(error) }), isMoved: hasCode(error, "SHARD_MOVED") };
    }
  }

  #startPolling(): MailboxPoller {
    const { store, logger } = this.#options;
    const poller = new MailboxPoller({
      store,
      clock: this.#clock,
      logger,
      pauseMs: () => this.#jittered(this.#pollMs),
      names: () => this.#boxNames(),
      open: (row) => this.#openMail(row.body),
    });
    poller.start();
    return poller;
  }

  /**
   * The answer to a call that goes through the store comes through the store, from a member that the bus may not reach. The
   * first answers are looked for as without a bus; a call that is repeated often waits for something that takes long.
   */
  #expectMail(call: OutgoingCall, pauseMs: number): void {
    if (!this.isBusConnected || call.tries > urgentTriesMax) return;
    this.#mailExpectedUntil = this.#clock.monotonic() + pauseMs;
    this.#mailboxPoller?.shortenPause();
  }

  get #pollMs(): number {
    const { pollMs, pollWithoutBusMs } = this.#options.timings;
    const isUrgent = !this.isBusConnected || this.#clock.monotonic() < this.#mailExpectedUntil;
    return isUrgent ? Math.min(pollMs, pollWithoutBusMs) : pollMs;
  }

  /** True when the row may be deleted. */
  async #openMail(text: string): Promise<boolean> {
    const envelope = this.#read(text, "mail");
    if (envelope === undefined) return true;
    if (envelope.kind === "request" && (await this.#options.isAbandoned(envelope))) {
      const { from } = envelope;
      this.#options.logger.warn(
        { from, ...("shard" in envelope && { shard: envelope.shard }) },
        "a request was dropped because the member that sent it is gone",
      );
      return true;
    }
    return await this.#receive(envelope, "mail");
  }

  #boxNames(): string[] {
    const own = this.#member === undefined ? [] : [mailboxOf(this.#member)];
    return [...own, ...Array.from(this.#options.ownedShards(), mailboxOfShard)];
  }

  /** Adds jitter of a fifth, so that members do not synchronise. */
  #jittered(ms: number): number {
    return ms * (0.8 + 0.4 * this.#options.random.next());
  }
}

/** The answer to a call of another member, as it is sent. */
interface Handled {
  readonly text: string;
  readonly isMoved: boolean;
}

function mailboxOfTarget(target: CallTarget): string {
  return "shard" in target ? mailboxOfShard(target.shard) : mailboxOf(target.member);
}

function mailboxOfShard(shard: number): string {
  return `shard:${shard}`;
}
