/**
 * What a DAG instance ought to do, as plainly as it can be said: every question is answered by looking at everything
 * again. No counts are kept, no queues, nothing is worked out beforehand.
 */
import assert from "node:assert/strict";
import type { DagSpec, FailurePolicy } from "../../src/kernel/dag/dag-spec.ts";
import type { NodeSpec } from "../../src/kernel/node-spec.ts";
import type { InstanceStatus } from "../../src/kernel/status.ts";

export type Ending =
  | "Success"
  | "Failed"
  | "TimeoutFailed"
  | "Stopped"
  | "Skipped"
  | "Canceled (branch)"
  | "Canceled (upstream-failed)"
  | "Canceled (instance-ended)";

export interface ModelTask {
  readonly name: string;
  readonly kind: "job" | "decision" | "nested";
  readonly isEnabled: boolean;
  readonly isSkippable: boolean;
  readonly retryCount: number;
  readonly parent: ModelTask | undefined;
  /** Siblings that it waits for. */
  readonly after: readonly ModelTask[];
  ending: Ending | undefined;
  /** Handed out, and not yet back. */
  isOut: boolean;
  hasStarted: boolean;
  /** Lost while it ran, after another task had failed. */
  isToFinish: boolean;
  retryAt: number | undefined;
  attempt: number;
  /** The attempt has neither succeeded nor failed. */
  isAttemptOpen: boolean;
  retriesUsed: number;
  losses: number;
  isRemoved: boolean;
  /** And not because the instance ended. */
  isStoppedByUser: boolean;
}

interface ModelEdge {
  readonly from: ModelTask;
  readonly to: ModelTask;
  readonly property: string | undefined;
  readonly isEnabled: boolean;
  isNotTaken: boolean;
}

export class DagModel {
  readonly tasks: ModelTask[] = [];
  readonly edges: readonly ModelEdge[];
  readonly policy: FailurePolicy;
  readonly timeoutMs: number | undefined;
  readonly context = new Map<string, string>();
  readonly placesMax: number;
  status: InstanceStatus = "Ready";
  isPausing = false;
  /** A failure has ended the start of new tasks. */
  isFailing = false;
  deadline: number | undefined;
  generation = 1;

  constructor(spec: DagSpec, placesMax: number) {
    this.placesMax = placesMax;
    this.policy = spec.failurePolicy ?? "finish-running";
    this.timeoutMs = spec.timeoutSeconds === undefined ? undefined : spec.timeoutSeconds * 1000;
    for (const node of spec.nodes) this.tasks.push(newTask(node, undefined, []));
    const taskOf = (nodeId: number | string): ModelTask => this.tasks[Number(nodeId)]!;
    this.edges = (spec.edges ?? []).map(({ from, to, property, enable }) => ({
      from: taskOf(from),
      to: taskOf(to),
      property,
      isEnabled: enable ?? true,
      isNotTaken: false,
    }));
  }

  // Questions

  get present(): ModelTask[] {
    return this.tasks.filter(({ isRemoved }) => !isRemoved);
  }

  get out(): ModelTask[] {
    return this.tasks.filter(({ isOut }) => isOut);
  }

  get hasEnded(): boolean {
    return this.status === "Success" || this.status === "Failed" || this.status === "Terminated";
  }

  subTasksOf(task: ModelTask): ModelTask[] {
    return this.present.filter(({ parent }) => parent === task);
  }

  /** What comes after it may go on. */
  isPassed(task: ModelTask): boolean {
    return task.ending === "Success" || task.ending === "Skipped" || (hasFailed(task) && task.isSkippable);
  }

  isComplete(task: ModelTask): boolean {
    return this.isPassed(task) && this.subTasksOf(task).every((subTask) => this.isComplete(subTask));
  }

  isHardFailure(task: ModelTask): boolean {
    return hasFailed(task) && !task.isSkippable;
  }

  isOff({ from, isEnabled, isNotTaken }: ModelEdge): boolean {
    return !isEnabled || isNotTaken || from.ending === "Canceled (branch)";
  }

  edgesInto(task: ModelTask): ModelEdge[] {
    return this.edges.filter(({ to }) => to === task);
  }

  /** All that it waits for is complete; a sub-task's parent need only be passed. */
  isFree(task: ModelTask): boolean {
    if (task.parent !== undefined && !this.isPassed(task.parent)) return false;
    if (!task.after.every((sibling) => this.isComplete(sibling))) return false;
    return this.edgesInto(task).every((edge) => this.isOff(edge) || this.isComplete(edge.from));
  }

  isOnDeadBranch(task: ModelTask): boolean {
    if (task.parent !== undefined) return task.parent.ending === "Canceled (branch)";
    const edges = this.edgesInto(task);
    return edges.length > 0 && edges.every((edge) => this.isOff(edge));
  }

