import { hasEnded } from "../kernel/status.ts";
import type { Shard } from "./shard.ts";

export interface InstanceCounts {
  readonly unfinished: number;
  readonly inMemory: number;
  readonly quarantined: number;
  /** Messages that no turn has taken yet. */
  readonly unread: number;
  readonly droppedReports: number;
  /** Ids of instances that have made no progress since they were found to be stuck. */
  readonly stuck: readonly string[];
}

export function countInstances(shards: readonly Shard[]): InstanceCounts {
  const counts = {
    unfinished: 0,
    inMemory: 0,
    quarantined: 0,
    unread: 0,
    droppedReports: 0,
    stuck: new Array<string>(),
  };
  for (const shard of shards) {
    counts.droppedReports += shard.droppedReports;
    for (const entry of shard.instances.entries) {
      if (!hasEnded(entry.status)) counts.unfinished++;
      if (entry.actor !== undefined) counts.inMemory++;
      counts.unread += entry.actor?.inbox.length ?? 0;
      if (entry.quarantined !== undefined) counts.quarantined++;
      if (entry.isReportedStuck) counts.stuck.push(entry.id);
    }
  }
  return counts;
}
