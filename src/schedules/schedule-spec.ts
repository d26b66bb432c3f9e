import type { RetryPolicy } from "../kernel/retry.ts";

/** When and what: a workflow, or a job by itself, that is started again and again. All of it can be written as JSON. */
export type ScheduleSpec = ScheduleSettings & (ScheduledWorkflow | ScheduledJob);

export interface ScheduledWorkflow {
  /** The name of a workflow of either kind, among the engine's `workflows`. */
  readonly workflow: string;
  /** Input of each run. */
  readonly input?: unknown;
  readonly job?: never;
  readonly params?: never;
}

export interface ScheduledJob {
  /** The name of a registered job: each run is an instance of workflow `job:<name>`, with one task. */
  readonly job: string;
  /** Parameters of the job in each run. */
  readonly params?: unknown;
  readonly workflow?: never;
  readonly input?: never;
}

/** When, and what becomes of runs that meet. */
export interface ScheduleSettings {
  readonly every: Timing;
  /** While a run has not ended, what becomes of the next: it is left out (the default), waits, runs beside it, or ends it first. */
  readonly whenBusy?: "skip" | "queue" | "allow" | "cancel-previous";
  /** Due times that passed while nobody was there: the last one runs (the default), all of them one after the other, or none. */
  readonly whenMissed?: "once" | "all" | "none";
  /** Each run starts by chance up to so much later. Default 0. */
  readonly jitterMs?: number;
  /** Epoch ms. Nothing is due before the first, or after the second. */
  readonly startAt?: number;
  readonly endAt?: number;
  /** Number of retries of a failed run. Default 0. */
  readonly retryCount?: number;
  readonly retryPolicy?: Partial<RetryPolicy>;
}

export type Timing = CronTiming | RateTiming | DelayTiming | DailyTiming;

export interface CronTiming {
  /** Five fields as Unix has them, or six or seven as Quartz does, or a word such as `@daily`. */
  readonly cron: string;
  /** Default: that of the process which makes the schedule. */
  readonly timeZone?: string;
  /** A time that the clock is put forward over: it is due right after, or not at all. Default `shift`; `skip` for what is due in every hour. */
  readonly inGap?: "shift" | "skip";
  /** A time that comes twice when the clock is put back. Default `first`; `both` for what is due in every hour. */
  readonly whenTwice?: "first" | "last" | "both";
}

/** Measured from the start of one to the start of the next, whatever happens between. */
export interface RateTiming {
  readonly rateMs: number;
}

/** Measured from the end of one to the start of the next: it may be late, and is never missed. */
export interface DelayTiming {
  readonly delayMs: number;
}

/** Again and again within a part of each day. */
export interface DailyTiming {
  readonly daily: {
    /** `HH:MM` or `HH:MM:SS`. */
    readonly from: string;
    readonly to: string;
    readonly everyMs: number;
    /** 0 is Sunday. Default all. */
    readonly weekdays?: readonly number[];
  };
  readonly timeZone?: string;
}
