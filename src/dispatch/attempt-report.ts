import type { TaskProgress } from "./task-progress.ts";

/** A report of a running job about its attempt: the fields that have changed. Reports may be lost; the next one replaces the last. */
export interface AttemptReport {
  readonly progress?: TaskProgress;
}

/** Receives the reports of running jobs. Never throws, never waits. */
export type OnReport = (attemptId: string, report: AttemptReport) => void;
