import type { Clock } from "../base/clock.ts";
import { EngineError, hasCode } from "../base/error.ts";
import type { Random } from "../base/random.ts";
import { localName } from "../base/namespace.ts";
import { unansweredError } from "../cluster/outgoing-call.ts";
import { LocalCalls } from "../cluster/local-calls.ts";
import { shardOfKey } from "../stores/instance-key.ts";
import type { DomainRow } from "../stores/store.ts";
import type { CallOf, CallType, InstanceCallType, ResultOf, UpdateResult } from "./call.ts";
import type { CallHandler } from "./call-handler.ts";
import { callTable } from "./call-table.ts";
import type { DefinitionSaver } from "./definition-saver.ts";
import { type InstanceEnd, readEnd } from "./instance-query.ts";
import type { StartRequest } from "./instance-starter.ts";
import type { Reply } from "./message.ts";
import type { Region } from "./region.ts";

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

  constructor(parts: CallClientParts) {
    this.#parts = parts;
    this.#localCalls = new LocalCalls(parts.clock);
  }

  /** Rejects calls to this member's own shards that are under way. */
  stop(reason: EngineError): void {
    this.#localCalls.rejectAll(reason);
  }

  /** Durable when it resolves. `INSTANCE_EXISTS`. */
  start(request: StartRequest): Promise<void> {
    const { region, transport } = this.#parts;
    return transport === undefined
      ? region.mustFind(region.shardOf(request.id)).starter.start(request)
      : this.#startAnywhere(request);
  }

  /** Settles the reply when the instance is durable. `INSTANCE_EXISTS`. */
  submit(request: StartRequest, reply: Reply<void>): void {
    const { region, transport } = this.#parts;
    if (transport === undefined) return region.mustFind(region.shardOf(request.id)).starter.submit(request, reply);
    this.#startAnywhere(request).then(
      () => reply.resolve(),
      (error: unknown) => reply.reject(error),
    );
  }

  async #startAnywhere({ id, isGivenId, reuse, definition, definitions, input, event }: StartRequest): Promise<void> {
    await this.#parts.definitions.save(definitions);
    const { name: workflow, version } = definition;
    const given = { id, isGivenId, reuse, workflow, version, input };
    await this.callInstance({ type: "StartInstance", ...given, ...(event && { event }) });
  }

  /** Calls the owner of the instance. `CALL_UNANSWERED`, and whatever the owner refuses the call with. */
  callInstance<T extends InstanceCallType>(call: CallOf<T>): Promise<ResultOf<T>> {
    const { region, transport } = this.#parts;
    const result = this.callShard<T>(region.shardOf(call.id), call);
    return transport === undefined
      ? result
      : result.catch((error: unknown) => rethrowFor(call.id, call.type, { error, transport }));
  }

  /** Calls the owner of the shard. By default, calls that wait for an instance have no timeout. */
  callShard<T extends CallType>(number: number, call: CallOf<T>, timeoutMs?: number): Promise<ResultOf<T>> {
    const { region, transport, handler } = this.#parts;
    if (transport === undefined) return handler.handleAlone<T>(region.mustFind(number), call);
    const limitMs = timeoutMs ?? (callTable[call.type].waitsFor === "instance" ? Infinity : transport.callMs);
    const options = { timeoutMs: limitMs };
    return region.find(number) === undefined
      ? transport.call<T>(number, call, options)
      : this.#callLocal<T>(number, call, { transport, timeoutMs: limitMs });
  }

  /** A shard that moves during the call is called again through the transport, under the same key. */
  #callLocal<T extends CallType>(
    number: number,
    call: CallOf<T>,
    { transport, timeoutMs }: { transport: CallTransport; timeoutMs: number },
  ): Promise<ResultOf<T>> {
    const { clock, random, handler } = this.#parts;
    const key = random.uuid(clock.now());
    const since = clock.monotonic();
    const work = handler.handleFirst<T>(number, call, key);
    const done = this.#localCalls.bound(work, {
      timeoutMs,
      onTime: () => unansweredError({ shard: number }, timeoutMs),
    });
    return done.catch((error: unknown) => {
      if (!hasCode(error, "SHARD_MOVED")) throw error;
      const leftMs = Math.max(0, timeoutMs - (clock.monotonic() - since));
      return transport.call<T>(number, call, { key, timeoutMs: leftMs });
    });
  }

  /** Resolves when the instance has ended, however long that takes. */
  awaitEnd(id: string): Promise<InstanceEnd> {
    const { region, transport } = this.#parts;
    if (transport !== undefined) return this.#awaitEndAnywhere(id);
    return region.mustFind(region.shardOf(id)).ends.awaitEnd(id, readEnd);
  }

  async #awaitEndAnywhere(id: string): Promise<InstanceEnd> {
    for (;;) {
      const end = await this.callInstance({ type: "AwaitEnd", id });
      if (end !== undefined) return end;
    }
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

/** Users know instances, not shards. */
function rethrowFor(id: string, type: CallType, failed: { error: unknown; transport: CallTransport }): never {
  const { error, transport } = failed;
  if (!hasCode(error, "CALL_UNANSWERED")) throw error;
  const unknown = callTable[type].effect === "read" ? "" : "; whether the request was carried out is unknown";
  const message = `no member answered for instance "${localName(id)}" within ${transport.callMs / 1000} s${unknown}`;
  throw new EngineError("CALL_UNANSWERED", message, { cause: error });
}
