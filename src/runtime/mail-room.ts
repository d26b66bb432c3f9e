import { hasCode, messageOf } from "../base/error.ts";
import type { Logger } from "../base/logger.ts";
import type { ParentAddress } from "../kernel/address.ts";
import { payloadBytesMax } from "../kernel/payload.ts";
import type { ChildEnded } from "../kernel/input.ts";
import { utf8Length } from "../base/utf8.ts";
import { parseStored } from "../base/stored-json.ts";
import type { MarkRow, OutboxRow } from "../stores/store.ts";
import type { Message, Origin } from "./message.ts";
import { InboundMark } from "./inbound-mark.ts";
import type { Admit, EnterGate, LeaveGate, Letter, Outbox, RaiseEvent, StartChild, TellParent } from "./outbox.ts";
import { bytesOf, objectText, readText, readTexts } from "./task-inputs.ts";

/** What the mail room needs of its shard. */
export interface MailShard {
  readonly number: number;
  readonly logger: Logger;
  readonly outbox: Outbox;
  /** Letters wait for the next start. */
  readonly isClosed: boolean;
  shardOf(instanceId: string): number;
  readPayloads(instance: number, refs: readonly number[]): Promise<string[]>;
  /** Resolves when the child can be told things; `committed` when it exists for good. */
  startChild(
    letter: StartChild,
    given: GivenToChild,
    options: { origin: Origin; reuse: boolean },
  ): Promise<{ committed: Promise<void> }>;
  /** `INSTANCE_UNKNOWN`, `INSTANCE_PARKED`. */
  tellInstance(id: string, message: Message): Promise<void>;
  /** The same; `INSTANCE_UNKNOWN` also if it is not a child of the instance with that key. */
  tellChild(id: string, parentKey: number, message: Message): Promise<void>;
  /** If the instance is the parent's own child, what it has to tell about its end, and whether it is that task's. */
  childOf(parent: ParentAddress, id: string): Promise<KnownChild | undefined>;
  /** A turn has left that key. */
  isRequestKnown(key: string): Promise<boolean>;
  /** What the gate of a workflow has to say to that. */
  answerForGate(letter: EnterGate | LeaveGate): Promise<Admit[]>;
  /** Writes letters that no turn caused, with marks of what they answer, and posts them. */
  send(letters: readonly Letter[], marks: () => MarkRow[]): Promise<void>;
}

export interface KnownChild {
  readonly end: Letter | undefined;
  readonly isSameTask: boolean;
}

/** What a child is to begin with, as texts: the context of a DAG, or what code gave it. */
export interface GivenToChild {
  readonly context: Readonly<Record<string, string>> | undefined;
  readonly input: string | undefined;
}

/**
 * Letters that come in from other instances, of this shard or another. They are handed on in the order they were sent,
 * and a letter is done with when a turn has consumed it durably; until then it comes again after a crash.
 */
export class MailRoom {
  readonly #shard: MailShard;
  readonly #inbound = new Map<number, InboundMark>();
  /** By source, the last letter that was sent before this owner looked; undefined before it has. */
  #lastBefore: ReadonlyMap<number, number> | undefined;
  #handingOn: Promise<void> = Promise.resolve();
  #isStuck = false;

  constructor(shard: MailShard) {
    this.#shard = shard;
  }

  restore(marks: readonly MarkRow[]): void {
    for (const { source, number } of marks) this.#inbound.set(source, new InboundMark(number));
  }

  markOf(source: number): InboundMark {
    let mark = this.#inbound.get(source);
    if (mark === undefined) this.#inbound.set(source, (mark = new InboundMark(0)));
    return mark;
  }

