import { hasCode, messageOf } from "../base/error.ts";
import type { Logger } from "../base/logger.ts";
import type { ParentAddress } from "../kernel/address.ts";
import { payloadBytesMax } from "../kernel/payload.ts";
import type { ChildEnded } from "../kernel/input.ts";
import type { Machine } from "../kernel/machine.ts";
import { utf8Length } from "../base/utf8.ts";
import { parseStored } from "../base/stored-json.ts";
import { numberBefore } from "../stores/message-number.ts";
import type { OffsetRow, OutboxRow, ShardClaim, Store } from "../stores/store.ts";
import { endFor } from "./children.ts";
import type { Definitions } from "./definitions.ts";
import type { InstanceActor } from "./instance-actor.ts";
import { type GivenToChild, type InstanceStarter, requestOfChild } from "./instance-starter.ts";
import { unknownInstance } from "./instance-table.ts";
import type { Origin } from "./message.ts";
import { InboundOffset } from "./inbound-offset.ts";
import { outboxMessageOf } from "./outbox-message-of.ts";
import type { OutboxMessage, RaiseEvent, StartChildMessage, TellChildMessage, TellParentMessage } from "./outbox.ts";
import type { ShardInstances } from "./shard-instances.ts";
import type { ShardState } from "./shard-state.ts";
import type { SharedGates } from "./shared-gates.ts";
import { bytesOf, objectText, readText, readTexts } from "./task-inputs.ts";

/** The other parts of the shard. */
export interface InboundParts {
  readonly shard: number;
  readonly claim: Pick<ShardClaim, "incarnation">;
  readonly logger: Logger;
  readonly store: Pick<Store, "findRequest">;
  readonly definitions: Definitions;
  readonly state: ShardState;
  readonly instances: ShardInstances;
  readonly starter: InstanceStarter;
  /** The gates of workflows that live on this shard. */
  readonly sharedGates: SharedGates;
  readPayloads(instance: number, refs: readonly number[]): Promise<string[]>;
  /** Writes messages that no turn caused, with offsets of the messages they answer, and posts them. */
  send(messages: readonly OutboxMessage[], offsets: () => OffsetRow[]): Promise<void>;
}

interface KnownChild {
  /** The child's report to its parent, if it has ended. */
  readonly end: OutboxMessage | undefined;
  readonly isSameTask: boolean;
}

/**
 * Messages from other instances, of this shard or another. They are delivered in the order in which they were sent. A
 * message is consumed once a turn that has read it is durable; until then it is delivered again after a crash.
 */
export class InboundMessages {
  readonly #parts: InboundParts;
  readonly #numberBefore: number;
  /** Of the sources that have sent something since the shard was opened. */
  readonly #offsets = new Map<number, InboundOffset>();
  /** The numbers of the last messages that earlier owners consumed: in the course of time from all other shards. */
  #restored: ReadonlyMap<number, number> = new Map();
  /** The last message of each source that was in the store when this owner first read it; undefined before that. */
  #lastAtOpening: ReadonlyMap<number, number> | undefined;
  #delivering: Promise<void> = Promise.resolve();
  #isStuck = false;

  constructor(parts: InboundParts) {
    this.#parts = parts;
    this.#numberBefore = numberBefore(parts.claim.incarnation);
  }

  restore(offsets: readonly OffsetRow[]): void {
    this.#restored = new Map(offsets.map(({ source, number }) => [source, number]));
  }

