import type { DataOf, Immutable } from "../../api/routes.ts";
import { hasCode } from "../../base/error.ts";
import type { HistoryEntry } from "../../engine/instance-calls.ts";
import type { InstanceSummary } from "../../stores/store.ts";
import { cursorOf, placeOf } from "../http/cursor.ts";
import type { AuthorizedRequest, Handlers } from "../http/handler.ts";
import { deleteInstance } from "./delete-instance.ts";
import { InstanceEnds } from "./instance-ends.ts";
import { readLogs } from "./read-logs.ts";
import { done, type RouteParts } from "./route-parts.ts";

type InstanceRoutes = Pick<
  Handlers,
  | "listInstances"
  | "getInstance"
  | "deleteInstance"
  | "getResult"
  | "getHistory"
  | "listAttempts"
  | "getBreakpoint"
  | "getContext"
  | "getLogs"
>;

/** Read operations on instances. */
export function instanceRoutes(parts: RouteParts): InstanceRoutes {
  const { engine } = parts;
  const ends = new InstanceEnds(parts);
  return {
    listInstances: ({ query }) => listInstances(parts, query),
    getInstance: ({ params }) => engine.getWorkflowInstanceStatus(params.id),
    deleteInstance: async ({ params }) => {
      await deleteInstance(parts, params.id);
      return done;
    },
    getResult: ({ params, query }) => ends.result(params.id, query),
    getHistory: async ({ params, query }) => {
      const { afterTurn, limit } = query;
      const turns = await engine.getWorkflowInstanceHistory(params.id, { afterTurn, limit });
      const last = turns.at(-1);
      const next = turns.length === limit && last !== undefined ? String(last.turn) : null;
      return { items: historyOf(turns), next };
    },
    listAttempts: async ({ params }) => ({ items: await engine.listTaskAttempts(params.id) }),
    getBreakpoint: ({ params }) => engine.getWorkflowInstanceBreakpoint(params.id),
    getContext: async ({ params }) => (await engine.getWorkflowInstanceBreakpoint(params.id)).context,
    getLogs: ({ params, query }) => readLogs(parts, params.id, query),
  };
}

/** Mapped types, unlike interfaces, fit schemas that keep unknown fields. */
function historyOf(turns: Immutable<readonly HistoryEntry[]>): DataOf<"getHistory">["items"] {
  return turns;
}

/** Limits of the waits in a list: instances of a page, and waits of an instance. */
const waitingInstancesMax = 50;
const waitsMax = 3;

async function listInstances(
  { engine }: RouteParts,
  { cursor, limit, waits, ...filter }: AuthorizedRequest<"listInstances">["query"],
): Promise<DataOf<"listInstances">> {
  const place = placeOf<[number, number]>(cursor, ["number", "number"]);
  const given = Object.fromEntries(Object.entries(filter).filter(([, value]) => value !== undefined));
  const found = await engine.listWorkflowInstances({
    ...given,
    limit: limit + 1,
    ...(place && { before: { createdAt: place[0], key: place[1] } }),
  });
  const page = found.slice(0, limit);
  const last = page.at(-1);
  const items = page.map(summaryOf);
  return {
    items: waits ? await withWaits(engine, items) : items,
    next: found.length > limit && last !== undefined ? cursorOf([last.createdAt, last.key]) : null,
  };
}

type Summary = DataOf<"listInstances">["items"][number];

/** Adds what the unfinished instances wait for. */
async function withWaits(engine: RouteParts["engine"], items: readonly Summary[]): Promise<Summary[]> {
  const unfinished = items.filter(({ endedAt, quarantined }) => endedAt === null && quarantined === null);
  const asked = new Set(unfinished.slice(0, waitingInstancesMax));
  return await Promise.all(items.map(async (item) => (asked.has(item) ? await waitsOf(engine, item) : item)));
}

async function waitsOf(engine: RouteParts["engine"], item: Summary): Promise<Summary> {
  try {
    const { waiting, waitingTotal } = await engine.getWorkflowInstanceStatus(item.instanceId);
    return { ...item, waiting: waiting.slice(0, waitsMax), waitingTotal };
  } catch (error) {
    // It was purged or quarantined after the list was read.
    if (hasCode(error, "INSTANCE_UNKNOWN") || hasCode(error, "INSTANCE_QUARANTINED")) return item;
    throw error;
  }
}

function summaryOf(row: InstanceSummary): Summary {
  const { id, workflow, version, status, generation, createdAt, endedAt, reason, quarantined, app } = row;
  return {
    instanceId: id,
    workflowName: workflow,
    workflowVersion: version,
    status,
    generation,
    createdAt,
    endedAt,
    reason,
    quarantined,
    app,
  };
}
