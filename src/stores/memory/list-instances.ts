import { newestFirst } from "../listing.ts";
import type { FinishedRow, StoredFilter, InstanceRow, InstanceSummary } from "../store.ts";
import type { Tables } from "./tables.ts";
import { namespaceOf } from "../../base/namespace.ts";

export function listInstances(tables: Tables, filter: StoredFilter): InstanceSummary[] {
  const unfinished = [...tables.instances.values()].map(summaryOfUnfinished);
  const finished = [...tables.finished.values()].map(summaryOfFinished);
  const found = [...unfinished, ...finished].filter((row) => passes(row, filter));
  return newestFirst(found).slice(0, filter.limit);
}

function passes(row: InstanceSummary, filter: StoredFilter): boolean {
  return (
    isAfter(filter.before, row) &&
    (filter.status?.includes(row.status) ?? true) &&
    (filter.namespace === undefined || namespaceOf(row.id) === filter.namespace) &&
    (!filter.resumable || row.status === "Paused" || row.quarantined !== null) &&
    (filter.app === undefined || row.app === filter.app) &&
    row.workflow === (filter.workflow ?? row.workflow) &&
    row.id.startsWith(filter.idPrefix ?? "") &&
    row.createdAt >= (filter.createdFrom ?? -Infinity) &&
    row.createdAt <= (filter.createdTo ?? Infinity)
  );
}

/** True if the row comes after that place in the list, newest first. */
function isAfter(place: StoredFilter["before"], row: InstanceSummary): boolean {
  if (place === undefined || row.createdAt < place.createdAt) return true;
  return row.createdAt === place.createdAt && row.key < place.key;
}

function summaryOfUnfinished(row: InstanceRow): InstanceSummary {
  const { key, id, workflow, version, status, generation, createdAt, quarantined, app } = row;
  return { key, id, workflow, version, status, generation, createdAt, endedAt: null, reason: null, quarantined, app };
}

function summaryOfFinished(row: FinishedRow): InstanceSummary {
  const { key, id, workflow, version, status, generation, createdAt, endedAt, reason, app } = row;
  return { key, id, workflow, version, status, generation, createdAt, endedAt, reason, quarantined: null, app };
}
