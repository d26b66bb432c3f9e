import { unreachable } from "../base/assert.ts";
import type { Clock } from "../base/clock.ts";
import { EngineError, type ErrorCode } from "../base/error.ts";
import { parseStored } from "../base/stored-json.ts";
import type { SlotGrant, SlotReport } from "../cluster/slot-report.ts";
import type { Machine } from "../kernel/machine.ts";
import type { Input } from "./input.ts";
import type { DomainRow, RequestRow, Store } from "../stores/store.ts";
import type { Call, StartCall } from "./call.ts";
import type { Definitions } from "./definitions.ts";
import type { InstanceActor } from "./instance-actor.ts";
import type { Shard } from "./shard.ts";

/** How long an owner holds a question for an instance's end before it says "not yet". */
const awaitHoldMs = 10_000;

export interface CallHandlerParts {
  readonly store: Store;
  readonly clock: Clock;
  readonly definitions: Definitions;
  /** What a user's order says to an instance. `EngineError` if it makes no sense there. */
  inputOf(order: unknown, machine: Machine): Input;
  answer(question: unknown, actor: InstanceActor): unknown;
  /** Absent where one member owns every shard. */
  readonly cluster?: SharedAllocators;
}

/** The allocators of domains that all members share; each is placed on the shard of its name. */
export interface SharedAllocators {
  reportSlots(shard: Shard, report: SlotReport): Promise<SlotGrant>;
  resizeDomain(shard: Shard, domain: DomainRow): Promise<void>;
}

export interface EndAnswer {
  readonly hasEnded: boolean;
  readonly answer?: unknown;
}

/** Carries out calls at the owner of their shard: each once, however often it comes. */
export class CallHandler {
  readonly #parts: CallHandlerParts;

  constructor(parts: CallHandlerParts) {
    this.#parts = parts;
  }

  /** A repetition that comes while the call is being carried out, by whatever way, waits for the same end. */
  handleOnce(shard: Shard, call: Call, received: { key: string; isFirst: boolean }): Promise<unknown> {
    const { key } = received;
    let done = shard.callsUnderWay.get(key);
    if (done === undefined) {
      done = this.handle(shard, call, received).finally(() => shard.callsUnderWay.delete(key));
      shard.callsUnderWay.set(key, done);
    }
    return done;
  }

