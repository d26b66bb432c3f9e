import { hasCode } from "../base/error.ts";
import type { DeliveredCall, Delivery } from "../cluster/call-router.ts";
import type { CallOf, CallType, ResultOf } from "./call.ts";
import { decodeCall } from "./call-codec.ts";
import { type CallTableParts, callTable } from "./call-table.ts";
import type { Shard } from "./shard.ts";
import { shardMoved } from "./shard-moved.ts";

export interface CallHandlerParts extends CallTableParts {
  /** True while the lease is valid: no other member can own a shard of this member. */
  readonly isLeaseValid: () => boolean;
}

/** The server side of calls: carries them out on shards of this member, each once, however often it comes. */
export class CallHandler {
  readonly #parts: CallHandlerParts;

  constructor(parts: CallHandlerParts) {
    this.#parts = parts;
  }

  /** Carries out a call of this member on a shard that no other member can own. */
  handleAlone<T extends CallType>(shard: Shard, call: CallOf<T>): Promise<ResultOf<T>> {
    return this.#carryOut(call, shard, { key: undefined, isFirst: true });
  }

  /**
   * Carries out a call of this member that was never sent, so there are no copies of it. Its result counts if
   * `mayAnswer`, and its error if `mayRefuse`; otherwise the outcome is unknown.
   */
  async carryOutFirst<T extends CallType>(shard: Shard, call: CallOf<T>, key: string): Promise<ResultOf<T>> {
    return await this.#carryOut(call, shard, { key, isFirst: true });
  }

  /**
   * Carries out a call that came through the router. `SHARD_MOVED` if the shard is not open here, or if memory may be out
   * of date because the lease is not valid: the caller asks again, and what was written is then recognised.
   */
  async handle(number: number, { key, isFirst, body }: DeliveredCall): Promise<unknown> {
    const call = decodeCall(body);
    const shard = this.#find(number);
    if (isFirst) return await this.#whileOwned(shard, true, this.carryOutFirst(shard, call, key));
    return await this.#whileOwned(shard, false, this.#joinOrCarryOut(call, shard, key));
  }

  /** A repetition that comes while the call is being carried out, by whatever route, waits for the same result. */
  #joinOrCarryOut(call: CallOf<CallType>, shard: Shard, key: string): Promise<unknown> {
    let done = shard.callsUnderWay.get(key);
    if (done === undefined) {
      done = this.#carryOut(call, shard, { key, isFirst: false }).finally(() => shard.callsUnderWay.delete(key));
      shard.callsUnderWay.set(key, done);
    }
    return done;
  }

  #carryOut<T extends CallType>(call: CallOf<T>, shard: Shard, { key, isFirst }: Delivery): Promise<ResultOf<T>> {
    const { carryOut } = callTable[call.type];
    return carryOut(call, { key, isFirst, shard, parts: this.#parts });
  }

  #find(number: number): Shard {
    const shard = this.#parts.region.find(number);
    if (shard === undefined) throw shardMoved(number);
    return shard;
  }

  async #whileOwned<R>(shard: Shard, isFirst: boolean, work: Promise<R>): Promise<R> {
    try {
      const result = await work;
      if (this.mayAnswer(shard)) return result;
    } catch (error) {
      // A repetition that cannot look up whether it was carried out before must not claim that it was not.
      const isUnknown = !isFirst && hasCode(error, "STORE_UNAVAILABLE");
      if (!isUnknown && this.mayRefuse(shard, error)) throw error;
    }
    throw shardMoved(shard.number);
  }

  /**
   * True if no other member can have owned the shard during the call, even if it has been released since. A valid lease
   * alone does not prove that: it may be that of a later incarnation of this member.
   */
  mayAnswer(shard: Shard): boolean {
    return !shard.isLost && this.#parts.isLeaseValid();
  }

  /** False also if the error says that the shard was lost during the call. */
  mayRefuse(shard: Shard, error: unknown): boolean {
    return !isLoss(error) && this.mayAnswer(shard);
  }
}

/** The shard was lost during the call, so its outcome is unknown. */
function isLoss(error: unknown): boolean {
  return hasCode(error, "STORE_FENCED") || hasCode(error, "MEMBER_LOST") || hasCode(error, "SHARD_MOVED");
}
