import type { InstanceStatus } from "../kernel/status.ts";
import type { InstanceRow } from "../stores/store.ts";
import type { InstanceActor } from "./instance-actor.ts";
import type { Reply } from "./message.ts";

/** What a shard keeps in memory of every unfinished instance, whether its actor is there or not. */
export class InstanceEntry {
  readonly id: string;
  readonly key: number;
  readonly workflow: string;
  readonly version: string;
  status: InstanceStatus;
  actor: InstanceActor | undefined;
  loading: Promise<void> | undefined;
  /** Those who wait for its end. */
  readonly waiters: Reply<InstanceActor>[] = [];
  /** Those who wait for its next turn. */
  readonly watchers: Reply<void>[] = [];
  lastTurnAt: number;
  /** Why it was taken out of service. */
  parked: string | undefined;
  isReportedStuck = false;

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

  static fromRow(row: InstanceRow): InstanceEntry {
    const { id, key, workflow, version, status, updatedAt } = row;
    const entry = new InstanceEntry({ id, key, workflow, version, status, at: updatedAt });
    entry.parked = row.parked ?? undefined;
    return entry;
  }
}
