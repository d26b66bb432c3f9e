import { hasEnded } from "../kernel/status.ts";
import type { InstanceStatus } from "../kernel/status.ts";
import type { InstanceFilter, InstanceSummary } from "./store.ts";
import { toDisk, toDiskOrNull } from "./text.ts";

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

/** How a database answers. */
export interface ListSource {
  list(query: ListQuery, values: ListValues): Promise<InstanceSummary[]>;
  /** How many ids of finished instances are in that range; counts no further than the limit. */
  countFinishedById(range: { first: string; end: string; limit: number }): Promise<number>;
}

interface Walk {
  readonly query: ListQuery;
  readonly status: InstanceStatus | null;
}

const endStatuses: readonly InstanceStatus[] = ["Success", "Failed", "Terminated"];

/** Rows of a prefix come in the order of their ids and must be sorted: worth it for few, while many are met on any walk. */
const rareMax = 10_000;

/**
 * One walk per status asked for, each from the newest down and no longer than the page; the page is what is newest of
 * them all. Walking by status, and by workflow where one is asked for, keeps a search for the few from reading the many.
 */
export async function listInstances(from: ListSource, filter: InstanceFilter): Promise<InstanceSummary[]> {
  const walks = walksFor(filter, await isRarePrefix(from, filter.idPrefix));
  const pages = await Promise.all(walks.map(({ query, status }) => from.list(query, valuesOf(filter, status))));
  return newestFirst(pages.flat()).slice(0, filter.limit);
}

/** The order of all lists. */
export function newestFirst(rows: InstanceSummary[]): InstanceSummary[] {
  return rows.sort((a, b) => b.createdAt - a.createdAt || b.key - a.key);
}

function walksFor({ status, workflow }: InstanceFilter, isRare: boolean): Walk[] {
  const byIndex = workflow === undefined ? "list-finished-by-status" : "list-finished-by-workflow";
  const query: ListQuery = isRare ? "list-finished-by-id" : byIndex;
  if (status === undefined) {
    const finished: Walk[] = isRare ? [{ query, status: null }] : endStatuses.map((each) => ({ query, status: each }));
    return [{ query: "list-unfinished", status: null }, ...finished];
  }
  return [...new Set(status)].map((each) => ({ query: hasEnded(each) ? query : "list-unfinished", status: each }));
}

async function isRarePrefix(from: ListSource, idPrefix: string | undefined): Promise<boolean> {
  if (!idPrefix) return false;
  const first = toDisk(idPrefix);
  return (await from.countFinishedById({ first, end: prefixEnd(first), limit: rareMax })) < rareMax;
}

function valuesOf(filter: InstanceFilter, status: InstanceStatus | null): ListValues {
  const { idPrefix, workflow, createdFrom, createdTo, before, limit } = filter;
  const prefix = idPrefix ? toDisk(idPrefix) : null;
  return [
    status,
    toDiskOrNull(workflow ?? null),
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
