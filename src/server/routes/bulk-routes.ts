import type { DataOf } from "../../api/routes.ts";
import { EngineError, hasCode } from "../../base/error.ts";
import { scheduleInstancePrefix } from "../../engine/schedules.ts";
import type { InstanceSummary } from "../../stores/store.ts";
import { cursorOf, placeOf } from "../http/cursor.ts";
import type { AuthorizedRequest, Handlers } from "../http/handler.ts";
import { deleteInstance } from "./delete-instance.ts";
import type { RouteParts } from "./route-parts.ts";

type Request = AuthorizedRequest<"bulkInstances">;
type Operation = Request["body"]["operation"];
type Status = InstanceSummary["status"];

const unfinished: readonly Status[] = ["Ready", "Running", "Paused"];
const ended: readonly Status[] = ["Success", "Failed", "Terminated"];

interface BulkOperation {
  readonly statuses: readonly Status[];
  /** Only those that are paused or quarantined. */
  readonly resumable?: boolean;
  readonly run: (parts: RouteParts, id: string, asked: Request) => Promise<unknown>;
}

/** In which states each operation is carried out: an instance in another one is passed over, so a repetition is harmless. */
const operations: Readonly<Record<Operation, BulkOperation>> = {
  pause: {
    statuses: ["Ready", "Running"],
    run: ({ engine }, id, { body: { reason }, caller }) =>
      engine.pauseWorkflowInstance(id, { by: caller.name, ...(reason !== undefined && { reason }) }),
  },
  resume: {
    statuses: unfinished,
    resumable: true,
    run: ({ engine }, id) => engine.resumeWorkflowInstance(id),
  },
  terminate: {
    statuses: unfinished,
    run: ({ engine }, id, { body: { reason }, caller }) =>
      engine.terminateWorkflowInstance(id, reason ?? `terminated by ${caller.name}`),
  },
  retry: {
    statuses: ["Failed", "Terminated"],
    run: ({ engine }, id) => engine.retryWorkflowInstance(id),
  },
  delete: { statuses: ended, run: (parts, id) => deleteInstance(parts, id) },
};

const countMax = 100_000;
/** Each page reads all unfinished rows, so there should be few. */
const countPage = 10_000;
/** Instances of one request that are changed at the same time, so that they share commits. */
const atOnce = 16;

/** Operations on all instances that a filter matches. */
export function bulkRoutes(parts: RouteParts): Pick<Handlers, "countBulk" | "bulkInstances"> {
  return {
    countBulk: ({ body }) => count(parts, body),
    bulkInstances: (asked) => carryOut(parts, asked),
  };
}

interface Place {
  readonly createdAt: number;
  readonly key: number;
}

/** One page of what the filter matches: all rows, to continue after, and those whose state allows the operation. */
async function matchesOf(
  { engine }: RouteParts,
  { operation, filter }: Pick<Request["body"], "operation" | "filter">,
  page: { readonly limit: number; readonly before: Place | undefined },
): Promise<{ rows: InstanceSummary[]; allowed: InstanceSummary[] }> {
  const { statuses, resumable = false } = operations[operation];
  const status = statuses.filter((each) => filter.status?.includes(each) ?? true);
  if (status.length === 0) return { rows: [], allowed: [] };
  const { limit, before } = page;
  const rows = await engine.listWorkflowInstances({ ...filter, status, resumable, limit, ...(before && { before }) });
  const allowed = rows.filter((row) => !row.id.startsWith(scheduleInstancePrefix));
  return { rows, allowed };
}

async function count(
  parts: RouteParts,
  { operation, filter }: AuthorizedRequest<"countBulk">["body"],
): Promise<DataOf<"countBulk">> {
  const createdTo = Math.min(filter.createdTo ?? Number.MAX_SAFE_INTEGER, parts.clock.now());
  let found = 0;
  let before: Place | undefined;
  do {
    const page = { limit: countPage, before };
    const { rows, allowed } = await matchesOf(parts, { operation, filter: { ...filter, createdTo } }, page);
    found += allowed.length;
    before = rows.length === countPage ? rows.at(-1) : undefined;
  } while (before !== undefined && found < countMax);
  return { count: Math.min(found, countMax), isCapped: before !== undefined, createdTo };
}

/** Carries out one page. Instances are ordered by their creation, which no operation changes, so the cursor stays valid. */
async function carryOut(parts: RouteParts, asked: Request): Promise<DataOf<"bulkInstances">> {
  const { operation, filter, cursor, limit } = asked.body;
  const place = placeOf<[number, number]>(cursor, ["number", "number"]);
  const before = place && { createdAt: place[0], key: place[1] };
  const { rows, allowed } = await matchesOf(parts, { operation, filter }, { limit, before });
  const instanceIds: string[] = [];
  const failures: DataOf<"bulkInstances">["failures"][number][] = [];
  const queue = allowed.values();
  const work = async (): Promise<void> => {
    for (const { id } of queue) {
      const failure = await carryOutOne(parts, id, asked);
      if (failure === undefined) instanceIds.push(id);
      else if (failure !== "passed over") failures.push(failure);
    }
  };
  await Promise.all(Array.from({ length: atOnce }, work));
  const last = rows.at(-1);
  const next = rows.length === limit && last !== undefined ? cursorOf([last.createdAt, last.key]) : null;
  return { instanceIds, failures, next };
}

type Failure = DataOf<"bulkInstances">["failures"][number];

/** Faults of the store fail the whole request, which the caller repeats; a refusal concerns one instance. */
async function carryOutOne(
  parts: RouteParts,
  id: string,
  asked: Request,
): Promise<Failure | "passed over" | undefined> {
  try {
    await operations[asked.body.operation].run(parts, id, asked);
    return undefined;
  } catch (error) {
    // It has changed since the list was read, or went with its parent.
    if (hasCode(error, "INSTANCE_STATE") || hasCode(error, "INSTANCE_UNKNOWN")) return "passed over";
    if (!(error instanceof EngineError) || error.retryable) throw error;
    return { instanceId: id, code: error.code, message: error.message };
  }
}
