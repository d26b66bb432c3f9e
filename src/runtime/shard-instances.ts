import { hasCode } from "../base/error.ts";
import { attemptId } from "../kernel/address.ts";
import type { TurnQuery } from "../kernel/code/turn-question.ts";
import type { Machine } from "../kernel/machine.ts";
import type { EndedMap } from "./ended-maps.ts";
import type { Input } from "./input.ts";
import type { InstanceActor } from "./instance-actor.ts";
import type { InstanceEntry } from "./instance-entry.ts";
import { type InstanceTable, unknownInstance } from "./instance-table.ts";
import type { Message, InputMessage } from "./message.ts";
import type { AttemptHosting } from "./delegated-attempts.ts";
import type { ShardState } from "./shard-state.ts";
import { type WaitingTask, waitingTasksOf } from "./waiting-task.ts";
import type { WorkflowGates } from "./workflow-gate.ts";

export interface ShardInstancesParts {
  readonly table: InstanceTable;
  readonly state: ShardState;
  readonly gates: WorkflowGates;
  readonly hosting: AttemptHosting;
}

/**
 * The instances of a shard, as callers reach them: messages and queries go into an inbox here, and an instance that is not
 * in memory is loaded first.
 */
export class ShardInstances {
  readonly #table: InstanceTable;
  readonly #state: ShardState;
  readonly #gates: WorkflowGates;
  readonly #hosting: AttemptHosting;

  constructor(parts: ShardInstancesParts) {
    this.#table = parts.table;
    this.#state = parts.state;
    this.#gates = parts.gates;
    this.#hosting = parts.hosting;
  }

  /** Every unfinished instance, and those ended ones that are in memory. */
  get entries(): Iterable<InstanceEntry> {
    return this.#table.all();
  }

  /** Counts tasks that wait inside instances, and instances that wait as a whole. */
  get waitingCount(): number {
    return this.#table.waitingCount;
  }

  /**
   * Lists the tasks that wait inside an instance, which is loaded if it is not in memory; none of one that has gone, or is
   * quarantined, by the time it is asked.
   */
  async listWaiting(id: string): Promise<WaitingTask[]> {
    try {
      return await this.ask(id, (_, actor) => waitingTasksOf(actor));
    } catch (error) {
      const isGone = hasCode(error, "INSTANCE_UNKNOWN") || hasCode(error, "INSTANCE_QUARANTINED");
      if (isGone || this.#state.isClosed) return [];
      throw error;
    }
  }

  /** The state of an instance that is in memory, which may be ahead of the store. */
  peek(id: string): Machine | undefined {
    return this.#table.get(id)?.actor?.machine;
  }

  /** Returns whether the instance exists durably, whatever its state. */
  async has(id: string, options: { isInOrder?: boolean } = {}): Promise<boolean> {
    try {
      return await this.ask(id, () => true, options);
    } catch (error) {
      if (hasCode(error, "INSTANCE_UNKNOWN")) return false;
      if (hasCode(error, "INSTANCE_QUARANTINED")) return true;
      throw error;
    }
  }

  /** Resolves when what the input led to is durable; `EngineError` if it is refused. */
  async tell(id: string, input: (machine: Machine) => Input, key?: string): Promise<void> {
    const reply = Promise.withResolvers<void>();
    await this.withActor(id, (actor) => {
      const told = { input: input(actor.machine), reply };
      actor.tell(key === undefined ? told : { ...told, key });
    });
    return reply.promise;
  }

  /** Resolves when the message is in the instance's inbox. */
  async deliver(id: string, message: Message): Promise<void> {
    await this.#state.retryWhileOpen(() => this.withActor(id, (actor) => actor.tell(message)));
  }

  /**
   * Queries the durable state. With `ofCode` the instance's code answers, where it has one: it is brought back first. With
   * `withCode` it is brought back too, unless that has to wait. A query that is not `isInOrder` may be answered ahead of
   * messages that wait for the code.
   */
  async ask<T>(
    id: string,
    query: (machine: Machine, actor: InstanceActor) => T,
    options: { ofCode?: TurnQuery; withCode?: boolean; isInOrder?: boolean } = {},
  ): Promise<T> {
    const reply = Promise.withResolvers<void>();
    const answer: T[] = [];
    await this.withActor(id, (actor) => {
      const answerFrom = (machine: Machine): void => {
        if (machine.state.generation === 0) throw unknownInstance(id);
        answer[0] = query(machine, actor);
      };
      // The state in memory is that in the store if no message and no turn is outstanding: there is no commit to wait
      // for.
      const isPlain = options.ofCode === undefined || !actor.needsPreparation;
      const lacksCode = options.withCode === true && actor.lacksCode;
      if (!isPlain || lacksCode || actor.hasMessages || actor.isBusy || this.#state.isClosed)
        return actor.tell({
          query: answerFrom,
          ofCode: !isPlain,
          codeQuery: options.ofCode,
          isInOrder: options.isInOrder,
          reply,
        });
      answerFrom(actor.machine);
      reply.resolve();
    });
    await reply.promise;
    return answer[0] as T;
  }

  /** Queries the maps of an instance. One that has ended need not come into memory for each page. */
  async askMaps<T>(id: string, query: (instance: EndedMap) => T): Promise<T> {
    const kept = this.#state.isClosed ? undefined : this.#table.findEndedMap(id);
    return kept === undefined ? await this.ask(id, (_, actor) => query(actor)) : query(kept);
  }

  /** Waits until everything that the instance was told before is durable, also messages that wait for its code. */
  async flush(id: string): Promise<void> {
    const actor = this.#table.get(id)?.actor;
    if (actor !== undefined && (actor.hasMessages || actor.isBusy)) await this.has(id, { isInOrder: true });
  }

  /** Calls `use` synchronously with the actor that was found: an ended actor is evicted afterwards. */
  async withActor(id: string, use: (actor: InstanceActor) => void): Promise<void> {
    for (;;) {
      const actor = this.#table.get(id)?.actor;
      if (actor !== undefined) return this.#useAndEvict(actor, use);
      const loaded = { isUsed: false };
      await this.#load(id, (ended) => {
        loaded.isUsed = true;
        this.#useAndEvict(ended, use);
      });
      if (loaded.isUsed) return;
    }
  }