  /** False if a letter that was sent before is missing: it has to be looked for in the store. */
  receive(row: OutboxRow): boolean {
    const inbound = this.markOf(row.source);
    for (const { source, number, body } of inbound.received(row)) {
      const letter = parseStored(body, `letter ${number} of shard ${source}`) as Letter;
      this.#handingOn = this.#handingOn
        .then(() => this.#handOn({ source, number }, letter))
        .catch((error: unknown) => {
          if (isPassing(error)) this.#isStuck = true;
          this.#logStuck(letter)(error);
        });
    }
    return !inbound.hasGap;
  }

  /** All that came in has been handed on. */
  async settled(): Promise<void> {
    await this.#handingOn;
  }

  /** The turns of one commit consumed these; the rows say how far that brings each source. */
  consumed(origins: Iterable<Origin>): MarkRow[] {
    const moved = new Set<number>();
    for (const { source, number } of origins) {
      this.markOf(source).consumed(number);
      moved.add(source);
    }
    return Array.from(moved, (source) => ({ shard: this.#shard.number, source, number: this.markOf(source).mark }));
  }

  async #handOn(origin: Origin, letter: Letter): Promise<void> {
    // Those that come after one that could not be handed on must not overtake it: the next owner reads them all.
    if (this.#shard.isClosed || this.#isStuck) return;
    const read = (refs: readonly number[]): Promise<string[]> => this.#shard.readPayloads(letter.from, refs);
    try {
      if (letter.kind === "start-child") {
        const { context, input } = letter;
        const given = {
          context: context && (await readTexts(context, read)),
          input: await readText(input, read),
        };
        await this.#startChild(letter, given, origin);
      } else if (letter.kind === "tell-child") {
        const { to, from, order } = letter;
        // Any code may ask any instance to end.
        if (order.type === "RequestCancel") await this.#shard.tellInstance(to, { input: order, origin });
        else await this.#shard.tellChild(to, from, { input: order, origin });
      } else if (letter.kind === "raise-event") {
        await this.#raiseEvent(letter, origin);
      } else if (letter.kind === "void") {
        await this.#done(origin);
      } else if (letter.kind === "enter-gate" || letter.kind === "leave-gate") {
        await this.#done(origin, ...(await this.#shard.answerForGate(letter)));
      } else if (letter.kind === "admit") {
        const { refusal } = letter;
        const input = { type: "AdmitWorkflow", ...(refusal !== undefined && { refusal }) } as const;
        await this.#shard.tellInstance(letter.to, { input, origin });
      } else await this.#shard.tellInstance(letter.to, { input: await childEnded(letter, read), origin });
    } catch (error) {
      if (isPassing(error)) throw error;
      await this.#undeliverable(letter, origin, error);
    }
  }

  /**
   * Nothing in its receiver's state would show that it came before, and a turn may have consumed it ahead of an earlier
   * letter, of which only memory knew. So it leaves its key with that turn.
   */
  async #raiseEvent({ to, name, data }: RaiseEvent, origin: Origin): Promise<void> {
    const key = `letter:${origin.source}:${origin.number}`;
    if (this.#mayHaveCome(origin) && (await this.#shard.isRequestKnown(key))) return await this.#done(origin);
    const input = { type: "RaiseEvent", name, ...(data !== undefined && { data }) } as const;
    await this.#shard.tellInstance(to, { input, origin, key });
  }

  /** To an earlier owner of the shard: it was in the store when this one first looked. */
  #mayHaveCome({ source, number }: Origin): boolean {
    return this.#lastBefore === undefined || number <= (this.#lastBefore.get(source) ?? 0);
  }

  /** What was in the store for this shard; the first look shows all that an earlier owner may have consumed. */
  looked(rows: readonly OutboxRow[]): void {
    this.#lastBefore ??= new Map(rows.map(({ source, number }) => [source, number]));
  }

  /** Does not wait for the child's first commit: many children share one. */
  async #startChild(letter: StartChild, given: GivenToChild, origin: Origin): Promise<void> {
    try {
      const { committed } = await this.#startNew(letter, given, origin);
      committed.catch((error: unknown) => this.#refuse(letter, origin, error)).catch(this.#logStuck(letter));
    } catch (error) {
      const known = hasCode(error, "INSTANCE_EXISTS") ? await this.#childOf(letter) : undefined;
      if (known !== undefined) return await this.#done(origin, ...(known.end === undefined ? [] : [known.end]));
      if (isPassing(error)) throw error;
      await this.#answerForChild(letter.parent, origin, error);
    }
  }

  /**
   * A child's id is made of its parent's: one that is used again finds the finished child of its earlier life. One that
   * code has chosen may be chosen again by the same parent.
   */
  async #startNew(letter: StartChild, given: GivenToChild, origin: Origin): Promise<{ committed: Promise<void> }> {
    try {
      return await this.#shard.startChild(letter, given, { origin, reuse: false });
    } catch (error) {
      if (!hasCode(error, "INSTANCE_EXISTS") || (await this.#childOf(letter))) throw error;
      const { parent, to, isGivenId } = letter;
      if (isGivenId && (parent === undefined || !(await this.#shard.childOf(parent, to)))) throw error;
      return await this.#shard.startChild(letter, given, { origin, reuse: true });
    }
  }

  /** One that was to be on its own and is there has been started by this letter before. */
  async #childOf({ parent, to, isGivenId }: StartChild): Promise<Pick<KnownChild, "end"> | undefined> {
    if (parent === undefined) return { end: undefined };
    const known = await this.#shard.childOf(parent, to);
    return isGivenId && known?.isSameTask === false ? undefined : known;
  }

  /** A child that the engine's stop left unwritten is not refused: its letter comes again. */
  async #refuse(letter: StartChild, origin: Origin, error: unknown): Promise<void> {
    if (!isPassing(error)) await this.#answerForChild(letter.parent, origin, error);
  }

  #logStuck(letter: Letter): (error: unknown) => void {
    const { from, to } = letter;
    // What passes, such as a stop or a move, is made good by whoever opens the shard next.
    return (error) => {
      const level = isPassing(error) ? "debug" : "error";
      this.#shard.logger[level]({ from, to, error: messageOf(error) }, "a letter could not be handed on");
    };
  }

  async #undeliverable(letter: Letter, origin: Origin, error: unknown): Promise<void> {
    const { from, to, kind } = letter;
    this.#shard.logger.warn(
      { from, to, kind, error: messageOf(error) },
      "a letter between instances found no receiver",
    );
    const retried =
      letter.kind === "tell-child" && letter.order.type === "RetryWorkflow" ? letter.order.parent : undefined;
    await this.#answerForChild(retried, origin, error);
  }

  /** The parent will hear that the child is not to be had. */
  async #answerForChild(parent: ParentAddress | undefined, origin: Origin, error: unknown): Promise<void> {
    if (parent === undefined) return await this.#done(origin);
    const { id: to, task, attempt, generation } = parent;
    const reason = messageOf(error);
    await this.#done(origin, {
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

  /** In one commit: the letter is done with, and what it is answered with is on its way. */
  async #done(origin: Origin, ...answers: Letter[]): Promise<void> {
    await this.#shard.send(answers, () => this.consumed([origin]));
  }
}

const passing = ["ENGINE_STATE", "SHARD_MOVED", "MEMBER_LOST", "STORE_FENCED", "STORE_UNAVAILABLE"] as const;

/** It says nothing about the letter: the letter comes again to whoever opens the shard next. */
function isPassing(error: unknown): boolean {
  return passing.some((code) => hasCode(error, code));
}

async function childEnded(
  letter: TellParent,
  read: (refs: readonly number[]) => Promise<string[]>,
): Promise<ChildEnded> {
  const { task, attempt, generation, status, isMissing, reason, outputs, patch } = letter;
  const report = { type: "ChildEnded", task, attempt, generation } as const;
  const tooLarge = `the outputs of its tasks together take more than ${payloadBytesMax} bytes`;
  if (outputs !== undefined && bytesOf(outputs) > payloadBytesMax)
    return { ...report, status: "Failed", reason: tooLarge };
  const output =
    outputs === undefined ? await readText(letter.output, read) : objectText(await readTexts(outputs, read));
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
