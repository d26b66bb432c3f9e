import { qualify } from "../../base/namespace.ts";
import { logTopic } from "../../telemetry/task-logs.ts";
import type { RouteParts } from "./route-parts.ts";

/** Deletes an instance with its children and their task logs. */
export async function deleteInstance(parts: RouteParts, instanceId: string): Promise<void> {
  const { namespace, engine, store, taskLogs } = parts;
  const purged: string[] = [];
  try {
    await engine.purgeWorkflowInstances({ instanceId, recursive: true, onPurged: (id) => purged.push(id) });
  } finally {
    // Buffered lines would be written after the deletion.
    await taskLogs.flush();
    for (const id of purged) await store.deleteTopic(logTopic(qualify(namespace, id)));
  }
}
