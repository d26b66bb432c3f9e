import type { DataOf } from "../../api/routes.ts";
import type { AuthorizedRequest } from "../http/handler.ts";
import type { RouteParts } from "./route-parts.ts";
import { qualify } from "../../base/namespace.ts";

type Query = AuthorizedRequest<"getLogs">["query"];
type Line = DataOf<"getLogs">["items"][number];

/** Page size of the scan for lines that match. */
const pickedFrom = 1000;
/** Lines that one request looks at; `next` says where to continue, also after a request without a match. */
const scannedMax = 20_000;

const levels: readonly Line["level"][] = ["debug", "info", "warn", "error"];

/** Reads task logs in order. `next` is the number to continue after. */
export async function readLogs(parts: RouteParts, instanceId: string, query: Query): Promise<DataOf<"getLogs">> {
  const { task, level, search } = query;
  const isPicked = task !== undefined || level !== undefined || search !== undefined;
  const read = query.last ? pickLast : pick;
  const page = isPicked ? await read(parts, instanceId, query) : await readAll(parts, instanceId, query);
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

function matcherOf({ task, level, search }: Query): (line: Line) => boolean {
  const least = level === undefined ? 0 : levels.indexOf(level);
  const wanted = search?.toLowerCase();
  return (line) => {
    if (task !== undefined && line.taskName !== task) return false;
    if (levels.indexOf(line.level) < least) return false;
    if (wanted === undefined) return true;
    return `${line.taskName} ${line.message} ${JSON.stringify(line.fields)}`.toLowerCase().includes(wanted);
  };
}

async function pick({ namespace, taskLogs }: RouteParts, instanceId: string, query: Query): Promise<DataOf<"getLogs">> {
  const { after = 0, limit } = query;
  const matches = matcherOf(query);
  const picked: Line[] = [];
  let from = after;
  for (let scanned = 0; ; scanned += pickedFrom) {
    if (scanned >= scannedMax) return { items: picked, next: String(from) };
    const lines = await taskLogs.read(qualify(namespace, instanceId), { after: from, limit: pickedFrom });
    picked.push(...lines.filter(matches));
    if (picked.length >= limit) {
      const items = picked.slice(0, limit);
      const isEnd = lines.length < pickedFrom && picked.length === limit;
      return { items, next: isEnd ? null : nextOf(items, limit) };
    }
    if (lines.length < pickedFrom) return { items: picked, next: null };
    from = lines.at(-1)?.number ?? from;
  }
}

/** Reads backwards from the end, as far as one request goes. */
async function pickLast(
  { namespace, taskLogs }: RouteParts,
  instanceId: string,
  query: Query,
): Promise<DataOf<"getLogs">> {
  const { after = 0, limit } = query;
  const matches = matcherOf(query);
  const picked: Line[] = [];
  let before: number | undefined;
  for (let scanned = 0; scanned < scannedMax; scanned += pickedFrom) {
    const page = { after, last: true, limit: pickedFrom, ...(before !== undefined && { before }) };
    const lines = await taskLogs.read(qualify(namespace, instanceId), page);
    picked.unshift(...lines.filter(matches));
    before = lines[0]?.number;
    if (picked.length >= limit || lines.length < pickedFrom) break;
  }
  return { items: picked.slice(-limit), next: null };
}

function nextOf(items: readonly { readonly number: number }[], limit: number): string | null {
  const end = items.at(-1);
  return items.length === limit && end !== undefined ? String(end.number) : null;
}