  offsetOf(source: number): InboundOffset {
    let offset = this.#offsets.get(source);
    if (offset === undefined) {
      offset = new InboundOffset(this.#restored.get(source) ?? this.#numberBefore);
      this.#offsets.set(source, offset);
    }
    return offset;
  }

  /** False if a message that was sent before is missing: it has to be read from the store. */
  receive(row: OutboxRow): boolean {
    const inbound = this.offsetOf(row.source);
    for (const { source, number, body } of inbound.receive(row)) {
      const message = parseStored(body, `message ${number} of shard ${source}`) as OutboxMessage;
      this.#delivering = this.#delivering
        .then(() => this.#deliver({ source, number }, message))
        .catch((error: unknown) => {
          if (isTransient(error)) this.#isStuck = true;
          this.#logStuck(message)(error);
        });
    }
    return !inbound.hasGap;
  }

  /** Resolves when every message that was received by now is delivered. */
  async whenDelivered(): Promise<void> {
    await this.#delivering;
  }

  /** Marks messages as consumed by the turns of one commit; the rows are the new offsets, by source. */
  consume(origins: Iterable<Origin>): OffsetRow[] {
    const moved = new Set<number>();
    for (const { source, number } of origins) {
      this.offsetOf(source).consume(number);
      moved.add(source);
    }
    return Array.from(moved, (source) => ({
      shard: this.#parts.shard,
      source,
      number: this.offsetOf(source).committed,
    }));
  }

  async #deliver(origin: Origin, message: OutboxMessage): Promise<void> {
    // Messages must not overtake one that could not be delivered: the next owner reads them all.
    if (this.#parts.state.isClosed || this.#isStuck) return;
    const read = (refs: readonly number[]): Promise<string[]> => this.#parts.readPayloads(message.from, refs);
    try {
      if (message.kind === "start-child") {
        const { context, input } = message;
        const given = {
          context: context && (await readTexts(context, read)),
          input: await readText(input, read),
        };
        await this.#startChild(message, given, origin);
      } else if (message.kind === "tell-child") {
        await this.#tellChild(message, origin);
      } else if (message.kind === "cancel-other") {
        const { to, reason } = message;
        await this.#parts.instances.deliver(to, { input: { type: "CancelInstance", reason }, origin });
      } else if (message.kind === "raise-event") {
        await this.#raiseEvent(message, origin);
      } else if (message.kind === "tombstone") {
        await this.#finish(origin);
      } else if (message.kind === "enter-gate" || message.kind === "leave-gate") {
        const answers = await this.#parts.state.retryWhileOpen(() => this.#parts.sharedGates.read(message));
        await this.#finish(origin, ...answers);
      } else if (message.kind === "admit") {
        const { refusal } = message;
        const input = { type: "AdmitInstance", ...(refusal !== undefined && { refusal }) } as const;
        await this.#parts.instances.deliver(message.to, { input, origin });
      } else await this.#parts.instances.deliver(message.to, { input: await childEnded(message, read), origin });
    } catch (error) {
      if (isTransient(error)) throw error;
      await this.#noteUndeliverable(message, origin, error);
    }
  }

  /**
   * An event is recorded with a key, by which a repetition is recognised: the receiver's state does not show that it came
   * before, and a turn may have consumed it ahead of an earlier message, which the durable offset does not show. The key
   * stays the same when a new incarnation renumbers the message.
   */
  async #raiseEvent({ to, name, data }: RaiseEvent, origin: Origin): Promise<void> {
    const key = `message:${origin.source}:${origin.number - this.#numberBefore}`;
    if (this.#mayBeRepeated(origin) && (await this.#isRequestKnown(key))) return await this.#finish(origin);
    const input = { type: "RaiseEvent", name, ...(data !== undefined && { data }) } as const;
    await this.#parts.instances.deliver(to, { input, origin, key });
  }

  /** Returns whether a turn has recorded that key. */
  async #isRequestKnown(key: string): Promise<boolean> {
    const { shard, store, state } = this.#parts;
    return (await state.retryWhileOpen(() => store.findRequest(shard, key))) !== undefined;
  }

  /**
   * True if the message may have been delivered to an earlier owner: it was in the store when this one first read it.
   */
  #mayBeRepeated({ source, number }: Origin): boolean {
    return this.#lastAtOpening === undefined || number <= (this.#lastAtOpening.get(source) ?? 0);
  }

  /** Notes the messages in the store; the first time, they are all that an earlier owner may have consumed. */
  noteOutbox(rows: readonly OutboxRow[]): void {
    this.#lastAtOpening ??= new Map(rows.map(({ source, number }) => [source, number]));
  }

