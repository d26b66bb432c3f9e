import type { DataOf } from "../../api/routes.ts";
import type { AuthorizedRequest } from "../http/handler.ts";
import type { RouteParts } from "./route-parts.ts";
import { qualify } from "../../base/namespace.ts";

type Query = AuthorizedRequest<"getLogs">["query"];

/** Page size of the scan for lines of one task. */
const pickedFrom = 1000;

/** Reads task logs in order. `next` is the number to continue after. */
export async function readLogs(parts: RouteParts, instanceId: string, query: Query): Promise<DataOf<"getLogs">> {
  const page =
    query.task === undefined ? await readAll(parts, instanceId, query) : await pick(parts, instanceId, query);
  // Distinguishes an instance without lines from an unknown one.
  if (page.items.length === 0) await parts.engine.getWorkflowHandle(instanceId);
  return page;
}

async function readAll(
  { namespace, taskLogs }: RouteParts,
  instanceId: string,
  { after, last, limit }: Query,
): Promise<DataOf<"getLogs">> {
  const items = await taskLogs.read(qualify(namespace, instanceId), {
    last,
    limit,
    ...(after !== undefined && { after }),
  });
  return { items, next: last ? null : nextOf(items, limit) };
}

async function pick(
  { namespace, taskLogs }: RouteParts,
  instanceId: string,
  { after = 0, last, limit, task }: Query,
): Promise<DataOf<"getLogs">> {
  const picked: DataOf<"getLogs">["items"][number][] = [];
  for (let from = after; ;) {
    const lines = await taskLogs.read(qualify(namespace, instanceId), { after: from, limit: pickedFrom });
    picked.push(...lines.filter(({ taskName }) => taskName === task));
    if (last && picked.length > limit) picked.splice(0, picked.length - limit);
    from = lines.at(-1)?.number ?? from;
    const isEnd = lines.length < pickedFrom;
    if (!isEnd && (last || picked.length < limit)) continue;
    const items = picked.slice(0, limit);
    return { items, next: last || (isEnd && picked.length <= limit) ? null : nextOf(items, limit) };
  }
}

function nextOf(items: readonly { readonly number: number }[], limit: number): string | null {
  const end = items.at(-1);
  return items.length === limit && end !== undefined ? String(end.number) : null;
}
