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
  carriedError,
  type Envelope,
  formatEnvelope,
  type Hint,
  parseEnvelope,
  rebuiltError,
} from "./envelope.ts";
import { MailboxPoller, type MailboxStore } from "./mailbox-poller.ts";
import { type News, OutgoingCall, type Route } from "./outgoing-call.ts";
import { RecentMap } from "./recent-map.ts";
import type { ClusterTimings } from "./timings.ts";

/** A request over the bus that is not answered for this long is repeated; from then on the pauses grow. */
const pauseMsFirst = 1000;
const pauseMsMax = 15_000;

/** For this long after the bus was silent, calls to that member take the way through the store. */
const silenceMs = 5000;

/** The answers that are given again from memory: how old, how many, and how many characters in all. */
const rememberedMs = 120_000;
const rememberedMax = 10_000;
const rememberedLengthMax = 16 * 1024 * 1024;

/** Longer ago than any request that still waits for its answer. */
const heardMs = 60_000;

export interface CallRouterOptions {
  readonly store: MailboxStore;
  /** Without one, everything goes through the store. */
  readonly bus: Bus | undefined;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly timings: ClusterTimings;
  /** The id of the member that was last seen to own the shard. */
  readonly ownerOf: (shard: number) => string | undefined;
  /** This member's. */
  readonly ownedShards: () => Iterable<number>;
  /**
   * Carries out a call to a shard of this member, and settles sooner or later. `SHARD_MOVED` if this member is not the
   * owner: then it was not carried out, and never will be by this call of it. A call may come several times, also after
   * it was answered: the same key is to be carried out once.
   */
  readonly handle: (shard: number, call: HandledCall) => Promise<unknown>;
  /** Nobody waits for the answer to a request any more, and it is not to be carried out. Never rejects. */
  readonly isAbandoned: (request: { from: string; body: unknown }) => Promise<boolean>;
  readonly onHint: (hint: { from: string; body: unknown }) => void;
}

/** A call as it reaches the owner. */
export interface HandledCall {
  /** The same for every repetition of the call. */
  readonly key: string;
  /** Nobody can have carried it out before: it comes from this member and was never tried. */
  readonly isFirst: boolean;
  readonly body: unknown;
}

export interface CallOptions {
  /** `Infinity`: for ever. */
  readonly timeoutMs?: number;
  /** What the owner knows the call by; a new one unless given. */
  readonly key?: string;
}

/**
 * Brings calls to the owner of a shard, whoever that is, and answers back. What stays true:
 *
 * C1. A call is repeated, under one key, until it is answered or given up; so it is carried out at least once, or nobody
 *     knows. That it is carried out once only is the handler's part, who knows the keys.
 * C2. The caller hears one answer, whatever else arrives.
 * C3. Mail to a shard stays in its box until its answer is on its way, so a shard's next owner finds what the last one
 *     left undone. A request that is abandoned is dropped when it is read.
 * C4. `SHARD_MOVED` never reaches the caller: it only means that somebody else is to be asked.
 */
export class CallRouter {
  readonly #options: CallRouterOptions;
  readonly #clock: Clock;
  readonly #calls = new Map<string, OutgoingCall>();
  /** Calls of others that are being handled, by id, and the answers given of late. Only a shortcut: see C1. */
  readonly #handling = new Map<string, Promise<Handled>>();
  readonly #answers: RecentMap<string>;
  /** When a member was last heard over the bus, and those that were not although they were asked. */
  readonly #heardAt: RecentMap<number>;
  readonly #silent: RecentMap<true>;
  #boxes: MailboxPoller | undefined;
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

