import type { DataOf } from "../api/routes.ts";
import type { WatchedNode } from "../client/watch.ts";

/** How a node stands, as far as people want to see it. */
export interface NodeRow {
  readonly name: string;
  readonly status: string;
  readonly attempt: number;
  readonly startedAt: number | undefined;
  readonly endedAt: number | undefined;
  readonly retryAt: number | undefined;
  readonly error: string | undefined;
}

type Task = DataOf<"getInstance">["tasks"][number];

/** The nodes of one instance, as they were heard of last. */
export class Progress {
  readonly #rows = new Map<string, NodeRow>();
  readonly #onChange: (row: NodeRow) => void;

  constructor(onChange: (row: NodeRow) => void) {
    this.#onChange = onChange;
  }

  get rows(): readonly NodeRow[] {
    return [...this.#rows.values()];
  }

  take(nodes: readonly (WatchedNode | Task)[]): void {
    for (const node of nodes) {
      const row = rowOf(node);
      const before = this.#rows.get(row.name);
      if (before !== undefined && isSame(before, row)) continue;
      this.#rows.set(row.name, row);
      this.#onChange(row);
    }
  }
}

function rowOf(node: WatchedNode | Task): NodeRow {
  const { name, status, attempt, startedAt, endedAt, retryAt } = node;
  const error = "error" in node ? node.error : "failure" in node ? node.failure?.message : undefined;
  return { name, status, attempt, startedAt, endedAt, retryAt, error };
}

function isSame(a: NodeRow, b: NodeRow): boolean {
  return a.status === b.status && a.attempt === b.attempt && a.retryAt === b.retryAt && a.endedAt === b.endedAt;
}
