import type { InstanceStatus } from "../kernel/status.ts";
import type { InstanceRow } from "../stores/store.ts";
import type { InstanceActor } from "./instance-actor.ts";
import type { Reply } from "./message.ts";

/** Most have nobody who waits; a list is made with its first item, and this one stays empty. */
const none: never[] = [];

/** What a shard keeps in memory of every unfinished instance, whether its actor is there or not. */
export class InstanceEntry {
  readonly id: string;
  readonly key: number;
  readonly workflow: string;
  readonly version: string;
  status: InstanceStatus;
  actor: InstanceActor | undefined;
  loading: Promise<void> | undefined;
  lastTurnAt: number;
  /** Why it was taken out of service. */
  quarantined: string | undefined;
  isReportedStuck = false;
  /** What waited in it after its last turn (`InstanceState.waitingCount`). `Residents` keeps the sum. */
  waiting = 0;
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
   * It has something under way and has made no progress since then. What waits for its time or an event may wait for
   * years, and so may what waits for a child, which is judged by itself.
   */
  isStuck(before: number): boolean {
    return this.lastTurnAt < before && this.status === "Running" && this.actor?.hasOwnWork === true;
  }

  get hasWaiters(): boolean {
    return this.#waiters.length > 0;
  }

  /** Waits for its end. */
  addWaiter(waiter: Reply<InstanceActor>): void {
    if (this.#waiters === none) this.#waiters = [waiter];
    else this.#waiters.push(waiter);
  }

  takeWaiters(): readonly Reply<InstanceActor>[] {
    const waiters = this.#waiters;
    this.#waiters = none;
    return waiters;
  }

  /** Waits for its next turn. */
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
    entry.waiting = row.quarantined === null ? row.waiting : 0;
    return entry;
  }
}