  async handle(
    shard: Shard,
    call: Call,
    { key, isFirst }: { key: string | undefined; isFirst: boolean },
  ): Promise<unknown> {
    switch (call.type) {
      case "Start":
        return await this.#startHere(shard, call, { key, isFirst });
      case "Tell":
        return await this.#once(shard, { key, isFirst }, () => this.#tellHere(shard, call, key));
      case "Ask":
        return await shard.ask(call.id, (_, actor) => this.#parts.answer(call.question, actor), {
          ofCode: isForCode(call.question),
        });
      case "AwaitEnd":
        return isFirst ? await this.#awaitEnd(shard, call) : await this.#awaitHere(shard, call);
      case "AwaitAnswer":
        return await this.#holdFor(shard.awaitAnswer(call.id, call.update));
      case "Purge":
        return await shard.purge(call.instances);
      case "Report":
        return await shard.reported(call);
      case "Renew":
        return await shard.held(call);
      case "ReportSlots":
        return await this.#parts.cluster?.reportSlots(shard, call.report);
      case "ResizeDomain":
        return await this.#once(shard, { key, isFirst }, () => this.#resizeHere(shard, call.domain, key));
      default:
        return unreachable(call, "a call to a shard");
    }
  }

  async #startHere(
    shard: Shard,
    call: StartCall,
    { key, isFirst }: { key: string | undefined; isFirst: boolean },
  ): Promise<void> {
    const { id, isGivenId, reuse, workflow, version, input, event } = call;
    const start = async (requestKey?: string): Promise<void> => {
      const definition = await this.#parts.definitions.load(workflow, version);
      const request = { id, isGivenId, reuse, definition, definitions: [], input, ...(event && { event }) };
      await shard.start(requestKey === undefined ? request : { ...request, requestKey });
    };
    if (isGivenId) return await this.#once(shard, { key, isFirst }, () => start(key));
    if (key === undefined || isFirst) return await start();
    // A made-up id is as good as a key, until the instance is purged.
    await this.#once(shard, { key, isFirst }, async () => {
      if (!(await shard.hasInstance(id))) return await start(key);
      await shard.commit({ requests: [this.#requestRow(shard, key, null)] });
    });
  }

  #tellHere(shard: Shard, call: Extract<Call, { type: "Tell" }>, key: string | undefined): Promise<void> {
    if (call.fromQuarantine && shard.isQuarantined(call.id)) return shard.releaseFromQuarantine(call.id);
    return shard.tell(call.id, (machine) => this.#parts.inputOf(call.order, machine), key);
  }

  async #resizeHere(shard: Shard, domain: DomainRow, key: string | undefined): Promise<void> {
    const requests = key === undefined ? [] : [this.#requestRow(shard, key, null)];
    await shard.commit({ domains: [domain], requests });
    await this.#parts.cluster?.resizeDomain(shard, domain);
  }

  /**
   * A call may come again long after it was dealt with, through another mailbox or another owner. The work itself
   * writes down that it was done; that it was refused is written down here, or a copy could be carried out after all.
   * Of a call that never left this member there are no copies: it is carried out in order with those before and after it.
   */
  #once(
    shard: Shard,
    { key, isFirst }: { key: string | undefined; isFirst: boolean },
    work: () => Promise<void>,
  ): Promise<void> {
    return key === undefined || isFirst ? work() : this.#unlessDone(shard, key, work);
  }

  async #unlessDone(shard: Shard, key: string, work: () => Promise<void>): Promise<void> {
    const before = await this.#parts.store.findRequest(shard.number, key);
    if (before?.refusal === null) return;
    if (before !== undefined) throw rebuiltRefusal(before.refusal);
    try {
      await work();
    } catch (error) {
      if (error instanceof EngineError && !error.retryable) {
        const { code, message } = error;
        await shard.commit({ requests: [this.#requestRow(shard, key, JSON.stringify({ code, message }))] });
      }
      throw error;
    }
  }

  #requestRow(shard: Shard, key: string, refusal: string | null): RequestRow {
    return { shard: shard.number, key, at: this.#parts.clock.now(), refusal };
  }

  /** For a caller of this member, who is there for as long as it takes. */
  async #awaitEnd(shard: Shard, { id, question }: Extract<Call, { type: "AwaitEnd" }>): Promise<EndAnswer> {
    return await shard.awaitEnd(id, this.#endAnswer(question));
  }

  #endAnswer(question: unknown): (actor: InstanceActor) => EndAnswer {
    return (actor) => ({ hasEnded: true, answer: this.#parts.answer(question, actor) });
  }

  async #awaitHere(shard: Shard, { id, question }: Extract<Call, { type: "AwaitEnd" }>): Promise<EndAnswer> {
    const end = shard.sharedEnd(id, question, this.#endAnswer(question)) as Promise<EndAnswer>;
    return (await this.#holdFor(end)) ?? { hasEnded: false };
  }

  /** Undefined if it takes longer: whoever waits asks again. */
  async #holdFor<T>(awaited: Promise<T>): Promise<T | undefined> {
    const { promise: notYet, resolve } = Promise.withResolvers<undefined>();
    const timer = this.#parts.clock.after(awaitHoldMs, () => resolve(undefined));
    awaited.catch(() => undefined);
    try {
      return await Promise.race([awaited, notYet]);
    } finally {
      timer.cancel();
    }
  }
}

function rebuiltRefusal(refusal: string): EngineError {
  const { code, message } = parseStored(refusal, "the answer to a request") as { code: ErrorCode; message: string };
  return new EngineError(code, message);
}

/** A query is answered by the instance's code, every other question from its state. */
function isForCode(question: unknown): boolean {
  return typeof question === "object" && question !== null && "query" in question;
}