  /** From now on this is the member's id. Calls under way are repeated, so that their answers find it. */
  start(member: string): void {
    this.#connection?.close();
    this.#member = member;
    this.#connection = this.#options.bus?.connect(member, (text) => this.#hear(text));
    this.#boxes ??= this.#openBoxes();
    for (const call of this.#calls.values()) call.tell("rejoined");
  }

  /** Calls under way, and those made before the next start, are rejected with the reason. */
  stop(reason: EngineError): void {
    this.#whyStopped = reason;
    this.#member = undefined;
    this.#connection?.close();
    this.#connection = undefined;
    this.#boxes?.stop();
    this.#boxes = undefined;
    for (const call of this.#calls.values()) call.reject(reason);
  }

  /**
   * Gives what the owner's handler gives. The handler of this very member gets the body as it is, others as JSON.
   * `CALL_UNANSWERED` after `timeoutMs`, by default `timings.callMs`: then the outcome is unknown. `ENGINE_STATE` before
   * the start, and whatever `stop` was given.
   */
  call(shard: number, body: unknown, options: CallOptions = {}): Promise<unknown> {
    if (this.#member === undefined) return Promise.reject(this.#whyStopped);
    const { key, timeoutMs = this.#options.timings.callMs } = options;
    const id = this.#options.random.uuid(this.#clock.now());
    const onSettled = (): void => void this.#calls.delete(id);
    const call = new OutgoingCall({
      clock: this.#clock,
      id,
      key: key ?? id,
      shard,
      body,
      timeoutMs,
      onSettled,
    });
    this.#calls.set(id, call);
    this.#carry(call).catch((error: unknown) => call.reject(error));
    return call.promise;
  }

  /** Lossy, over the bus only. */
  hint(member: string, body: unknown): void {
    this.hintAll([member], body);
  }

  hintAll(members: Iterable<string>, body: unknown): void {
    if (this.#member === undefined || this.#connection === undefined) return;
    const text = formatEnvelope({ kind: "hint", from: this.#member, body });
    if (text.length <= busTextLengthMax) for (const member of members) this.#send(member, text);
    else this.#options.logger.debug({ length: text.length }, "a hint is too long for the bus and was dropped");
  }

  /** One round after the other, until somebody has answered. */
  async #carry(call: OutgoingCall): Promise<void> {
    while (!call.isSettled && this.#member !== undefined) {
      const from = this.#member;
      const owner = this.#options.ownerOf(call.shard);
      const news = owner === from ? await this.#carryOutHere(call) : await this.#ask(call, { from, owner });
      if (news === "moved") await call.pause(this.#jittered(call.nextMovedPauseMs()));
    }
  }

  async #carryOutHere(call: OutgoingCall): Promise<News> {
    const { shard, key, body } = call;
    const isFirst = call.isUntried;
    call.isUntried = false;
    try {
      call.resolve(await this.#options.handle(shard, { key, isFirst, body }));
    } catch (error) {
      if (hasCode(error, "SHARD_MOVED")) return "moved";
      call.reject(error);
    }
    return "settled";
  }

  /** Sends the request once and waits for a while. A shard without an owner counts as moved: it will have one soon. */
  async #ask(call: OutgoingCall, parties: { from: string; owner: string | undefined }): Promise<News> {
    const { from, owner } = parties;
    if (owner === undefined && call.ageMs < pauseMsFirst) return "moved";
    const { id, key, shard, body } = call;
    const text = formatEnvelope({ kind: "request", id, key, from, shard, body });
    const way = owner === undefined ? "mail" : this.#wayOf(call, { owner, text });
    const pauseMs = this.#pauseMs(call.tries, way);
    const sentAt = this.#clock.monotonic();
    call.isUntried = false;
    call.asked(way);
    if (owner !== undefined && way === "bus") this.#send(owner, text);
    else await this.#post({ box: mailboxOfShard(shard), body: text });
    // If it has another id by now, the answer to this one is not found.
    const news = from === this.#member ? await call.answer(pauseMs) : "rejoined";
    if (news === "time" && owner !== undefined && way === "bus") this.#unanswered(owner, sentAt);
    if (news === "moved" || news === "rejoined") call.askAnew();
    return news;
  }

  /** First the bus, unless it was silent of late, and then one after the other. */
  #wayOf(call: OutgoingCall, request: { owner: string; text: string }): Route {
    if (this.#connection === undefined || request.text.length > busTextLengthMax) return "mail";
    if (call.lastRoute === undefined) return this.#silent.get(request.owner) === true ? "mail" : "bus";
    return call.lastRoute === "bus" ? "mail" : "bus";
  }

  /** Mail takes longer, so it begins with the second pause. */
  #pauseMs(tries: number, way: Route): number {
    if (tries === 0 && way === "bus") return pauseMsFirst;
    return this.#jittered(Math.min(pauseMsFirst * 2 ** Math.max(1, tries), pauseMsMax));
  }

  /** A member that says other things meanwhile is only slow. */
  #unanswered(member: string, sentAt: number): void {
    if ((this.#heardAt.get(member) ?? -Infinity) < sentAt) this.#silent.set(member, true);
  }

  /** The bus may lose it; a bus that says so has lost it too. */
  #send(to: string, text: string): void {
    try {
      this.#connection?.send(to, text);
    } catch (error) {
      this.#options.logger.debug({ to, error: messageOf(error) }, "the bus did not take a message");
    }
  }

  /** False if the store did not say that it has it. */
  async #post(mail: { box: string; body: string }): Promise<boolean> {
    try {
      await this.#options.store.post({ ...mail, at: this.#clock.now() });
      return true;
    } catch (error) {
      this.#options.logger.debug({ box: mail.box, error: messageOf(error) }, "the store did not take a message");
      return false;
    }
  }

  #hear(text: string): void {
    const envelope = this.#read(text, "bus");
    if (envelope === undefined) return;
    this.#heardAt.set(envelope.from, this.#clock.monotonic());
    this.#silent.delete(envelope.from);
    void this.#receive(envelope, "bus");
  }

  /** Undefined, and a line in the log, for a text that no member has written. */
  #read(text: string, cameBy: Route): Envelope | undefined {
    try {
      return parseEnvelope(text);
    } catch (error) {
      this.#options.logger.warn({ cameBy, error: messageOf(error) }, "a message was not understood and is dropped");
      return undefined;
    }
  }

  /** True when all is done that it asks for; never rejects. */
  async #receive(envelope: Envelope, cameBy: Route): Promise<boolean> {
    if (envelope.kind === "request") return await this.#answerTo(envelope, cameBy);
    if (envelope.kind === "answer") this.#answered(envelope);
    else this.#hinted(envelope);
    return true;
  }

  #hinted(hint: Hint): void {
    const { from, body } = hint;
    try {
      this.#options.onHint({ from, body });
    } catch (error) {
      this.#options.logger.error({ from, error: messageOf(error) }, "a hint could not be taken in");
    }
  }

