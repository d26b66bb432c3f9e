import type { Clock } from "../base/clock.ts";
import { messageOf } from "../base/error.ts";
import type { Logger } from "../base/logger.ts";
import type { DeliveredCall } from "../cluster/call-router.ts";
import type { CallOf, ResultOf } from "../runtime/call.ts";

type Renewal = CallOf<"RenewAttempts">;
type Unwanted = ResultOf<"RenewAttempts">;

/** A question to the owner of several shards: a renewal for each, instead of as many calls. */
export interface RenewalQuestion {
  readonly type: "RenewAttemptsByShard";
  /** The key of each renewal, as that of a call. */
  readonly key: string;
  readonly renewals: readonly { readonly shard: number; readonly renewal: Renewal }[];
}

/** One for each renewal; null if the host has to make a call of its own for it. */
type RenewalAnswer = readonly (Unwanted | null)[];

/** Time for which an answer waits for the slowest of its shards. */
const slowMs = 1000;

export interface ShardRenewalsParts {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly member: () => string;
  readonly ownerOf: (shard: number) => string | undefined;
  readonly newKey: () => string;
  /** Makes the renewal a call of its own. */
  readonly call: (shard: number, renewal: Renewal, timeoutMs: number) => Promise<Unwanted>;
  readonly ask: (member: string, question: unknown, options: { timeoutMs: number }) => Promise<unknown>;
  /** Carries out a call to a shard of this member. */
  readonly handle: (shard: number, call: DeliveredCall) => Promise<unknown>;
}

interface Waiting {
  readonly shard: number;
  readonly renewal: Renewal;
  readonly timeoutMs: number;
  readonly resolve: (unwanted: Unwanted | Promise<Unwanted>) => void;
}

/**
 * Sends the renewals of hosted attempts, which are made for all shards at one time, to each owner in one message: a host of
 * attempts of many shards would otherwise send a call for each. Whatever goes wrong with that is left to the calls.
 */
export class ShardRenewals {
  readonly #parts: ShardRenewalsParts;
  /** Renewals that are about to be sent, by owner. */
  readonly #waiting = new Map<string, Waiting[]>();

  constructor(parts: ShardRenewalsParts) {
    this.#parts = parts;
  }

  /** Returns the attempts that the owner of the shard does not want. Throws what the call throws. */
  renew(shard: number, renewal: Renewal, timeoutMs: number): Promise<Unwanted> {
    const { ownerOf, member, call, clock } = this.#parts;
    const owner = ownerOf(shard);
    if (owner === undefined || owner === member()) return call(shard, renewal, timeoutMs);
    const waiting = this.#waiting.get(owner) ?? [];
    this.#waiting.set(owner, waiting);
    if (waiting.length === 0) clock.soon(() => this.#send(owner));
    return new Promise((resolve) => waiting.push({ shard, renewal, timeoutMs, resolve }));
  }

  #send(owner: string): void {
    const waiting = this.#waiting.get(owner) ?? [];
    this.#waiting.delete(owner);
    if (waiting.length === 1) for (const each of waiting) this.#call(each);
    else void this.#ask(owner, waiting);
  }

  #call({ shard, renewal, timeoutMs, resolve }: Waiting): void {
    resolve(this.#parts.call(shard, renewal, timeoutMs));
  }

  async #ask(owner: string, waiting: readonly Waiting[]): Promise<void> {
    const { ask, newKey, logger } = this.#parts;
    const renewals = waiting.map(({ shard, renewal }) => ({ shard, renewal }));
    const question: RenewalQuestion = { type: "RenewAttemptsByShard", key: newKey(), renewals };
    let answers: RenewalAnswer = [];
    try {
      const timeoutMs = Math.min(...waiting.map((each) => each.timeoutMs));
      // A member of the same cluster has answered the question.
      answers = (await ask(owner, question, { timeoutMs: timeoutMs / 2 })) as RenewalAnswer;
    } catch (error) {
      const fields = { owner, error: messageOf(error) };
      logger.debug(fields, "an owner did not answer for its shards together; each is asked for by itself");
    }
    for (const [place, each] of waiting.entries()) {
      const unwanted = answers[place];
      if (Array.isArray(unwanted)) each.resolve(unwanted);
      else this.#call(each);
    }
  }

  /** Answers another member. Undefined if the question is not about renewals. */
  answer(body: unknown): { readonly value: Promise<RenewalAnswer> } | undefined {
    return isQuestion(body) ? { value: this.#answerTo(body) } : undefined;
  }

  async #answerTo({ key, renewals }: RenewalQuestion): Promise<RenewalAnswer> {
    const { handle, clock } = this.#parts;
    const { promise: late, resolve } = Promise.withResolvers<null>();
    const timer = clock.after(slowMs, () => resolve(null));
    const answers = renewals.map(async ({ shard, renewal }): Promise<Unwanted | null> => {
      // The host makes a call of its own, which meets the error again.
      const done = handle(shard, { key, isFirst: false, body: renewal }).catch(() => null);
      return (await Promise.race([done, late])) as Unwanted | null;
    });
    const all = await Promise.all(answers);
    timer.cancel();
    return all;
  }
}

function isQuestion(body: unknown): body is RenewalQuestion {
  return typeof body === "object" && body !== null && "type" in body && body.type === "RenewAttemptsByShard";
}
