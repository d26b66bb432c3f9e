/** Selects the workers that may run an attempt: those with its job that meet its constraints. */
export interface WorkerSelector {
  /** The job's registered id. */
  readonly job: string;
  readonly placement?: PlacementConstraints | undefined;
}

export interface PlacementConstraints {
  /** Tags that the worker must have, all of them. */
  readonly tags: readonly string[];
  /** The designated worker: the id of a remote worker, or the address of any worker. */
  readonly worker: string | undefined;
}

/** The part of a worker that selectors look at. */
export interface SelectableWorker {
  /** The worker's address as histories record it. */
  readonly address: string;
  /** True if it has a process of its own, which outlives this one. Every remote worker is a `ConnectedWorker`. */
  readonly isRemote: boolean;
  /** Its tags, which attempts may require. */
  readonly tags: ReadonlySet<string>;
  hasJob(id: string): boolean;
}

/** Undefined if any worker with the job will do, as for most tasks. */
export function placementOf(task: {
  readonly workerTags: readonly string[] | undefined;
  readonly worker: string | undefined;
}): PlacementConstraints | undefined {
  const { workerTags: tags = [], worker } = task;
  return tags.length === 0 && worker === undefined ? undefined : { tags, worker };
}

export function isEligible(candidate: SelectableWorker, { job, placement }: WorkerSelector): boolean {
  if (!candidate.hasJob(job)) return false;
  if (placement === undefined) return true;
  const { tags, worker } = placement;
  return tags.every((tag) => candidate.tags.has(tag)) && (worker === undefined || isNamed(candidate, worker));
}

/** Equal for selectors that select the same workers. */
export function selectorKey({ job, placement }: WorkerSelector): string {
  return placement === undefined ? job : JSON.stringify([job, placement.tags.toSorted(), placement.worker]);
}

/** The id of a remote worker, which stays when it moves to another member. */
export function nameInAddress(address: string): string {
  return address.slice(address.indexOf("/") + 1);
}

/** A remote worker has the address `member/id`. It may move to another member, and keeps its id. */
function isNamed({ address, isRemote }: SelectableWorker, name: string): boolean {
  return address === name || (isRemote && address.endsWith(`/${name}`));
}
