import { hasEnded } from "../kernel/status.ts";
import type { InstanceStatus } from "../kernel/status.ts";
import type { StoredFilter, InstanceSummary } from "./store.ts";
import { defaultNamespace } from "../base/namespace.ts";

/** Names of the list statements of every database. All take the same values and return rows from the newest down. */
export type ListQuery =
  /** Scans the unfinished instances, which have no index beyond their key. */
  | "list-unfinished"
  /** The same, for those that are paused or quarantined. */
  | "list-resumable"
  /** Scans an index of status and time. */
  | "list-finished-by-status"
  /** Scans an index of workflow, status and time. */
  | "list-finished-by-workflow"
  /** Scans an index of namespace, status and time. */
  | "list-finished-by-namespace"
  /** Reads all rows of one id prefix and sorts them. */
  | "list-finished-by-id";

/** Status or null, workflow or null, the prefix's first and last id or null, created from, to, before, key before, limit, namespace or null, app or null. */
export type ListValues = readonly (string | number | null)[];

/** A statement with its values. */
export interface ListWalk {
  readonly name: ListQuery;
  readonly values: ListValues;
}

/** The part of a database that lists need. */
export interface ListSource {
  /** Returns the rows of each scan in one snapshot: an instance that ends meanwhile is in exactly one of them. */
  list(walks: readonly ListWalk[]): Promise<InstanceSummary[][]>;
  /** Counts the ids of finished instances in the range, up to the limit. */
  countFinishedById(range: { first: string; end: string; limit: number }): Promise<number>;
}

const endStatuses: readonly InstanceStatus[] = ["Success", "Failed", "Terminated"];

/** Rows of an id prefix must be sorted, which pays for few; many are found soon by any scan from the newest down. */
const rareMax = 10_000;

/**
 * Makes one scan per requested status, each from the newest down and no longer than the page, and merges them. Scanning by
 * status, and by workflow if one is given, keeps a search for few instances from reading many.
 */
export async function listInstances(from: ListSource, filter: StoredFilter): Promise<InstanceSummary[]> {
  const pages = await from.list(
    filter.resumable ? resumableWalks(filter) : walksFor(filter, await isRarePrefix(from, filter.idPrefix)),
  );
  return newestFirst(pages.flat()).slice(0, filter.limit);
}

/** Sorts rows in the order of all lists. */
export function newestFirst(rows: InstanceSummary[]): InstanceSummary[] {
  return rows.sort((a, b) => b.createdAt - a.createdAt || b.key - a.key);
}

function walksFor(filter: StoredFilter, isRare: boolean): ListWalk[] {
  const { status, workflow } = filter;
  const walk = (name: ListQuery, one: InstanceStatus | null): ListWalk => ({ name, values: valuesOf(filter, one) });
  const byIndex = workflow === undefined ? byNamespaceOrStatus(filter) : "list-finished-by-workflow";
  const query: ListQuery = isRare ? "list-finished-by-id" : byIndex;
  if (status === undefined) {
    const finished = isRare ? [walk(query, null)] : endStatuses.map((each) => walk(query, each));
    return [walk("list-unfinished", null), ...finished];
  }
  return [...new Set(status)].map((each) => walk(hasEnded(each) ? query : "list-unfinished", each));
}

function resumableWalks(filter: StoredFilter): ListWalk[] {
  const statuses = filter.status === undefined ? [null] : [...new Set(filter.status)];
  return statuses.map((each) => ({ name: "list-resumable", values: valuesOf(filter, each) }));
}

async function isRarePrefix(from: ListSource, idPrefix: string | undefined): Promise<boolean> {
  if (!idPrefix) return false;
  return (await from.countFinishedById({ first: idPrefix, end: prefixEnd(idPrefix), limit: rareMax })) < rareMax;
}

function valuesOf(filter: StoredFilter, status: InstanceStatus | null): ListValues {
  const { namespace, app, idPrefix, workflow, createdFrom, createdTo, before, limit } = filter;
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
    namespace === undefined ? null : columnOf(namespace),
    app ?? null,
  ];
}

/** The index of namespaces has no rows of the default one. */
function byNamespaceOrStatus({ namespace = defaultNamespace }: StoredFilter): ListQuery {
  return namespace === defaultNamespace ? "list-finished-by-status" : "list-finished-by-namespace";
}

function columnOf(namespace: string): string {
  return namespace === defaultNamespace ? "" : namespace;
}

/** Returns a text above every text with the prefix: nothing sorts after the last code point, a noncharacter of Unicode. */
function prefixEnd(prefix: string): string {
  return `${prefix}\u{10ffff}`;
}
