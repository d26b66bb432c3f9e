/** A graph as it is drawn: of a DAG, of code as its history tells it, or of a definition without statuses. */
export interface GraphNode {
  readonly id: string;
  readonly label: string;
  /** Second line: the job, the duration, or what it waits for. */
  readonly detail: string;
  /** Undefined in a definition, where nothing has run. */
  readonly status: string | undefined;
  readonly kind: "job" | "map" | "decision" | "nested" | "timer" | "event" | "fold" | "start" | "end";
  readonly attempt: number;
  /** Sub-tasks or items by status, of a node that stands for many. */
  readonly counts?: Readonly<Record<string, number>>;
  readonly childInstanceId?: string;
  /** 0 to 1, as the job reports it. */
  readonly progress?: number;
  /** Name of the task that a click selects. */
  readonly task?: string;
}

export interface GraphEdge {
  readonly from: string;
  readonly to: string;
  /** The result of a decision that takes it. */
  readonly label?: string;
  readonly state: "pending" | "taken" | "off" | "inferred";
}

export interface GraphModel {
  readonly nodes: readonly GraphNode[];
  readonly edges: readonly GraphEdge[];
}