  #useAndEvict(actor: InstanceActor, use: (actor: InstanceActor) => void): void {
    try {
      use(actor);
    } finally {
      this.evictIfOver(actor);
    }
  }

  /** State that was read from the store counts only while the shard is open: the next owner may have written since. */
  async #load(id: string, useEnded: (actor: InstanceActor) => void): Promise<void> {
    try {
      await this.#table.load(id, (actor) => {
        this.#state.refuseIfClosed();
        useEnded(actor);
      });
    } catch (error) {
      this.#state.refuseIfClosed();
      throw error;
    }
    this.#state.refuseIfClosed();
  }

  /** An instance that has ended, or whose start was refused, stays in memory only while it has messages. */
  evictIfOver(actor: InstanceActor): void {
    if (!actor.isInboxEmpty || actor.isBusy || actor.owesAnswers) return;
    if (!actor.hasEnded && !actor.isUnborn) return;
    const entry = this.#table.entryOf(actor);
    if (entry === undefined) return;
    if (actor.isUnborn) this.#gates.leave(entry.workflow, entry.id);
    if (actor.hasEnded) this.#table.evictEnded(actor);
    else this.#table.delete(actor.id);
    if (entry.hasWaiters) this.dismiss(entry, unknownInstance(actor.id));
  }

  dismissAll(error: unknown): void {
    for (const entry of this.entries) this.dismiss(entry, error);
  }

  /** Rejects everyone who waits for the instance; returns the messages that it had not read. */
  dismiss(entry: InstanceEntry, error: unknown): Message[] {
    const { actor } = entry;
    for (const waiter of [...entry.takeWaiters(), ...entry.takeWatchers()]) waiter.reject(error);
    return actor === undefined ? [] : this.abandon(actor, error);
  }

  /** Rejects the messages of an actor that will have no further turn, and returns them. */
  abandon(actor: InstanceActor, error: unknown): Message[] {
    const unread = actor.abandonInbox();
    for (const message of unread) {
      const isReported = this.#state.isReleased && "input" in message && this.#reportToNextOwner(actor, message);
      if (!isReported) message.reply?.reject(error);
    }
    return unread;
  }

  /** Reports the result of an attempt that ran here while the shard moved. False for any other message. */
  #reportToNextOwner({ id, machine: { address } }: InstanceActor, { input, reply }: InputMessage): boolean {
    if (input.type !== "AttemptEnded") return false;
    const { task, attempt, generation } = input;
    const run = { attemptId: attemptId({ ...address, generation }, task, attempt), instanceId: id };
    this.#hosting.report(run, input, () => reply?.resolve());
    return true;
  }
}
