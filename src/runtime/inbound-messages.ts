import { hasCode, messageOf } from "../base/error.ts";
import type { Logger } from "../base/logger.ts";
import type { ParentAddress } from "../kernel/address.ts";
import { payloadBytesMax } from "../kernel/payload.ts";
import type { ChildEnded } from "../kernel/input.ts";
import { utf8Length } from "../base/utf8.ts";
import { parseStored } from "../base/stored-json.ts";
import type { OffsetRow, OutboxRow } from "../stores/store.ts";
import type { Message, Origin } from "./message.ts";
import { InboundOffset } from "./inbound-offset.ts";
import type {
  Admit,
  EnterGate,
  LeaveGate,
  OutboxMessage,
  Outbox,
  RaiseEvent,
  StartChild,
  TellParent,
} from "./outbox.ts";
import { bytesOf, objectText, readText, readTexts } from "./task-inputs.ts";

/** What the mail room needs of its shard. */
export interface InboundShard {
  readonly number: number;
  readonly logger: Logger;
  readonly outbox: Outbox;
  /** Messages wait for the next start. */
  readonly isClosed: boolean;
  shardOf(instanceId: string): number;
  readPayloads(instance: number, refs: readonly number[]): Promise<string[]>;
  /** Resolves when the child can be told things; `committed` when it exists for good. */
  startChild(
    message: StartChild,
    given: GivenToChild,
    options: { origin: Origin; reuse: boolean },
  ): Promise<{ committed: Promise<void> }>;
  /** `INSTANCE_UNKNOWN`, `INSTANCE_QUARANTINED`. */
  tellInstance(id: string, message: Message): Promise<void>;
  /** The same; `INSTANCE_UNKNOWN` also if it is not a child of the instance with that key. */
  tellChild(id: string, parentKey: number, message: Message): Promise<void>;
  /** If the instance is the parent's own child, what it has to tell about its end, and whether it is that task's. */
  childOf(parent: ParentAddress, id: string): Promise<KnownChild | undefined>;
  /** A turn has left that key. */
  isRequestKnown(key: string): Promise<boolean>;
  /** What the gate of a workflow has to say to that. */
  answerForGate(message: EnterGate | LeaveGate): Promise<Admit[]>;
  /** Writes messages that no turn caused, with offsets of what they answer, and posts them. */
  send(messages: readonly OutboxMessage[], offsets: () => OffsetRow[]): Promise<void>;
}

export interface KnownChild {
  readonly end: OutboxMessage | undefined;
  readonly isSameTask: boolean;
}

/** What a child is to begin with, as texts: the context of a DAG, or what code gave it. */
export interface GivenToChild {
  readonly context: Readonly<Record<string, string>> | undefined;
  readonly input: string | undefined;
}

/**
 * Messages that come in from other instances, of this shard or another. They are handed on in the order they were sent,
 * and a message is done with when a turn has consumed it durably; until then it comes again after a crash.
 */
export class InboundMessages {
  readonly #shard: InboundShard;
  readonly #offsets = new Map<number, InboundOffset>();
  /** By source, the last message that was sent before this owner looked; undefined before it has. */
  #lastAtOpening: ReadonlyMap<number, number> | undefined;
  #delivering: Promise<void> = Promise.resolve();
  #isStuck = false;

  constructor(shard: InboundShard) {
    this.#shard = shard;
  }

  restore(offsets: readonly OffsetRow[]): void {
    for (const { source, number } of offsets) this.#offsets.set(source, new InboundOffset(number));
  }

  offsetOf(source: number): InboundOffset {
    let offset = this.#offsets.get(source);
    if (offset === undefined) this.#offsets.set(source, (offset = new InboundOffset(0)));
    return offset;
  }

  /** False if a message that was sent before is missing: it has to be looked for in the store. */
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

  /** All that came in has been handed on. */
  async whenDelivered(): Promise<void> {
    await this.#delivering;
  }

  /** The turns of one commit consumed these; the rows say how far that brings each source. */
  consume(origins: Iterable<Origin>): OffsetRow[] {
    const moved = new Set<number>();
    for (const { source, number } of origins) {
      this.offsetOf(source).consume(number);
      moved.add(source);
    }
    return Array.from(moved, (source) => ({
      shard: this.#shard.number,
      source,
      number: this.offsetOf(source).committed,
    }));
  }

  async #deliver(origin: Origin, message: OutboxMessage): Promise<void> {
    // Those that come after one that could not be handed on must not overtake it: the next owner reads them all.
    if (this.#shard.isClosed || this.#isStuck) return;
    const read = (refs: readonly number[]): Promise<string[]> => this.#shard.readPayloads(message.from, refs);
    try {
      if (message.kind === "start-child") {
        const { context, input } = message;
        const given = {
          context: context && (await readTexts(context, read)),
          input: await readText(input, read),
        };
        await this.#startChild(message, given, origin);
      } else if (message.kind === "tell-child") {
        const { to, from, order } = message;
        // Any code may ask any instance to end.
        if (order.type === "CancelInstance") await this.#shard.tellInstance(to, { input: order, origin });
        else await this.#shard.tellChild(to, from, { input: order, origin });
      } else if (message.kind === "raise-event") {
        await this.#raiseEvent(message, origin);
      } else if (message.kind === "tombstone") {
        await this.#finish(origin);
      } else if (message.kind === "enter-gate" || message.kind === "leave-gate") {
        await this.#finish(origin, ...(await this.#shard.answerForGate(message)));
      } else if (message.kind === "admit") {
        const { refusal } = message;
        const input = { type: "AdmitInstance", ...(refusal !== undefined && { refusal }) } as const;
        await this.#shard.tellInstance(message.to, { input, origin });
      } else await this.#shard.tellInstance(message.to, { input: await childEnded(message, read), origin });
    } catch (error) {
      if (isTransient(error)) throw error;
      await this.#noteUndeliverable(message, origin, error);
    }
  }

