/** What the process of a peer sends. */
export interface PeerFigures {
  /** What was set. */
  readonly setup: string;
  /** One-step workflows, many at once. */
  readonly workflowsPerSecond: number;
  /** Of one workflow, one after the other; a queue has none. */
  readonly stepsPerSecond: number | undefined;
  /** A one-step workflow while nothing else is done. */
  readonly p50Ms: number;
  readonly p99Ms: number;
}
