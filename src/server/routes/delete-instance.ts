import { qualify } from "../../base/namespace.ts";
import { logTopic } from "../../telemetry/task-logs.ts";
import type { RouteParts } from "./route-parts.ts";

/** Deletes an instance, with its children unless told otherwise, and their task logs. Returns how many were deleted. */
export async function deleteInstance(
  parts: Pick<RouteParts, "namespace" | "engine" | "store" | "taskLogs">,
  instanceId: string,
  { recursive = true }: { readonly recursive?: boolean } = {},
): Promise<number> {
  const { namespace, engine, store, taskLogs } = parts;
  const purged: string[] = [];
  try {
    return await engine.purgeWorkflowInstances({ instanceId, recursive, onPurged: (id) => purged.push(id) });
  } finally {
    // Buffered lines would be written after the deletion.
    await taskLogs.flush();
    for (const id of purged) await store.deleteTopic(logTopic(qualify(namespace, id)));
  }
}
