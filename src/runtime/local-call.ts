import type { Clock } from "../base/clock.ts";
import { EngineError, hasCode } from "../base/error.ts";
import { localName } from "../base/namespace.ts";
import type { Random } from "../base/random.ts";
import type { BoundedCall, LocalCalls } from "../cluster/local-calls.ts";
import { unansweredError } from "../cluster/outgoing-call.ts";
import type { CallOf, CallType, ResultOf } from "./call.ts";
import type { CallHandler } from "./call-handler.ts";
import { callTable } from "./call-table.ts";
import type { Reply } from "./message.ts";
import type { Shard } from "./shard.ts";

/** Carries calls to the owners of shards, and their results back. */
export interface CallTransport {
  /** Time after which a call is given up. */
  readonly callMs: number;
  /** Repeats the call under one key until it is answered. `CALL_UNANSWERED` after `timeoutMs`. */
  call<T extends CallType>(shard: number, call: CallOf<T>, options: CallTransportOptions): Promise<ResultOf<T>>;
}

export interface CallTransportOptions {
  readonly timeoutMs: number;
  /** Key of the call's earlier try. */
  readonly key?: string;
}

export interface LocalCallParts {
  readonly clock: Clock;
  readonly random: Random;
  readonly handler: CallHandler;
  readonly transport: CallTransport;
  readonly calls: LocalCalls;
}

export interface LocalCallOptions<T extends CallType> {
  readonly shard: Shard;
  readonly call: CallOf<T>;
  readonly timeoutMs: number;
  /** Absent for a call whose first try records no key. */
  readonly key?: string;
  /** The instance in the words of which the caller gets errors. */
  readonly instanceId?: string | undefined;
}

/**
 * A call to a shard of this member, which carries it out itself. A shard that moves during the call is called again
 * through the transport, under the same key.
 *
 * It is the reply to the work and the entry with the timeout in one object: with a promise for each step, the two calls
 * of a workflow, its start and the wait for its end, were a third of all that it allocated.
 */
export class LocalCall<T extends CallType> implements Reply<ResultOf<T>>, BoundedCall {
  readonly until: number;
  place = -1;
  readonly #parts: LocalCallParts;
  readonly #options: LocalCallOptions<T>;
  readonly #caller: Reply<ResultOf<T>>;

  constructor(parts: LocalCallParts, options: LocalCallOptions<T>, caller: Reply<ResultOf<T>>) {
    this.#parts = parts;
    this.#options = options;
    this.#caller = caller;
    this.until = parts.clock.monotonic() + options.timeoutMs;
    parts.calls.add(this);
  }

  resolve(result: ResultOf<T>): void {
    const { calls, handler } = this.#parts;
    if (!calls.delete(this)) return;
    if (handler.mayAnswer(this.#options.shard)) this.#caller.resolve(result);
    else this.#repeat();
  }

  reject(error: unknown): void {
    const { calls, handler } = this.#parts;
    if (!calls.delete(this)) return;
    if (handler.mayRefuse(this.#options.shard, error)) this.giveUp(error);
    else this.#repeat();
  }

  onTime(): void {
    const { shard, timeoutMs } = this.#options;
    this.giveUp(unansweredError({ shard: shard.number }, timeoutMs));
  }

  giveUp(reason: unknown): void {
    const { instanceId, call } = this.#options;
    const { transport } = this.#parts;
    this.#caller.reject(instanceId === undefined ? reason : errorFor(instanceId, call.type, { reason, transport }));
  }

  #repeat(): void {
    const { clock, random, transport } = this.#parts;
    const { shard, call, key = random.uuid(clock.now()) } = this.#options;
    const timeoutMs = Math.max(0, this.until - clock.monotonic());
    transport.call<T>(shard.number, call, { key, timeoutMs }).then(
      (result) => this.#caller.resolve(result),
      (error: unknown) => this.giveUp(error),
    );
  }
}

/** Users know instances, not shards. */
export function errorFor(
  instanceId: string,
  type: CallType,
  failed: { readonly reason: unknown; readonly transport: CallTransport },
): unknown {
  const { reason, transport } = failed;
  if (!hasCode(reason, "CALL_UNANSWERED")) return reason;
  const unknown = callTable[type].effect === "read" ? "" : "; whether the request was carried out is unknown";
  const message = `no member answered for instance "${localName(instanceId)}" within ${transport.callMs / 1000} s${unknown}`;
  return new EngineError("CALL_UNANSWERED", message, { cause: reason });
}
