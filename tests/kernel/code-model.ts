/**
 * What an instance of code ought to do, as plainly as it can be said: every question is answered by looking at everything
 * again. No counts are kept, no queues.
 */
import type { InstanceStatus } from "../../src/kernel/status.ts";

export type Ending = "Success" | "Failed" | "TimeoutFailed" | "Stopped" | "Canceled";

export interface ModelTask {
  readonly kind: "job" | "child" | "detached";
  readonly retryCount: number;
  readonly childId: string | undefined;
  ending: Ending | undefined;
  /** Handed out, and not yet back. */
  isOut: boolean;
  hasStarted: boolean;
  retryAt: number | undefined;
  attempt: number;
  isAttemptOpen: boolean;
  retriesUsed: number;
  losses: number;
}

export interface ModelTimer {
  readonly dueAt: number;
  state: "set" | "fired" | "canceled";
}

export class CodeModel {
  tasks: ModelTask[] = [];
  timers: ModelTimer[] = [];
  updates = new Map<string, "open" | "answered">();
  status: InstanceStatus = "Running";
  generation = 1;
  deadline: number | undefined;
  cancelReason: string | undefined;
  isCancelHeld = false;
  customStatus: string | undefined;
  readonly #timeoutMs: number | undefined;

  constructor(timeoutMs: number | undefined, at: number) {
    this.#timeoutMs = timeoutMs;
    this.setDeadline(at);
  }

  setDeadline(at: number): void {
    this.deadline = this.#timeoutMs === undefined ? undefined : at + this.#timeoutMs;
  }

  get hasEnded(): boolean {
    return this.status === "Success" || this.status === "Failed" || this.status === "Terminated";
  }

  get out(): ModelTask[] {
    return this.tasks.filter(({ isOut }) => isOut);
  }

  get timersSet(): ModelTimer[] {
    return this.timers.filter(({ state }) => state === "set");
  }

  get nextWake(): number | undefined {
    if (this.hasEnded) return undefined;
    const retries = this.tasks.flatMap(({ retryAt }) => retryAt ?? []);
    const due = this.status === "Running" ? [...retries, ...this.timersSet.map(({ dueAt }) => dueAt)] : [];
    const times = [...due, ...(this.deadline === undefined ? [] : [this.deadline])];
    return times.length === 0 ? undefined : Math.min(...times);
  }

  add(kind: ModelTask["kind"], options: { retryCount?: number; childId?: string | undefined }): ModelTask {
    const task: ModelTask = {
      kind,
      retryCount: options.retryCount ?? 0,
      childId: options.childId,
      ending: kind === "detached" ? "Success" : undefined,
      isOut: false,
      hasStarted: false,
      retryAt: undefined,
      attempt: 0,
      isAttemptOpen: false,
      retriesUsed: 0,
      losses: 0,
    };
    this.tasks.push(task);
    return task;
  }

  /** Whatever is neither out, over nor waiting goes out while the instance runs. */
  handOut(): ModelTask[] {
    if (this.status !== "Running") return [];
    const going = this.tasks.filter(
      ({ ending, isOut, retryAt }) => !isOut && ending === undefined && retryAt === undefined,
    );
    for (const task of going) {
      task.isOut = true;
      task.hasStarted = task.kind === "child";
      if (task.isAttemptOpen) continue;
      task.attempt++;
      task.isAttemptOpen = true;
      task.losses = 0;
    }
    return going;
  }

  back(task: ModelTask): void {
    task.isOut = false;
    task.hasStarted = false;
  }

  end(task: ModelTask, ending: Ending): void {
    this.back(task);
    task.ending = ending;
    task.isAttemptOpen = false;
    task.retryAt = undefined;
  }

  fail(task: ModelTask, how: { at: number; isRetryable: boolean; ending: "Failed" | "TimeoutFailed" }): void {
    if (!how.isRetryable || task.retriesUsed >= task.retryCount) return this.end(task, how.ending);
    this.back(task);
    task.isAttemptOpen = false;
    task.retryAt = how.at + 1000 * 2 ** task.retriesUsed++;
  }

  /** Time has come for the deadline, or for timers and retries while the instance runs. */
  wake(at: number): void {
    if (this.hasEnded) return;
    if (this.deadline !== undefined && at >= this.deadline) return this.endInstance("Failed");
    if (this.status !== "Running") return;
    for (const timer of this.timersSet) if (timer.dueAt <= at) timer.state = "fired";
    for (const task of this.tasks) if (task.retryAt !== undefined && task.retryAt <= at) task.retryAt = undefined;
  }

  stopTasks(): void {
    for (const task of this.tasks) {
      if (task.ending === undefined) this.end(task, task.isOut ? "Stopped" : "Canceled");
    }
  }

  holdCancel(reason: string): void {
    this.cancelReason = reason;
    this.isCancelHeld = true;
  }

  cancel(reason: string): void {
    this.cancelReason = reason;
    this.isCancelHeld = false;
    for (const timer of this.timersSet) timer.state = "canceled";
    this.stopTasks();
  }

  endInstance(status: "Success" | "Failed" | "Terminated"): void {
    this.stopTasks();
    for (const timer of this.timersSet) timer.state = "canceled";
    this.status = status;
  }

  /** Nothing of the generation before is left, but for the last answers where the code itself began anew. */
  beginAnew({ keepsAnswers }: { keepsAnswers: boolean }): void {
    this.tasks = [];
    this.timers = [];
    const answered = [...this.updates].filter(([, standing]) => standing === "answered");
    this.updates = new Map(keepsAnswers ? answered.slice(-20) : []);
    this.cancelReason = undefined;
    this.isCancelHeld = false;
    this.status = "Running";
    this.generation++;
  }
}
