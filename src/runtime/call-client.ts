import type { Clock } from "../base/clock.ts";
import type { EngineError } from "../base/error.ts";
import type { Random } from "../base/random.ts";
import type { Writable } from "../base/writable.ts";
import { LocalCalls } from "../cluster/local-calls.ts";
import { shardOfKey } from "../stores/instance-key.ts";
import type { DomainRow } from "../stores/store.ts";
import type { CallOf, CallType, InstanceCallType, ResultOf, UpdateResult } from "./call.ts";
import type { CallHandler } from "./call-handler.ts";
import { callTable } from "./call-table.ts";
import type { DefinitionSaver } from "./definition-saver.ts";
import { type InstanceEnd, readEnd } from "./instance-query.ts";
import type { StartRequest } from "./instance-starter.ts";
import { type CallTransport, errorFor, LocalCall, type LocalCallOptions, type LocalCallParts } from "./local-call.ts";
import type { Reply } from "./message.ts";
import type { Region } from "./region.ts";
import type { Shard } from "./shard.ts";

export interface CallClientParts {
  readonly clock: Clock;
  readonly random: Random;
  readonly region: Region;
  readonly handler: CallHandler;
  readonly definitions: DefinitionSaver;
  /** Undefined where one member owns every shard. */
  readonly transport: CallTransport | undefined;
}

/**
 * The client side of calls: finds the shard of an instance and calls its owner. A call to a shard of this member goes to
 * its handler directly; any other call goes through the transport.
 */
export class CallClient {
  readonly #parts: CallClientParts;
  readonly #localCalls: LocalCalls;
  /** Undefined where one member owns every shard. */
  readonly #localCallParts: LocalCallParts | undefined;

  constructor(parts: CallClientParts) {
    const { clock, random, handler, transport } = parts;
    this.#parts = parts;
    this.#localCalls = new LocalCalls(clock);
    this.#localCallParts = transport && { clock, random, handler, transport, calls: this.#localCalls };
  }

  /** Rejects calls to this member's own shards that are under way. */
  stop(reason: EngineError): void {
    this.#localCalls.rejectAll(reason);
  }

  /** Durable when it resolves. `INSTANCE_EXISTS`. */
  start(request: StartRequest): Promise<void> {
    const reply = Promise.withResolvers<void>();
    this.submit(request, reply);
    return reply.promise;
  }