  /**
   * Nothing in its receiver's state would show that it came before, and a turn may have consumed it ahead of an earlier
   * message, of which only memory knew. So it leaves its key with that turn.
   */
  async #raiseEvent({ to, name, data }: RaiseEvent, origin: Origin): Promise<void> {
    const key = `message:${origin.source}:${origin.number}`;
    if (this.#mayBeRepeated(origin) && (await this.#shard.isRequestKnown(key))) return await this.#finish(origin);
    const input = { type: "RaiseEvent", name, ...(data !== undefined && { data }) } as const;
    await this.#shard.tellInstance(to, { input, origin, key });
  }

  /** To an earlier owner of the shard: it was in the store when this one first looked. */
  #mayBeRepeated({ source, number }: Origin): boolean {
    return this.#lastAtOpening === undefined || number <= (this.#lastAtOpening.get(source) ?? 0);
  }

  /** What was in the store for this shard; the first look shows all that an earlier owner may have consumed. */
  noteOutbox(rows: readonly OutboxRow[]): void {
    this.#lastAtOpening ??= new Map(rows.map(({ source, number }) => [source, number]));
  }

  /** Does not wait for the child's first commit: many children share one. */
  async #startChild(message: StartChild, given: GivenToChild, origin: Origin): Promise<void> {
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
   * A child's id is made of its parent's: one that is used again finds the finished child of its earlier life. One that
   * code has chosen may be chosen again by the same parent.
   */
  async #startNew(message: StartChild, given: GivenToChild, origin: Origin): Promise<{ committed: Promise<void> }> {
    try {
      return await this.#shard.startChild(message, given, { origin, reuse: false });
    } catch (error) {
      if (!hasCode(error, "INSTANCE_EXISTS") || (await this.#childOf(message))) throw error;
      const { parent, to, isGivenId } = message;
      if (isGivenId && (parent === undefined || !(await this.#shard.childOf(parent, to)))) throw error;
      return await this.#shard.startChild(message, given, { origin, reuse: true });
    }
  }

  /** One that was to be on its own and is there has been started by this message before. */
  async #childOf({ parent, to, isGivenId }: StartChild): Promise<Pick<KnownChild, "end"> | undefined> {
    if (parent === undefined) return { end: undefined };
    const known = await this.#shard.childOf(parent, to);
    return isGivenId && known?.isSameTask === false ? undefined : known;
  }

  /** A child that the engine's stop left unwritten is not refused: its message comes again. */
  async #refuseStart(message: StartChild, origin: Origin, error: unknown): Promise<void> {
    if (!isTransient(error)) await this.#answerForChild(message.parent, origin, error);
  }

  #logStuck(message: OutboxMessage): (error: unknown) => void {
    const { from, to } = message;
    // What passes, such as a stop or a move, is made good by whoever opens the shard next.
    return (error) => {
      const level = isTransient(error) ? "debug" : "error";
      this.#shard.logger[level]({ from, to, error: messageOf(error) }, "a message could not be handed on");
    };
  }

  async #noteUndeliverable(message: OutboxMessage, origin: Origin, error: unknown): Promise<void> {
    const { from, to, kind } = message;
    this.#shard.logger.warn(
      { from, to, kind, error: messageOf(error) },
      "a message between instances found no receiver",
    );
    const retried =
      message.kind === "tell-child" && message.order.type === "RetryInstance" ? message.order.parent : undefined;
    await this.#answerForChild(retried, origin, error);
  }

  /** The parent will hear that the child is not to be had. */
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

  /** In one commit: the message is done with, and what it is answered with is on its way. */
  async #finish(origin: Origin, ...answers: OutboxMessage[]): Promise<void> {
    await this.#shard.send(answers, () => this.consume([origin]));
  }
}

const transientCodes = ["ENGINE_STATE", "SHARD_MOVED", "MEMBER_LOST", "STORE_FENCED", "STORE_UNAVAILABLE"] as const;

/** It says nothing about the message: the message comes again to whoever opens the shard next. */
function isTransient(error: unknown): boolean {
  return transientCodes.some((code) => hasCode(error, code));
}

async function childEnded(
  message: TellParent,
  read: (refs: readonly number[]) => Promise<string[]>,
): Promise<ChildEnded> {
  const { task, attempt, generation, status, isMissing, reason, outputs, patch } = message;
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
    ...(reason !== undefined && { reason }),
    ...(patch !== undefined && { patch: await readPatch(patch, read) }),
  };
}

async function readPatch(
  patch: NonNullable<TellParent["patch"]>,
  read: (refs: readonly number[]) => Promise<string[]>,
): Promise<Record<string, string | null>> {
  const removed = Object.keys(patch).filter((key) => patch[key] === null);
  const set = Object.fromEntries(
    Object.entries(patch).flatMap(([key, value]) => (value === null ? [] : [[key, value]])),
  );
  return { ...(await readTexts(set, read)), ...Object.fromEntries(removed.map((key) => [key, null])) };
}