  /** Does not wait for the child's first commit: many children share one. */
  async #startChild(message: StartChildMessage, given: GivenToChild, origin: Origin): Promise<void> {
    try {
      const { committed } = await this.#startNew(message, given, origin);
      committed.catch((error: unknown) => this.#refuseStart(message, origin, error)).catch(this.#logStuck(message));
    } catch (error) {
      const known = hasCode(error, "INSTANCE_EXISTS") ? await this.#childOf(message) : undefined;
      if (known !== undefined) return await this.#finish(origin, ...(known.end === undefined ? [] : [known.end]));
      if (isTransient(error)) throw error;
      await this.#answerForChild(message.parent, origin, error);
    }
  }

  /**
   * A child's id is derived from its parent's: a parent whose id is used again finds the finished child of the earlier
   * instance. An id that code has chosen may be chosen again by the same parent.
   */
  async #startNew(
    message: StartChildMessage,
    given: GivenToChild,
    origin: Origin,
  ): Promise<{ committed: Promise<void> }> {
    try {
      return await this.#createChild(message, given, { origin, reuse: false });
    } catch (error) {
      if (!hasCode(error, "INSTANCE_EXISTS") || (await this.#childOf(message))) throw error;
      const { parent, to, isGivenId } = message;
      if (isGivenId && (parent === undefined || !(await this.#findChild(parent, to)))) throw error;
      return await this.#createChild(message, given, { origin, reuse: true });
    }
  }

  async #createChild(
    message: StartChildMessage,
    given: GivenToChild,
    options: { origin: Origin; reuse: boolean },
  ): Promise<{ committed: Promise<void> }> {
    const { state, definitions, starter } = this.#parts;
    const definition = await state.retryWhileOpen(() => definitions.load(message.workflow, message.version));
    const request = requestOfChild(message, definition, { ...given, ...options });
    return await state.retryWhileOpen(() => starter.startWithGivenId(request));
  }

  /**
   * The id of a child that code has chosen may be another instance's: `INSTANCE_UNKNOWN` if the parent has another key. A
   * parent that runs on under its id has a new key, and takes its children over when it retries them.
   */
  async #tellChild({ to, from, order }: TellChildMessage, origin: Origin): Promise<void> {
    const { state, instances } = this.#parts;
    const heir = order.type === "RetryInstance" ? order.parent?.id : undefined;
    const tell = (actor: InstanceActor): void => {
      const parent = parentOf(actor);
      if (parent === undefined || (parent.key !== from && parent.id !== heir)) throw unknownInstance(to);
      actor.tell({ input: order, origin });
    };
    await state.retryWhileOpen(() => instances.withActor(to, tell));
  }

  /** Finds an instance that is a child of the parent, whatever task started it. */
  async #findChild(parent: ParentAddress, id: string): Promise<KnownChild | undefined> {
    const { state, instances } = this.#parts;
    const query = (machine: Machine, actor: InstanceActor): KnownChild | undefined => {
      const own = machine.state.parent;
      if (own?.key !== parent.key) return undefined;
      const report = endFor(machine, parent);
      const isSameTask = own.task === parent.task && own.generation === parent.generation;
      return { end: report && outboxMessageOf(actor, report), isSameTask };
    };
    return await state.retryWhileOpen(() => instances.ask(id, query));
  }

  /** A child without a parent that exists was started by an earlier delivery of this message. */
  async #childOf({ parent, to, isGivenId }: StartChildMessage): Promise<Pick<KnownChild, "end"> | undefined> {
    if (parent === undefined) return { end: undefined };
    const known = await this.#findChild(parent, to);
    return isGivenId && known?.isSameTask === false ? undefined : known;
  }

  /** A child that was not written because the engine stopped is not refused: its message is delivered again. */
  async #refuseStart(message: StartChildMessage, origin: Origin, error: unknown): Promise<void> {
    if (!isTransient(error)) await this.#answerForChild(message.parent, origin, error);
  }

  #logStuck(message: OutboxMessage): (error: unknown) => void {
    const { from, to } = message;
    // The next owner delivers the message after a transient error, such as a stop or a move of the shard.
    return (error) => {
      const level = isTransient(error) ? "debug" : "error";
      this.#parts.logger[level]({ from, to, error: messageOf(error) }, "a message could not be delivered");
    };
  }

  async #noteUndeliverable(message: OutboxMessage, origin: Origin, error: unknown): Promise<void> {
    const { from, to, kind } = message;
    this.#parts.logger.warn(
      { from, to, kind, error: messageOf(error) },
      "a message between instances found no receiver",
    );
    const retried =
      message.kind === "tell-child" && message.order.type === "RetryInstance" ? message.order.parent : undefined;
    await this.#answerForChild(retried, origin, error);
  }

  /** Reports to the parent that the child could not be started or found. */
  async #answerForChild(parent: ParentAddress | undefined, origin: Origin, error: unknown): Promise<void> {
    if (parent === undefined) return await this.#finish(origin);
    const { id: to, task, attempt, generation } = parent;
    const reason = messageOf(error);
    await this.#finish(origin, {
      kind: "tell-parent",
      from: 0,
      to,
      task,
      attempt,
      generation,
      status: "Failed",
      isMissing: true,
      reason,
    });
  }

  /** Consumes the message and writes its answers in one commit. */
  async #finish(origin: Origin, ...answers: OutboxMessage[]): Promise<void> {
    await this.#parts.send(answers, () => this.consume([origin]));
  }
}

