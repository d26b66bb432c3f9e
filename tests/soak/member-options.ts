import type { ClusterTimings } from "../../src/cluster/timings.ts";
import type { ServerKind } from "../databases/databases.ts";
import type { WorkloadOptions } from "./workload.ts";

/** What a member's process is told when it begins. */
export interface MemberOptions {
  readonly kind: ServerKind;
  /** Of the database, by way of the member's own proxy. */
  readonly url: string;
  readonly journalFile: string;
  readonly shiftMs: number;
  /** Its life's number, for the record. */
  readonly life: number;
  readonly machine: string;
  readonly shards: number;
  readonly workload: WorkloadOptions;
  readonly timings: ClusterTimings;
  readonly poolSize: number;
  readonly maxInterruptions: number;
  readonly stopGraceMs: number;
  readonly idleMs: number;
  /** Of the simulator's: a bug put in on purpose. */
  readonly mutation?: string;
}