  /** What could be handed out now, if there were places for all. */
  get candidates(): ModelTask[] {
    return this.present.filter(
      (task) =>
        task.ending === undefined &&
        task.isEnabled &&
        !task.isOut &&
        task.retryAt === undefined &&
        this.isFree(task) &&
        !this.isOnDeadBranch(task),
    );
  }

  /** It, or something below it, has ended without letting others go on. */
  canNeverComplete(task: ModelTask): boolean {
    if (task.ending !== undefined && !this.isPassed(task)) return task.ending !== "Canceled (branch)";
    return this.subTasksOf(task).some((subTask) => this.canNeverComplete(subTask));
  }

  /** It waits for something that can never come. */
  isDoomed(task: ModelTask): boolean {
    const { parent, after } = task;
    if (parent?.ending !== undefined && !this.isPassed(parent)) return true;
    if (after.some((sibling) => this.canNeverComplete(sibling))) return true;
    return this.edgesInto(task).some((edge) => !this.isOff(edge) && this.canNeverComplete(edge.from));
  }

  /** Below the siblings of the parent's level, above what comes after it; nobody has a level while all are nodes. */
  rank(task: ModelTask): number {
    if (this.tasks.every(({ parent }) => parent === undefined)) return 0;
    if (task.parent !== undefined) {
      const parent = this.rank(task.parent);
      const level = Math.floor(parent);
      return level + (1 + (parent - level)) / 2;
    }
    const before = this.edgesInto(task).map(({ from }) => this.rank(from) + 1);
    return Math.max(0, ...before);
  }

  wasCutOff({ ending, isStoppedByUser }: ModelTask): boolean {
    if (isStoppedByUser) return false;
    return ending === "Stopped" || ending === "Canceled (upstream-failed)" || ending === "Canceled (instance-ended)";
  }

  // What happens

  addSubTask(node: NodeSpec, parent: ModelTask): void {
    const after = (node.dependsOn ?? []).map((name) => this.present.find((task) => task.name === name)!);
    this.tasks.push(newTask(node, parent, after));
  }

  /** The attempt is over, one way or another. */
  back(task: ModelTask): void {
    task.isOut = false;
    task.hasStarted = false;
  }

  /** Lost with its process: what ran when another task failed is still to finish. */
  lose(task: ModelTask): void {
    task.isToFinish = task.hasStarted && this.isFailing && !this.isPausing && this.status === "Running";
    this.back(task);
  }

  end(task: ModelTask, ending: Ending): void {
    this.back(task);
    task.ending = ending;
    task.isAttemptOpen = false;
  }

  fail(task: ModelTask, how: { at: number; isRetryable: boolean; ending: "Failed" | "TimeoutFailed" }): void {
    if (how.isRetryable && task.retriesUsed < task.retryCount && !this.isFailing) {
      this.back(task);
      task.isAttemptOpen = false;
      task.retryAt = how.at + 1000 * 2 ** task.retriesUsed++;
      return;
    }
    this.end(task, how.ending);
    if (this.isHardFailure(task)) this.#followFailure();
  }

  /** By a user; it is not tried again. */
  stop(task: ModelTask): void {
    this.end(task, "Stopped");
    task.isStoppedByUser = true;
    task.isToFinish = false;
    task.retryAt = undefined;
    if (this.isHardFailure(task)) this.#followFailure();
  }

