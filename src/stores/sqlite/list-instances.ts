import type { SQLInputValue, StatementSync } from "node:sqlite";
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
  if (filter.status === undefined) {
    return [
      { statement: from.listUnfinished, status: null },
      { statement: filter.idPrefix ? from.listFinishedById : from.listFinished, status: null },
    ];
  }
  const finished = filter.idPrefix ? from.listFinishedById : from.listFinishedByStatus;
  return [...new Set(filter.status)].map((status) => ({
    statement: hasEnded(status) ? finished : from.listUnfinished,
    status,
  }));
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
