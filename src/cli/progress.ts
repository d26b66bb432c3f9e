import type { DataOf } from "../api/routes.ts";
import type { WatchedNode } from "../client/watch.ts";

/** The state of one node as the progress display shows it. */
export interface NodeRow {
  /** The node's name; code may run a job several times, so the second node of that name is `name#2`. */
  readonly label: string;
  readonly status: string;
  readonly attempt: number;
  readonly startedAt: number | undefined;
  readonly endedAt: number | undefined;
  readonly retryAt: number | undefined;
  readonly error: string | undefined;
  /** The progress of the running job; a pushed node does not have it. */
  readonly progress: Task["progress"] | undefined;
}

type View = DataOf<"getInstance">;
type Task = View["tasks"][number];

/** The nodes of one instance in their last known state. */
export class Progress {
  readonly #rows = new Map<string, NodeRow>();
  readonly #nodesByName = new Map<string, number>();
  readonly #onChange: (row: NodeRow) => void;

  constructor(onChange: (row: NodeRow) => void) {
    this.#onChange = onChange;
  }

  get rows(): readonly NodeRow[] {
    return [...this.#rows.values()];
  }

  take(nodes: readonly (WatchedNode | Task)[]): void {
    for (const node of nodes) {
      const key = `${node.nodeId} ${node.name}`;
      const before = this.#rows.get(key);
      const row = rowOf(node, before?.label ?? this.#labelFor(node.name), before);
      this.#rows.set(key, row);
      if (before !== undefined && isSame(before, row)) continue;
      this.#onChange(row);
    }
  }

  #labelFor(name: string): string {
    return nextLabel(this.#nodesByName, name);
  }
}

function nextLabel(counts: Map<string, number>, name: string): string {
  const count = (counts.get(name) ?? 0) + 1;
  counts.set(name, count);
  return count === 1 ? name : `${name}#${count}`;
}

/** Labels all tasks of an instance, in their order, as `Progress` does. */
export function labelsOf(tasks: readonly Pick<Task, "name">[]): string[] {
  const counts = new Map<string, number>();
  return tasks.map(({ name }) => nextLabel(counts, name));
}

function rowOf(node: WatchedNode | Task, label: string, before: NodeRow | undefined): NodeRow {
  const { status, attempt, startedAt, endedAt, retryAt } = node;
  const error = "error" in node ? node.error : "failure" in node ? node.failure?.message : undefined;
  const kept = before?.attempt === attempt ? before.progress : undefined;
  const progress = status === "Running" ? (("progress" in node ? node.progress : undefined) ?? kept) : undefined;
  return { label, status, attempt, startedAt, endedAt, retryAt, error, progress };
}

/** Progress alone is no change of a row: on a terminal the rows are redrawn anyway, and a log would be flooded. */
function isSame(a: NodeRow, b: NodeRow): boolean {
  return a.status === b.status && a.attempt === b.attempt && a.retryAt === b.retryAt && a.endedAt === b.endedAt;
}