  #answered(answer: CallAnswer): void {
    const call = this.#calls.get(answer.id);
    if (call === undefined) return;
    const { outcome } = answer;
    if ("value" in outcome) call.resolve(outcome.value);
    else if (outcome.error.code === "SHARD_MOVED") call.tell("moved");
    else call.reject(rebuiltError(outcome.error));
  }

  /** False if somebody else is to answer, or the answer is not on its way: mail is then left where it is. */
  async #answerTo(request: CallRequest, cameBy: Route): Promise<boolean> {
    const { id, from } = request;
    const { text, isMoved } = await this.#handledOf(request);
    if (this.#member === undefined || (cameBy === "mail" && isMoved)) return false;
    if (this.#calls.has(id)) {
      // The shard has come to the member that asks, under this id or an earlier one.
      void this.#receive(parseEnvelope(text), cameBy);
      return true;
    }
    if (cameBy === "bus" && this.#connection !== undefined && text.length <= busTextLengthMax) {
      this.#send(from, text);
      return true;
    }
    return from === this.#member || (await this.#post({ box: mailboxOf(from), body: text }));
  }

  /** A repetition joins the call that is being handled, and hears the same answer for a while after that. */
  async #handledOf(request: CallRequest): Promise<Handled> {
    const { id } = request;
    const text = this.#answers.get(id);
    if (text !== undefined) return { text, isMoved: false };
    const joined = this.#handling.get(id);
    if (joined !== undefined) return await joined;
    const handling = this.#handle(request);
    this.#handling.set(id, handling);
    const handled = await handling;
    this.#handling.delete(id);
    if (!handled.isMoved) this.#answers.set(id, handled.text);
    return handled;
  }

  /** Never rejects. */
  async #handle(request: CallRequest): Promise<Handled> {
    const { id, shard, key, body } = request;
    const from = this.#member ?? "";
    const answer = (outcome: CallOutcome): string => formatEnvelope({ kind: "answer", id, from, outcome });
    try {
      return {
        text: answer({ value: await this.#options.handle(shard, { key, isFirst: false, body }) }),
        isMoved: false,
      };
    } catch (error) {
      return { text: answer({ error: carriedError(error) }), isMoved: hasCode(error, "SHARD_MOVED") };
    }
  }

  #openBoxes(): MailboxPoller {
    const { store, logger, timings, bus } = this.#options;
    const intervalMs = bus === undefined ? timings.pollWithoutBusMs : timings.pollMs;
    const boxes = new MailboxPoller({
      store,
      clock: this.#clock,
      logger,
      pauseMs: () => this.#jittered(intervalMs),
      names: () => this.#boxNames(),
      open: (row) => this.#openMail(row.body),
    });
    boxes.start();
    return boxes;
  }

  /** True when it may be deleted. */
  async #openMail(text: string): Promise<boolean> {
    const envelope = this.#read(text, "mail");
    if (envelope === undefined) return true;
    if (envelope.kind === "request" && (await this.#options.isAbandoned(envelope))) {
      const { from, shard } = envelope;
      this.#options.logger.warn({ from, shard }, "a request was dropped because the member that sent it is gone");
      return true;
    }
    return await this.#receive(envelope, "mail");
  }

  #boxNames(): string[] {
    const own = this.#member === undefined ? [] : [mailboxOf(this.#member)];
    return [...own, ...Array.from(this.#options.ownedShards(), mailboxOfShard)];
  }

  /** A fifth more or less, so that members do not fall into step. */
  #jittered(ms: number): number {
    return ms * (0.8 + 0.4 * this.#options.random.next());
  }
}

/** An answer to a call of another member. */
interface Handled {
  readonly text: string;
  readonly isMoved: boolean;
}

function mailboxOfShard(shard: number): string {
  return `shard:${shard}`;
}