  /** Settles the reply when the instance is durable. `INSTANCE_EXISTS`. */
  submit(request: StartRequest, reply: Reply<void>): void {
    const { region, definitions } = this.#parts;
    const number = region.shardOf(request.id);
    const parts = this.#localCallParts;
    if (parts === undefined) return region.mustFind(number).starter.submit(request, reply);
    const shard = region.find(number);
    // The common case has nothing to wait for before the start.
    if (shard === undefined || request.isGivenId || !definitions.areSaved(request.definitions)) {
      this.#saveAndStart(request).then(
        () => reply.resolve(),
        (error: unknown) => reply.reject(error),
      );
      return;
    }
    const options = { shard, call: startCallOf(request), timeoutMs: parts.transport.callMs, instanceId: request.id };
    const call = new LocalCall<"StartInstance">(parts, options, reply);
    try {
      shard.starter.submit(request, call);
    } catch (error) {
      call.reject(error);
    }
  }

  async #saveAndStart(request: StartRequest): Promise<void> {
    await this.#parts.definitions.save(request.definitions);
    await this.callInstance(startCallOf(request));
  }

  /** Calls the owner of the instance. `CALL_UNANSWERED`, and whatever the owner refuses the call with. */
  callInstance<T extends InstanceCallType>(call: CallOf<T>): Promise<ResultOf<T>> {
    return this.#call<T>(this.#parts.region.shardOf(call.id), call, { instanceId: call.id });
  }

  /** Calls the owner of the shard. By default, calls that wait for an instance have no timeout. */
  callShard<T extends CallType>(number: number, call: CallOf<T>, timeoutMs?: number): Promise<ResultOf<T>> {
    return this.#call<T>(number, call, { timeoutMs });
  }

  #call<T extends CallType>(
    number: number,
    call: CallOf<T>,
    { timeoutMs, instanceId }: { timeoutMs?: number | undefined; instanceId?: string },
  ): Promise<ResultOf<T>> {
    const { region, handler } = this.#parts;
    const parts = this.#localCallParts;
    if (parts === undefined) return handler.handleAlone<T>(region.mustFind(number), call);
    const { transport } = parts;
    const limitMs = timeoutMs ?? (callTable[call.type].waitsFor === "instance" ? Infinity : transport.callMs);
    const shard = region.find(number);
    if (shard !== undefined) return callHere<T>(parts, { shard, call, timeoutMs: limitMs, instanceId });
    const result = transport.call<T>(number, call, { timeoutMs: limitMs });
    if (instanceId === undefined) return result;
    return result.catch((reason: unknown) => {
      throw errorFor(instanceId, call.type, { reason, transport });
    });
  }

  /** Resolves when the instance has ended, however long that takes. */
  awaitEnd(id: string): Promise<InstanceEnd> {
    const { region } = this.#parts;
    const parts = this.#localCallParts;
    if (parts !== undefined) return this.#awaitEndAnywhere(parts, id);
    return region.mustFind(region.shardOf(id)).ends.awaitEnd(id, readEnd);
  }

  async #awaitEndAnywhere(parts: LocalCallParts, id: string): Promise<InstanceEnd> {
    const { region } = this.#parts;
    const shard = region.find(region.shardOf(id));
    let end = shard && (await awaitEndHere(parts, shard, id));
    while (end === undefined) end = await this.callInstance({ type: "AwaitEnd", id });
    return end;
  }

  /** Resolves when the code of the instance has answered the update. */
  async awaitUpdate(id: string, update: string): Promise<UpdateResult> {
    for (;;) {
      const result = await this.callInstance({ type: "AwaitUpdate", id, update });
      if (result !== undefined) return result;
    }
  }

  /** Removes ended instances, whoever owns them. Returns how many were removed. */
  async purge(instances: readonly { key: number; id: string }[]): Promise<number> {
    let gone = 0;
    for (const [number, group] of Map.groupBy(instances, ({ key }) => shardOfKey(key))) {
      gone += await this.callShard(number, { type: "PurgeInstances", instances: group });
    }
    return gone;
  }

  /** Writes the domain to the store. In a cluster, the allocator of the domain knows its size when this resolves. */
  async setDomain(domain: DomainRow): Promise<void> {
    const shard = this.#parts.region.shardOfDomain(domain.name);
    await this.callShard(shard, { type: "ResizeDomain", domain });
  }
}

/** Carries out a call to a shard of this member. */
function callHere<T extends CallType>(
  parts: LocalCallParts,
  options: Omit<LocalCallOptions<T>, "key">,
): Promise<ResultOf<T>> {
  const { clock, random, handler } = parts;
  const { shard, call } = options;
  const { promise, resolve, reject } = Promise.withResolvers<ResultOf<T>>();
  const key = random.uuid(clock.now());
  const local = new LocalCall<T>(parts, { ...options, key }, { resolve, reject });
  handler.carryOutFirst<T>(shard, call, key).then(
    (result) => local.resolve(result),
    (error: unknown) => local.reject(error),
  );
  return promise;
}

/** The result is undefined if the shard moves, and its next owner answers "not yet". */
function awaitEndHere(parts: LocalCallParts, shard: Shard, id: string): Promise<InstanceEnd | undefined> {
  const caller = Promise.withResolvers<InstanceEnd | undefined>();
  const options = { shard, call: { type: "AwaitEnd", id }, timeoutMs: Infinity, instanceId: id } as const;
  shard.ends.answerAtEnd(id, readEnd, new LocalCall<"AwaitEnd">(parts, options, caller));
  return caller.promise;
}

function startCallOf(request: StartRequest): CallOf<"StartInstance"> {
  const { id, isGivenId, reuse, definition, input, event } = request;
  const { name: workflow, version } = definition;
  const call: Writable<CallOf<"StartInstance">> = {
    type: "StartInstance",
    id,
    isGivenId,
    reuse,
    workflow,
    version,
    input,
  };
  if (event !== undefined) call.event = event;
  return call;
}