const transientCodes = [
  "ENGINE_STATE",
  "SHARD_MOVED",
  "MEMBER_LOST",
  "STORE_FENCED",
  "STORE_ROLLED_BACK",
  "STORE_UNAVAILABLE",
] as const;

/** True for an error that does not depend on the message, which the next owner of the shard delivers again. */
function isTransient(error: unknown): boolean {
  return transientCodes.some((code) => hasCode(error, code));
}

async function childEnded(
  message: TellParentMessage,
  read: (refs: readonly number[]) => Promise<string[]>,
): Promise<ChildEnded> {
  const { task, attempt, generation, status, isMissing, reason, outputs, failure, patch } = message;
  const report = { type: "ChildEnded", task, attempt, generation } as const;
  const tooLarge = `the outputs of its tasks together take more than ${payloadBytesMax} bytes`;
  if (outputs !== undefined && bytesOf(outputs) > payloadBytesMax)
    return { ...report, status: "Failed", reason: tooLarge };
  const output =
    outputs === undefined ? await readText(message.output, read) : objectText(await readTexts(outputs, read));
  if (output !== undefined && utf8Length(output) > payloadBytesMax) {
    return { ...report, status: "Failed", reason: tooLarge };
  }
  return {
    ...report,
    status,
    ...(isMissing && { isMissing }),
    ...(output !== undefined && { output }),
    ...(failure !== undefined && { failure }),
    ...(reason !== undefined && { reason }),
    ...(patch !== undefined && { patch: await readPatch(patch, read) }),
  };
}

async function readPatch(
  patch: NonNullable<TellParentMessage["patch"]>,
  read: (refs: readonly number[]) => Promise<string[]>,
): Promise<Record<string, string | null>> {
  const removed = Object.keys(patch).filter((key) => patch[key] === null);
  const set = Object.fromEntries(
    Object.entries(patch).flatMap(([key, value]) => (value === null ? [] : [[key, value]])),
  );
  return { ...(await readTexts(set, read)), ...Object.fromEntries(removed.map((key) => [key, null])) };
}

/** An order may come in the same breath as the start, which is in the inbox then. */
function parentOf({ machine, inbox }: InstanceActor): ParentAddress | undefined {
  if (machine.state.generation > 0) return machine.state.parent;
  for (const message of inbox)
    if ("input" in message && message.input.type === "StartInstance") return message.input.parent;
  return undefined;
}
