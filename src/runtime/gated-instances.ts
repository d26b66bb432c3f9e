import { hasEnded } from "../kernel/status.ts";
import type { Shard } from "./shard.ts";
import type { UnfinishedInstance, WorkflowGates } from "./workflow-gate.ts";

/**
 * The instances of a workflow that hold or wait for a place at its gate. Quarantined ones do not wait, and an ended one
 * that is in memory, to be queried or reopened, holds no place.
 */
export function* unfinishedInstances(shards: readonly Shard[], workflow: string): Iterable<UnfinishedInstance> {
  for (const shard of shards) {
    for (const { id, workflow: of, status, quarantined } of shard.instances.entries) {
      if (of !== workflow || hasEnded(status)) continue;
      const isWaiting = status === "Ready";
      if (!isWaiting || quarantined === undefined) yield { id, isWaiting };
    }
  }
}

/** Opens the gates of workflows with waiting instances again, after a start. */
export async function restoreGates(gates: WorkflowGates, shards: readonly Shard[]): Promise<void> {
  const waiting = new Map<string, { shard: Shard; id: string }>();
  for (const shard of shards) {
    for (const { workflow, status, id, quarantined } of shard.instances.entries) {
      if (status === "Ready" && quarantined === undefined) waiting.set(workflow, { shard, id });
    }
  }
  for (const [workflow, { shard, id }] of waiting) {
    const limit = await shard.instances.ask(id, (_, actor) => actor.definition.spec.maxInstances);
    gates.restore(workflow, limit);
  }
}
