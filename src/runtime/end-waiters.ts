import { EngineError } from "../base/error.ts";
import { localName } from "../base/namespace.ts";
import { CodeMachine } from "../kernel/code/code-machine.ts";
import type { UpdateAnswered } from "../kernel/event.ts";
import type { Machine } from "../kernel/machine.ts";
import { hasEnded } from "../kernel/status.ts";
import type { ActorTurn, InstanceActor } from "./instance-actor.ts";
import type { InstanceEntry } from "./instance-entry.ts";
import { type InstanceEnd, readEnd } from "./instance-query.ts";
import type { InstanceTable } from "./instance-table.ts";
import type { Reply } from "./message.ts";
import type { ShardInstances } from "./shard-instances.ts";
import type { ShardState } from "./shard-state.ts";

/** Callers that wait for an instance's end, or for its code's answer to an update. */
export class EndWaiters {
  readonly #table: InstanceTable;
  readonly #instances: ShardInstances;
  readonly #state: ShardState;
  readonly #sharedEnds = new Map<string, Promise<InstanceEnd>>();

  constructor(parts: { table: InstanceTable; instances: ShardInstances; state: ShardState }) {
    this.#table = parts.table;
    this.#instances = parts.instances;
    this.#state = parts.state;
  }

  /**
   * Resolves with what `read` finds at the instance's end, once the end is durable. `read` is called synchronously while
   * the end is released: later the actor may be in a turn that is not durable yet.
   */
  awaitEnd<T>(id: string, read: (actor: InstanceActor) => T): Promise<T> {
    const caller = Promise.withResolvers<T>();
    this.answerAtEnd(id, read, caller);
    return caller.promise;
  }

  /** Settles the reply as `awaitEnd` does its promise. */
  answerAtEnd<T>(id: string, read: (actor: InstanceActor) => T, reply: Reply<T>): void {
    const entry = this.#table.get(id);
    const isUnderWay = entry !== undefined && entry.quarantined === undefined && !entry.actor?.hasEnded;
    if (isUnderWay && !this.#state.isClosed) {
      entry.addWaiter(new EndWaiter(read, reply));
      return;
    }
    this.#findEnd(id, read).then(
      (found) => reply.resolve(found),
      (error: unknown) => reply.reject(error),
    );
  }

  /** Waits like `awaitEnd`, for callers that come back again and again: all of them share one waiter. */
  sharedEnd(id: string): Promise<InstanceEnd> {
    let end = this.#sharedEnds.get(id);
    if (end === undefined) {
      end = this.awaitEnd(id, readEnd).finally(() => this.#sharedEnds.delete(id));
      this.#sharedEnds.set(id, end);
    }
    return end;
  }

  async #findEnd<T>(id: string, read: (actor: InstanceActor) => T): Promise<T> {
    this.#state.refuseIfClosed();
    const end = await this.#instances.ask(id, (_, actor) => (actor.hasEnded ? { found: read(actor) } : undefined));
    return end === undefined ? await this.awaitEnd(id, read) : end.found;
  }

  /** Resolves with the answer of the instance's code to an update, once it is durable. */
  async awaitAnswer(id: string, update: string): Promise<{ key: number; answer: UpdateAnswered }> {
    for (;;) {
      const changed = this.#nextTurn(id);
      const answer = await this.#instances.ask(id, (machine) => answerTo(machine, update));
      if (answer !== undefined) return answer;
      await changed;
    }
  }

  /** Resolves with the next turn of an instance that is under way. It may be left without anybody who waits for it. */
  #nextTurn(id: string): Promise<void> {
    const entry = this.#table.get(id);
    if (entry === undefined) return Promise.resolve();
    const watcher = Promise.withResolvers<void>();
    watcher.promise.catch(() => undefined);
    entry.addWatcher(watcher);
    return watcher.promise;
  }

  /**
   * The turn is released. A turn without events only answered queries: those who wait for the next turn would ask again,
   * and so without end.
   */
  onReleased(entry: InstanceEntry, turn: ActorTurn): void {
    if (turn.hasEnded) for (const waiter of entry.takeWaiters()) waiter.resolve(turn.actor);
    if (turn.events.length > 0) for (const watcher of entry.takeWatchers()) watcher.resolve();
  }
}

/** A caller that waits for an instance's end, and reads something from its actor then. */
class EndWaiter<T> implements Reply<InstanceActor> {
  readonly #read: (actor: InstanceActor) => T;
  readonly #reply: Reply<T>;

  constructor(read: (actor: InstanceActor) => T, reply: Reply<T>) {
    this.#read = read;
    this.#reply = reply;
  }

  resolve(actor: InstanceActor): void {
    let found: T;
    try {
      found = this.#read(actor);
    } catch (error) {
      return this.#reply.reject(error);
    }
    this.#reply.resolve(found);
  }

  reject(error: unknown): void {
    this.#reply.reject(error);
  }
}

/** `INSTANCE_STATE` if no answer will ever come. */
function answerTo(machine: Machine, update: string): { key: number; answer: UpdateAnswered } | undefined {
  const { id, key } = machine.address;
  const state = machine instanceof CodeMachine ? machine.state : undefined;
  const answer = state?.answerTo(update);
  if (answer !== undefined) return { key, answer };
  if (!hasEnded(machine.status) && state?.hasUpdate(update) === true) return undefined;
  const end = hasEnded(machine.status) ? `ended in ${machine.status}` : "began anew";
  throw new EngineError("INSTANCE_STATE", `instance "${localName(id)}" ${end} before it answered`);
}