  #followFailure(): void {
    if (this.policy !== "continue") this.isFailing = true;
    this.#repeat((task) => {
      if (task.ending === undefined && this.isDoomed(task)) task.ending = "Canceled (upstream-failed)";
    });
    if (this.policy === "abort-running") this.endInstance("Failed");
  }

  /** Dead branches and disabled nodes are passed over while the instance runs. */
  passOver(): void {
    if (this.status !== "Running") return;
    this.#repeat((task) => {
      if (task.ending !== undefined || task.isOut) return;
      if (this.isOnDeadBranch(task)) task.ending = "Canceled (branch)";
      else if (!task.isEnabled && this.isFree(task)) task.ending = "Skipped";
    });
  }

  /** Checks that these, and no others, may be handed out now. */
  handOut(tasks: readonly ModelTask[]): void {
    const candidates = this.candidates;
    if (this.isFailing) return this.#handOutAgain(tasks);
    const mayStart = this.status === "Running" && !this.isPausing;
    const decisions = candidates.filter(({ kind }) => kind === "decision");
    const others = candidates.filter(({ kind }) => kind !== "decision");
    const used = this.out.filter(({ kind }) => kind !== "decision").length;
    const chosen = tasks.filter(({ kind }) => kind !== "decision");
    for (const task of tasks) assert.ok(candidates.includes(task), `${task.name} may not run now`);
    assert.equal(new Set(tasks).size, tasks.length, "a task is handed out once");
    assert.equal(tasks.length - chosen.length, mayStart ? decisions.length : 0, "decisions wait for no place");
    const places = Math.max(0, this.placesMax - used);
    assert.equal(chosen.length, mayStart ? Math.min(places, others.length) : 0, "every place that can be used is used");
    const left = others.filter((task) => !chosen.includes(task)).map((task) => this.rank(task));
    for (const task of chosen) assert.ok(this.rank(task) <= Math.min(...left), `${task.name} goes before a better one`);
    for (const task of tasks) {
      task.isOut = true;
      if (task.isAttemptOpen) continue;
      task.attempt++;
      task.isAttemptOpen = true;
      task.losses = 0;
    }
  }

  /** After a failure only what was lost while it ran. */
  #handOutAgain(tasks: readonly ModelTask[]): void {
    assert.deepEqual(
      tasks,
      this.candidates.filter(({ isToFinish }) => isToFinish),
    );
    for (const task of tasks) {
      task.isOut = true;
      task.isToFinish = false;
    }
  }

  /** Ends or pauses the instance when there is nothing to wait for. */
  conclude(): void {
    if (this.status !== "Running") return;
    const isOver = this.present.every(({ ending }) => ending !== undefined);
    if (isOver || (this.isFailing && this.out.length === 0)) {
      this.endInstance(this.present.some((task) => this.isHardFailure(task)) ? "Failed" : "Success");
    } else if (this.isPausing && this.out.every(({ kind }) => kind === "nested")) {
      this.isPausing = false;
      this.status = "Paused";
    }
  }

  endInstance(status: "Success" | "Failed" | "Terminated"): void {
    for (const task of this.present) {
      if (task.ending === undefined) this.end(task, task.isOut ? "Stopped" : "Canceled (instance-ended)");
      task.retryAt = undefined;
    }
    this.status = status;
    this.isPausing = false;
    this.isFailing = false;
  }

  reopen(at: number): void {
    this.generation++;
    this.status = "Running";
    this.setDeadline(at);
  }

  setDeadline(at: number): void {
    this.deadline = this.timeoutMs === undefined ? undefined : at + this.timeoutMs;
  }

  retry(): void {
    for (const task of this.present) if (this.isHardFailure(task) || this.wasCutOff(task)) this.#reset(task);
  }

  /** The task and all that waits for it, over whatever edge; what is below these goes. */
  rerun(task: ModelTask): void {
    const again = new Set([task]);
    const touches = (other: ModelTask): boolean =>
      again.has(other) || this.subTasksOf(other).some((subTask) => touches(subTask));
    this.#repeat((other) => {
      const waitsFor = [...this.edgesInto(other).map(({ from }) => from), ...other.after];
      if (!again.has(other) && waitsFor.some(touches)) again.add(other);
    }, again);
    const isBelow = ({ parent }: ModelTask): boolean => parent !== undefined && (again.has(parent) || isBelow(parent));
    const removed = this.present.filter(isBelow);
    this.retry();
    for (const other of again) this.#reset(other);
    for (const other of removed) other.isRemoved = true;
  }

  /** What the failure kept from running runs, unless another failure keeps it. */
  settle(task: ModelTask, ending: "Success" | "Skipped"): void {
    task.ending = ending;
    task.isStoppedByUser = false;
    const before = new Map(this.present.filter((other) => this.wasCutOff(other)).map((other) => [other, other.ending]));
    for (const other of before.keys()) other.ending = undefined;
    this.#repeat((other) => {
      if (before.has(other) && this.isDoomed(other)) other.ending = before.get(other);
    });
    for (const other of before.keys()) if (other.ending === undefined) this.#reset(other);
  }

  #reset(task: ModelTask): void {
    task.ending = undefined;
    task.isStoppedByUser = false;
    task.isAttemptOpen = false;
    task.retriesUsed = 0;
    task.losses = 0;
    for (const edge of this.edges) if (edge.from === task) edge.isNotTaken = false;
  }

  /** Goes over all tasks until nothing changes any more. */
  #repeat(change: (task: ModelTask) => void, alsoWatched?: ReadonlySet<unknown>): void {
    const picture = (): string => this.tasks.map(({ ending }) => ending).join() + (alsoWatched?.size ?? "");
    let before: string;
    do {
      before = picture();
      for (const task of this.present) change(task);
    } while (picture() !== before);
  }
}

function hasFailed({ ending, isStoppedByUser }: ModelTask): boolean {
  return ending === "Failed" || ending === "TimeoutFailed" || isStoppedByUser;
}

function newTask(node: NodeSpec, parent: ModelTask | undefined, after: readonly ModelTask[]): ModelTask {
  const kinds = { 1: "job", 2: "decision", 3: "nested" } as const;
  return {
    name: node.nodeName!,
    kind: kinds[node.nodeType ?? 1],
    isEnabled: node.enable ?? true,
    isSkippable: node.skipWhenFailed ?? false,
    retryCount: node.retryCount ?? 0,
    parent,
    after,
    ending: undefined,
    isOut: false,
    hasStarted: false,
    isToFinish: false,
    retryAt: undefined,
    attempt: 0,
    isAttemptOpen: false,
    retriesUsed: 0,
    losses: 0,
    isRemoved: false,
    isStoppedByUser: false,
  };
}
