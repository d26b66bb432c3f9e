/**
 * What an instance of code ought to do, as plainly as it can be said: every question is answered by looking at everything
 * again. No counts are kept, no queues.
 */
import type { DetachedChild } from "../../src/kernel/event.ts";
import type { WhenParentEnds } from "../../src/kernel/node-spec.ts";
import type { InstanceStatus } from "../../src/kernel/status.ts";

export type Ending = "Success" | "Failed" | "TimeoutFailed" | "Stopped" | "Canceled";

export interface ModelTask {
  readonly kind: "job" | "child" | "detached";
  readonly retryCount: number;
  /** Of a child. */
  readonly childId: string;
  readonly whenParentEnds: WhenParentEnds;
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
  /** Children that nobody waits for and that end with the instance. */
  detached: DetachedChild[] = [];
  /** Since the machine was last compared: children that were started, and what children were told. */
  started: string[] = [];
  told: string[] = [];
  status: InstanceStatus = "Running";
  generation = 1;
  deadline: number | undefined;
  cancelReason: string | undefined;
  isCancelHeld = false;
  /** How long it may compensate, once its time is up. */
  compensationMs: number | undefined;
  customStatus: string | undefined;
  readonly #timeoutMs: number | undefined;

  constructor(timeoutMs: number | undefined, at: number) {
    this.#timeoutMs = timeoutMs;
    this.setDeadline(at);
  }

  setDeadline(at: number): void {
    this.deadline = this.#timeoutMs === undefined ? undefined : at + this.#timeoutMs;
  }

  /** The code knows that its time is up. */
  get isTimedOut(): boolean {
    return this.compensationMs !== undefined && !this.isCancelHeld;
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

  add(kind: ModelTask["kind"], options: { retryCount?: number; childId?: string; policy?: WhenParentEnds }): ModelTask {
    const number = this.tasks.length;
    const { generation } = this;
    const { retryCount = 0, childId = generation === 1 ? `i/${number}` : `i/${number}~${generation}` } = options;
    const whenParentEnds = options.policy ?? "terminate";
    const task: ModelTask = {
      kind,
      retryCount,
      childId,
      whenParentEnds,
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
    if (kind === "child") this.#goOut(task);
    if (kind !== "detached") return task;
    this.started.push(childId);
    if (whenParentEnds !== "leave") this.detached.push({ generation, task: number, childId, whenParentEnds });
    return task;
  }

  #goOut(task: ModelTask): void {
    task.isOut = true;
    task.hasStarted = task.kind === "child";
    if (task.kind === "child") this.started.push(task.childId);
    if (task.isAttemptOpen) return;
    task.attempt++;
    task.isAttemptOpen = true;
    task.losses = 0;
  }

  get #children(): { childId: string; whenParentEnds: WhenParentEnds }[] {
    return [...this.out.filter(({ kind }) => kind === "child"), ...this.detached];
  }

  tellChildren(order: string, children = this.#children): void {
    for (const { childId } of children) this.told.push(`${childId} ${order}`);
  }

  #partWith(children: readonly { childId: string; whenParentEnds: WhenParentEnds }[]): void {
    for (const { childId, whenParentEnds } of children) {
      if (whenParentEnds === "terminate") this.told.push(`${childId} TerminateInstance`);
      if (whenParentEnds === "cancel") this.told.push(`${childId} CancelInstance`);
    }
  }

  /** Whatever is neither out, over nor waiting goes out while the instance runs. */
  handOut(): ModelTask[] {
    if (this.status !== "Running") return [];
    const going = this.tasks.filter(
      ({ ending, isOut, retryAt }) => !isOut && ending === undefined && retryAt === undefined,
    );
    for (const task of going) this.#goOut(task);
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

  /** By a user; it is not tried again. */
  stop(task: ModelTask): void {
    if (task.isOut && task.kind === "child") this.told.push(`${task.childId} TerminateInstance`);
    this.end(task, "Stopped");
  }

  /** Time has come for the deadline, or for timers and retries while the instance runs. */
  wake(at: number, isCodeAbsent: boolean): void {
    if (this.hasEnded) return;
    if (this.deadline !== undefined && at >= this.deadline) this.timeOut(at, isCodeAbsent);
    else this.wakeTasks(at);
  }

  /** The first time it is asked to end, when the code can; the second time it ends. */
  timeOut(at: number, isCodeAbsent: boolean): void {
    if (this.compensationMs !== undefined) return this.endInstance("Failed");
    if (this.status === "Paused") {
      this.status = "Running";
      this.tellChildren("ResumeInstance");
    }
    this.compensationMs = 3_600_000;
    this.deadline = isCodeAbsent ? undefined : at + this.compensationMs;
    this.holdCancel(`the instance did not end within its timeout of ${(this.#timeoutMs ?? 0) / 1000} s`);
  }

  wakeTasks(at: number): void {
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

  cancel(reason: string, at: number): void {
    const isLeft = ({ whenParentEnds }: { whenParentEnds: WhenParentEnds }): boolean =>
      this.compensationMs !== undefined && whenParentEnds === "leave";
    if (this.compensationMs !== undefined) this.deadline ??= at + this.compensationMs;
    this.cancelReason = reason;
    this.isCancelHeld = false;
    for (const timer of this.timersSet) timer.state = "canceled";
    this.tellChildren(
      "CancelInstance",
      this.#children.filter((child) => !isLeft(child)),
    );
    this.detached = [];
    this.stopTasks();
  }

  endInstance(status: "Success" | "Failed" | "Terminated"): void {
    this.#partWith(this.#children);
    this.detached = [];
    this.stopTasks();
    for (const timer of this.timersSet) timer.state = "canceled";
    this.status = status;
  }

  /** The code itself begins anew: nobody waits any more for the children that it called; the others are still its own. */
  continueAsNew(): void {
    const unheeded = this.isCancelHeld ? this.cancelReason : undefined;
    const { compensationMs } = this;
    this.#partWith(this.out.filter(({ kind }) => kind === "child"));
    this.stopTasks();
    this.beginAnew({ keepsAnswers: true });
    this.compensationMs = compensationMs;
    if (unheeded !== undefined) this.holdCancel(unheeded);
  }

  /** Nothing of the generation before is left, but for the last answers where the code itself began anew. */
  beginAnew({ keepsAnswers }: { keepsAnswers: boolean }): void {
    this.tasks = [];
    this.timers = [];
    const answered = [...this.updates].filter(([, standing]) => standing === "answered");
    this.updates = new Map(keepsAnswers ? answered.slice(-20) : []);
    this.cancelReason = undefined;
    this.isCancelHeld = false;
    this.compensationMs = undefined;
    this.status = "Running";
    this.generation++;
  }
}
