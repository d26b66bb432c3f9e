import type { DomainSlots, RequiredWorker, TaskWait, WaitReason } from "../dispatch/wait-reason.ts";

/** A line of a workflow's code. */
export interface CodeLine {
  readonly file: string;
  readonly line: number;
}

/** The wait of one task; `since` is when it began, where that is known. */
export interface TaskWaitView extends TaskWait {
  readonly since: number | undefined;
}

/** One wait of an unfinished instance. Times are epoch milliseconds. */
export type Wait = InstanceWait | EventWait | TimerWait | UpdateWait | ChildWait | RunningOrWaitingTask;

interface AnyWait {
  /** Completes the phrase "waits for". */
  readonly text: string;
  /** Time at which the wait began, where it is known. */
  readonly since: number | undefined;
}

/** A wait of the code of a workflow, with the line that waits while its code is in memory. */
interface WaitOfCode extends AnyWait {
  readonly line: CodeLine | undefined;
}

/**
 * The instance waits as a whole. `workflow-limit`: for a place among the instances of its workflow. `paused`: for somebody
 * to resume it. `code`: for its code, which is missing, stopped or about to react. `isolation`: its code reacts alone,
 * because the process was lost while it did.
 */
export interface InstanceWait extends AnyWait {
  readonly kind: "instance";
  readonly reason: "workflow-limit" | "paused" | "code" | "isolation";
  /** The maximum of instances of the workflow, if it is the reason. */
  readonly max: number | undefined;
  /** Author and reason of the pause, if they were given. */
  readonly by: string | undefined;
  readonly note: string | undefined;
}

/** A wait for an event. */
export interface EventWait extends WaitOfCode {
  readonly kind: "event";
  readonly name: string;
  /** Time at which the code waits no longer. */
  readonly dueAt: number | undefined;
}

/** A wait for a time. */
export interface TimerWait extends WaitOfCode {
  readonly kind: "timer";
  readonly dueAt: number;
}

/** An update that the code has taken and not answered. */
export interface UpdateWait extends AnyWait {
  readonly kind: "update";
  readonly name: string;
  readonly update: string;
}

/** A wait for the end of a child. */
export interface ChildWait extends WaitOfCode {
  readonly kind: "child";
  /** The task's number within the instance. */
  readonly task: number;
  readonly taskName: string;
  readonly workflowName: string | undefined;
  readonly childInstanceId: string | undefined;
}

/** A task that runs, or waits for anything but its predecessors. */
export interface RunningOrWaitingTask extends WaitOfCode {
  readonly kind: "task";
  readonly task: number;
  readonly taskName: string;
  readonly job: string | undefined;
  readonly attempt: number;
  readonly reason: WaitReason | "running";
  /** The worker of a running task. */
  readonly worker: string | undefined;
  readonly retryAt: number | undefined;
  readonly slots: DomainSlots | undefined;
  readonly max: number | undefined;
  /** Time at which a completion from outside is waited for no longer. */
  readonly dueAt: number | undefined;
  readonly requires: RequiredWorker | undefined;
}

/** Events of one name that were raised and that the code has not waited for. */
export interface UntakenEvents {
  readonly name: string;
  readonly count: number;
  /** Time at which the code got the oldest of them. */
  readonly since: number;
}
