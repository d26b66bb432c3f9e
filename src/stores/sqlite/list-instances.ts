import type { SQLInputValue, StatementSync } from "node:sqlite";
import { assert } from "../../base/assert.ts";
import { hasEnded } from "../../kernel/status.ts";
import type { InstanceStatus } from "../../kernel/status.ts";
import type { InstanceFilter, InstanceSummary } from "../store.ts";
import { Columns, toSummary } from "./rows.ts";
import type { Statements } from "./statements.ts";
import { toDisk, toDiskOrNull } from "./text.ts";

/**
 * One walk per status asked for, each from the newest down and no longer than the page; the page is what is newest of
 * them all. Walking by status keeps a search for the few failed ones from reading all that went well.
 */
export function listInstances(from: Statements, filter: InstanceFilter): InstanceSummary[] {
  const found = walks(from, filter).flatMap(({ statement, status }) => walk(statement, status, filter));
  return found.sort((a, b) => b.key - a.key).slice(0, filter.limit);
}

interface Walk {
  readonly statement: StatementSync;
  readonly status: InstanceStatus | null;
}

function walks(from: Statements, filter: InstanceFilter): Walk[] {
  const byId = isRarePrefix(from, filter.idPrefix) ? from.listFinishedById : undefined;
  if (filter.status === undefined) {
    return [
      { statement: from.listUnfinished, status: null },
      { statement: byId ?? from.listFinished, status: null },
    ];
  }
  return [...new Set(filter.status)].map((status) => ({
    statement: hasEnded(status) ? (byId ?? from.listFinishedByStatus) : from.listUnfinished,
    status,
  }));
}

/** Rows of a prefix come in the order of their ids and must be sorted: worth it for few, while many are met on any walk. */
const rareMax = 1_000;

function isRarePrefix(from: Statements, idPrefix: string | undefined): boolean {
  if (!idPrefix) return false;
  const prefix = toDisk(idPrefix);
  const row = from.countFinishedById.get(prefix, prefixEnd(prefix), rareMax);
  assert(row, "a count has a row");
  return new Columns(row).number("found") < rareMax;
}

function walk(statement: StatementSync, status: InstanceStatus | null, filter: InstanceFilter): InstanceSummary[] {
  const prefix = filter.idPrefix ? toDisk(filter.idPrefix) : null;
  const values: SQLInputValue[] = [
    filter.before ?? Number.MAX_SAFE_INTEGER,
    status,
    toDiskOrNull(filter.workflow ?? null),
    prefix,
    prefix === null ? null : prefixEnd(prefix),
    filter.createdFrom ?? Number.MIN_SAFE_INTEGER,
    filter.createdTo ?? Number.MAX_SAFE_INTEGER,
    filter.limit,
  ];
  return statement.all(...values).map((row) => toSummary(new Columns(row)));
}

/** Above every text that begins so: nothing sorts after the last code point, which Unicode keeps out of all text. */
function prefixEnd(prefix: string): string {
  return `${prefix}\u{10ffff}`;
}
