import { newestFirst } from "../listing.ts";
import type { FinishedRow, InstanceFilter, InstanceRow, InstanceSummary } from "../store.ts";
import type { Tables } from "./tables.ts";

export function listInstances(tables: Tables, filter: InstanceFilter): InstanceSummary[] {
  const unfinished = [...tables.instances.values()].map(summaryOfUnfinished);
  const finished = [...tables.finished.values()].map(summaryOfFinished);
  const found = [...unfinished, ...finished].filter((row) => passes(row, filter));
  return newestFirst(found).slice(0, filter.limit);
}

function passes(row: InstanceSummary, filter: InstanceFilter): boolean {
  return (
    isAfter(filter.before, row) &&
    (filter.status?.includes(row.status) ?? true) &&
    row.workflow === (filter.workflow ?? row.workflow) &&
    row.id.startsWith(filter.idPrefix ?? "") &&
    row.createdAt >= (filter.createdFrom ?? -Infinity) &&
    row.createdAt <= (filter.createdTo ?? Infinity)
  );
}

/** True if the row comes after that place in the list, newest first. */
function isAfter(place: InstanceFilter["before"], row: InstanceSummary): boolean {
  if (place === undefined || row.createdAt < place.createdAt) return true;
  return row.createdAt === place.createdAt && row.key < place.key;
}

function summaryOfUnfinished(row: InstanceRow): InstanceSummary {
  const { key, id, workflow, version, status, generation, createdAt, quarantined } = row;
  return { key, id, workflow, version, status, generation, createdAt, endedAt: null, reason: null, quarantined };
}

function summaryOfFinished(row: FinishedRow): InstanceSummary {
  const { key, id, workflow, version, status, generation, createdAt, endedAt, reason } = row;
  return { key, id, workflow, version, status, generation, createdAt, endedAt, reason, quarantined: null };
}
