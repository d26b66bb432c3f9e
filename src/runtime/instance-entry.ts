import type { InstanceStatus } from "../kernel/status.ts";
import type { InstanceRow } from "../stores/store.ts";
import type { InstanceActor } from "./instance-actor.ts";
import type { Reply } from "./message.ts";

/** Most entries have no waiters; a list is made with its first item, and this one stays empty. */
const none: never[] = [];

/** The entry of an unfinished instance in memory, whether or not its actor is there. */
export class InstanceEntry {
  readonly id: string;
  readonly key: number;
  readonly workflow: string;
  readonly version: string;
  status: InstanceStatus;
  actor: InstanceActor | undefined;
  loading: Promise<void> | undefined;
  lastTurnAt: number;
  /** The reason of its quarantine; undefined if it is in service. */
  quarantined: string | undefined;
  isReportedStuck = false;
  /**
   * True if its turns were in its row when it left memory, or when the row was read. Most instances that leave memory are at
   * rest, and have rows of history; but code may come to rest without a turn that says so.
   */
  hasTurnsInRow = false;
  /** True while the table of its shard has it. `InstanceTable` sets it. */
  isListed = false;
  /** Number of tasks waiting after its last turn (`InstanceState.waitingCount`). `InstanceTable` keeps the sum. */
  waitingTasks = 0;
  #waiters: Reply<InstanceActor>[] = none;
  #watchers: Reply<void>[] = none;

  constructor(options: {
    id: string;
    key: number;
    workflow: string;
    version: string;
    status: InstanceStatus;
    at: number;
  }) {
    this.id = options.id;
    this.key = options.key;
    this.workflow = options.workflow;
    this.version = options.version;
    this.status = options.status;
    this.lastTurnAt = options.at;
  }

  /**
   * True if the instance has tasks of its own in flight and has made no progress since then. An instance that waits for
   * a timer or an event may wait for years, and so may one that waits for a child, which has an entry of its own.
   */
  isStuck(before: number): boolean {
    return this.lastTurnAt < before && this.status === "Running" && this.actor?.hasOwnWork === true;
  }

  /**
   * Evicts the actor if it is idle, and has no turn and waits for none; returns whether it did. Code without messages may
   * wait for a turn, too: while it waits for a reaction slot. Evicted, it would lose that turn.
   */
  evictIfIdle(): boolean {
    const { actor } = this;
    if (actor === undefined || !actor.isIdle || actor.isBusy || actor.isQueued) return false;
    this.hasTurnsInRow = actor.turnText !== null;
    this.actor = undefined;
    return true;
  }

  /** Puts an actor into service, in place of any other. */
  attach(actor: InstanceActor): void {
    this.actor = actor;
    actor.entry = this;
  }

  get hasWaiters(): boolean {
    return this.#waiters.length > 0;
  }

  /** Adds somebody who waits for its end. */
  addWaiter(waiter: Reply<InstanceActor>): void {
    if (this.#waiters === none) this.#waiters = [waiter];
    else this.#waiters.push(waiter);
  }

  takeWaiters(): readonly Reply<InstanceActor>[] {
    const waiters = this.#waiters;
    this.#waiters = none;
    return waiters;
  }

  /** Adds somebody who waits for its next turn. */
  addWatcher(watcher: Reply<void>): void {
    if (this.#watchers === none) this.#watchers = [watcher];
    else this.#watchers.push(watcher);
  }

  takeWatchers(): readonly Reply<void>[] {
    const watchers = this.#watchers;
    this.#watchers = none;
    return watchers;
  }

  static fromRow(row: InstanceRow): InstanceEntry {
    const { id, key, workflow, version, status, updatedAt } = row;
    const entry = new InstanceEntry({ id, key, workflow, version, status, at: updatedAt });
    entry.quarantined = row.quarantined ?? undefined;
    entry.hasTurnsInRow = row.history !== null;
    entry.waitingTasks = row.quarantined === null ? row.waitingTasks : 0;
    return entry;
  }
}
