/** Report of a member to a domain's allocator. All of it was true at one moment, the one in which it was made. */
export interface SlotReport {
  readonly domain: string;
  readonly member: string;
  /**
   * Larger than in every earlier report of this member on the domain. The member takes no answer to an earlier report
   * any more.
   */
  readonly sequence: number;
  /** The newest epoch of the domain's shard that the member knows. It takes no grant of an earlier one any more. */
  readonly epoch: number;
  /** The quota in force: the member starts an attempt only while fewer run. */
  readonly quota: number;
  /** Number of running attempts; may exceed the quota after that was lowered. */
  readonly running: number;
  /** Attempts that lack nothing but a slot. */
  readonly waiting: number;
  /** True if attempts of the member may run on workers that outlive it. */
  readonly hasRemoteWorkers: boolean;
}

/** The answer: the quota that the member has from now on, if it takes it. */
export interface SlotGrant {
  /** Epoch of the allocator. */
  readonly epoch: number;
  /** Sequence of the report that is answered. */
  readonly sequence: number;
  readonly quota: number;
}
