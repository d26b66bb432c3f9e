import type { RetryPolicy } from "../kernel/retry.ts";

/**
 * A schedule: a workflow, or a job by itself, that is started repeatedly, and its timing. All of it can be written as
 * JSON.
 */
export type ScheduleSpec = ScheduleSettings & (ScheduledWorkflow | ScheduledJob);

/** A schedule that starts a workflow. */
export interface ScheduledWorkflow {
  /** The name of a workflow of either kind, among the engine's `workflows`. */
  readonly workflow: string;
  /** Input of each run. */
  readonly input?: unknown;
  readonly job?: never;
  readonly params?: never;
}

/** A schedule that runs one job. */
export interface ScheduledJob {
  /** The name of a registered job: each run is an instance of workflow `job:<name>`, with one task. */
  readonly job: string;
  /** Parameters of the job in each run. */
  readonly params?: unknown;
  readonly workflow?: never;
  readonly input?: never;
}

/** Timing of a schedule, and its policies for overlapping and missed runs. */
export interface ScheduleSettings {
  readonly every: Timing;
  /**
   * Policy for a run that is due while the previous one has not ended: it is skipped (the default), is queued, runs
   * beside it, or cancels it first.
   */
  readonly whenBusy?: "skip" | "queue" | "allow" | "cancel-previous";
  /**
   * Policy for due times that passed while no engine ran: the last one runs (the default), all of them one after the
   * other, or none.
   */
  readonly whenMissed?: "once" | "all" | "none";
  /** Maximum random delay of each run. Default 0. */
  readonly jitterMs?: number;
  /** Bounds of the schedule, in epoch ms: nothing is due before `startAt` or after `endAt`. */
  readonly startAt?: number;
  readonly endAt?: number;
  /** Number of retries of a failed run. Default 0. */
  readonly retryCount?: number;
  readonly retryPolicy?: Partial<RetryPolicy>;
}

/** When a schedule is due. */
export type Timing = CronTiming | RateTiming | DelayTiming | DailyTiming;

/** Due times by a cron expression, in a time zone. */
export interface CronTiming {
  /** Five fields as Unix has them, or six or seven as Quartz does, or a macro such as `@daily`. */
  readonly cron: string;
  /** Default: the time zone of the process that creates the schedule. */
  readonly timeZone?: string;
  /**
   * Policy for a due time that is skipped when the clock is put forward: it is due right after the gap, or not at all.
   * Default `shift`; `skip` for an expression that is due in every hour.
   */
  readonly inGap?: "shift" | "skip";
  /**
   * Policy for a due time that occurs twice when the clock is put back. Default `first`; `both` for an expression that
   * is due in every hour.
   */
  readonly whenTwice?: "first" | "last" | "both";
}

/** A fixed rate: measured from the start of one run to the start of the next, whatever happens between. */
export interface RateTiming {
  readonly rateMs: number;
}

/** A fixed delay: measured from the end of one run to the start of the next. A run may be late, and is never missed. */
export interface DelayTiming {
  readonly delayMs: number;
}

/** A fixed interval within a window of each day. */
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
