import { EngineError } from "../../base/error.ts";
import type { HistoryEvent } from "../../durabletask/history-messages.ts";
import { HistoryRenderer } from "../../durabletask/history-renderer.ts";
import type { Given } from "../../durabletask/message.ts";
import type { EngineNamespace } from "../../engine/engine-namespace.ts";

/** The history of an instance of code, as that of an orchestration. `INSTANCE_UNKNOWN`, `INSTANCE_STATE` for a DAG. */
export async function readHistory(
  engine: Pick<EngineNamespace, "getWorkflowInstanceStatus" | "exportWorkflowInstanceHistory">,
  instanceId: string,
): Promise<Given<HistoryEvent>[]> {
  const { kind } = await engine.getWorkflowInstanceStatus(instanceId);
  if (kind === "dag") {
    const message = `instance "${instanceId}" is a DAG, which has no orchestrator's history; read it with GET /api/instance/${instanceId}/history`;
    throw new EngineError("INSTANCE_STATE", message);
  }
  const { instanceId: id, turns } = await engine.exportWorkflowInstanceHistory(instanceId);
  const renderer = new HistoryRenderer({ instanceId: id, withPauses: true });
  return turns.flatMap((turn) => renderer.render(turn));
}

/** Events of a chunk of a stream: well below what clients take in one message by default, unless the values are large. */
const chunkEvents = 500;

export function chunksOf(events: readonly Given<HistoryEvent>[]): (readonly Given<HistoryEvent>[])[] {
  const chunks: (readonly Given<HistoryEvent>[])[] = [];
  for (let from = 0; from < events.length; from += chunkEvents) chunks.push(events.slice(from, from + chunkEvents));
  return chunks;
}
