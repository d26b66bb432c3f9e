import { hasEnded } from "../kernel/status.ts";
import type { InstanceStatus } from "../kernel/status.ts";
import type { InstanceFilter, InstanceSummary } from "./store.ts";

/** One query each, named alike in every database. All take the same values and give rows from the newest down. */
export type ListQuery =
  /** Walks the unfinished ones, which have no index beyond their key. */
  | "list-unfinished"
  /** Walks an index of status and time. */
  | "list-finished-by-status"
  /** Walks an index of workflow, status and time. */
  | "list-finished-by-workflow"
  /** Reads all of one id prefix and sorts them. */
  | "list-finished-by-id";

/** Status or null, workflow or null, the prefix's first and last id or null, created from, to, before, key before, limit. */
export type ListValues = readonly (string | number | null)[];

/** A statement with its values. */
export interface ListWalk {
  readonly name: ListQuery;
  readonly values: ListValues;
}

/** How a database answers. */
export interface ListSource {
  /** The rows of each, all as of one moment: an instance that ends meanwhile is in one of them. */
  list(walks: readonly ListWalk[]): Promise<InstanceSummary[][]>;
  /** How many ids of finished instances are in that range; counts no further than the limit. */
  countFinishedById(range: { first: string; end: string; limit: number }): Promise<number>;
}

const endStatuses: readonly InstanceStatus[] = ["Success", "Failed", "Terminated"];

/** Rows of a prefix come in the order of their ids and must be sorted: worth it for few, while many are met on any walk. */
const rareMax = 10_000;

/**
 * One walk per status asked for, each from the newest down and no longer than the page; the page is what is newest of
 * them all. Walking by status, and by workflow where one is asked for, keeps a search for the few from reading the many.
 */
export async function listInstances(from: ListSource, filter: InstanceFilter): Promise<InstanceSummary[]> {
  const pages = await from.list(walksFor(filter, await isRarePrefix(from, filter.idPrefix)));
  return newestFirst(pages.flat()).slice(0, filter.limit);
}

/** The order of all lists. */
export function newestFirst(rows: InstanceSummary[]): InstanceSummary[] {
  return rows.sort((a, b) => b.createdAt - a.createdAt || b.key - a.key);
}

function walksFor(filter: InstanceFilter, isRare: boolean): ListWalk[] {
  const { status, workflow } = filter;
  const walk = (name: ListQuery, one: InstanceStatus | null): ListWalk => ({ name, values: valuesOf(filter, one) });
  const byIndex = workflow === undefined ? "list-finished-by-status" : "list-finished-by-workflow";
  const query: ListQuery = isRare ? "list-finished-by-id" : byIndex;
  if (status === undefined) {
    const finished = isRare ? [walk(query, null)] : endStatuses.map((each) => walk(query, each));
    return [walk("list-unfinished", null), ...finished];
  }
  return [...new Set(status)].map((each) => walk(hasEnded(each) ? query : "list-unfinished", each));
}

async function isRarePrefix(from: ListSource, idPrefix: string | undefined): Promise<boolean> {
  if (!idPrefix) return false;
  return (await from.countFinishedById({ first: idPrefix, end: prefixEnd(idPrefix), limit: rareMax })) < rareMax;
}

function valuesOf(filter: InstanceFilter, status: InstanceStatus | null): ListValues {
  const { idPrefix, workflow, createdFrom, createdTo, before, limit } = filter;
  const prefix = idPrefix === undefined || idPrefix === "" ? null : idPrefix;
  return [
    status,
    workflow ?? null,
    prefix,
    prefix === null ? null : prefixEnd(prefix),
    createdFrom ?? Number.MIN_SAFE_INTEGER,
    Math.min(createdTo ?? Number.MAX_SAFE_INTEGER, before?.createdAt ?? Number.MAX_SAFE_INTEGER),
    before?.createdAt ?? Number.MAX_SAFE_INTEGER,
    before?.key ?? Number.MAX_SAFE_INTEGER,
    limit,
  ];
}

/** Above every text that begins so: nothing sorts after the last code point, which Unicode keeps out of all text. */
function prefixEnd(prefix: string): string {
  return `${prefix}\u{10ffff}`;
}
