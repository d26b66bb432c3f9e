import { assert } from "../../base/assert.ts";
import { Context } from "../context.ts";
import type {
  CodeEvent,
  ContextPatch,
  DecisionMade,
  InstanceCreated,
  InstanceEnded,
  InstanceReopened,
  SettledByUser,
  TaskFailed,
  TaskSucceeded,
} from "../event.ts";
import type { Failure } from "../failure.ts";
import { foreignEvent, type OwnEvent } from "../instance-base.ts";
import { type EndStatus, hasEnded } from "../status.ts";
import { defineTask, type TaskDefinition, type TaskKind } from "../task-definition.ts";
import { isFailed, isFinished, isInFlight, newRecord, Phase, phaseOf } from "../task-state.ts";
import { AddedTasks } from "./added-tasks.ts";
import type { NodeSpec } from "../node-spec.ts";
import type { Graph } from "./graph.ts";
import { ItemBase } from "./item-base.ts";
import { firstItemNumber } from "./map-items.ts";
import { ReadyQueue } from "./ready-queue.ts";
import { TaskSet } from "./task-set.ts";
import { Waits, type WaitsOwner } from "./waits.ts";

/** True for kinds whose tasks count towards `maxConcurrentTasks`. Tasks of the others start as soon as they are ready. */
const takesPlace: Readonly<Record<TaskKind, boolean>> = {
  job: true,
  nested: true,
  map: true,
  decision: false,
};

/**
 * A DAG instance as the fold of its events. `apply` only follows what was decided; deciding is `DagMachine`'s.
 *
 * S1  A task is unblocked when it waits for nothing more (`Waits`): exactly once per generation.
 * S2  A task is *passed* when it succeeded, was skipped, or failed skippably: what comes after it may go on.
 * S3  Finishing a task costs its out-degree; only starting, reopening and ending walk the whole graph.
 * S4  What waits to be decided about (`ready`, `toCancel` …) follows from the events too, so that a replayed instance goes
 *     on exactly as the first would have.
 */
export class DagState extends ItemBase implements WaitsOwner {
  readonly graph: Graph;

  maxConcurrentTasks = 0;
  /** A failure has ended the start of new tasks; tasks that run may finish. */
  failing = false;
  context: Context = Context.empty;

  /** Ready job and nested-workflow tasks. */
  readonly ready = new ReadyQueue();
  /** Unblocked tasks that wait for their event: dead branches, disabled nodes, decisions. */
  readonly toCancel = new TaskSet();
  readonly toSkip = new TaskSet();
  readonly toDecide = new TaskSet();
  unfinished = 0;

  #params: Map<number, string> | undefined;
  #changedKeys: Set<string> | undefined;
  readonly #added: AddedTasks;
  readonly #waits: Waits;

  constructor(graph: Graph) {
    super(graph.size);
    this.graph = graph;
    this.#added = new AddedTasks(graph.size);
    this.#waits = new Waits(graph, this.#added, this);
  }

  override get domain(): string | undefined {
    return this.graph.domain;
  }

  /** Returns the context keys that this instance has changed, for its parent. */
  override resultFor(status: EndStatus): { patch?: ContextPatch } {
    const keys = [...(this.#changedKeys ?? [])];
    if (status !== "Success" || keys.length === 0) return {};
    return { patch: Object.fromEntries(keys.map((key) => [key, this.context.entries.get(key) ?? null])) };
  }

  /** 0 after a failure that stops the instance: nothing new starts, so nothing waits. */
  override get waitingCount(): number {
    if (this.status === "Ready") return Math.min(this.generation, 1);
    return this.failing ? 0 : this.ready.size + this.toDecide.size + this.retryWaits.size;
  }

  override waitingTasks(): number[] {
    return this.failing ? [] : [...this.ready.tasks, ...this.toDecide, ...this.retryWaits.numbers];
  }

  override definition(task: number): TaskDefinition {
    if (task >= firstItemNumber) return this.items.get(task).definitionOf(task);
    const definition = this.graph.tasks[task] ?? this.#added.definition(task);
    assert(definition !== undefined, "a task number is below the instance's size");
    return definition;
  }

  override params(task: number): string | undefined {
    if (task >= firstItemNumber && this.items.get(task).hooks.of(task) !== undefined)
      return this.definition(task).params;
    const node = this.nodeOf(task);
    return this.#params?.get(node) ?? this.definition(node).params;
  }

  /** The task of that name, if it is still part of the instance. */
  override find(name: string): number | undefined {
    return this.graph.byName.get(name) ?? this.#added.find(name);
  }

  override parentOf(task: number): number | undefined {
    return task < firstItemNumber ? this.#added.parentOf(task) : this.items.get(task).task;
  }

  subTasksOf(task: number): readonly number[] {
    return this.#added.subTasksOf(task);
  }

  siblingsAfter(task: number): readonly number[] {
    return this.#added.siblingsAfter(task);
  }

  siblingsBefore(task: number): readonly number[] {
    return this.#added.siblingsBefore(task);
  }

  isEdgeOff(edge: number): boolean {
    return this.#waits.isEdgeOff(edge);
  }

  isPassed(task: number): boolean {
    const phase = this.phase(task);
    if (phase === Phase.success || phase === Phase.skipped) return true;
    return isFailed(phase) && this.definition(task).skipWhenFailed;
  }

  /** True if the task and all its sub-tasks are passed. */
  isComplete(task: number): boolean {
    return this.#waits.isComplete(task);
  }

  /** True if the task failed and its failure is not skippable. */
  isHardFailure(task: number): boolean {
    return isFailed(this.phase(task)) && !this.definition(task).skipWhenFailed;
  }

  /**
   * The sub-task rule: below the siblings of the parent's level, above what comes after it. Levels only count once an
   * instance has sub-tasks; before that all ranks are equal.
   */
  override rank(task: number): number {
    if (this.#added.count === 0) return 0;
    let below = 0;
    let ancestor = task;
    for (let up = this.parentOf(task); up !== undefined; up = this.parentOf(up)) {
      ancestor = up;
      below++;
    }
    return this.graph.depth(ancestor) + (1 - 2 ** -Math.min(below, 50));
  }

  /** Number of tasks that wait for it directly; of two edges between the same tasks both count. */
  override successors(task: number): number {
    if (task >= firstItemNumber) return this.successors(this.nodeOf(task));
    let unfinished = 0;
    const { graph } = this;
    const degree = graph.outDegree(task);
    for (let place = 0; place < degree; place++) {
      const edge = graph.outEdge(task, place);
      if (!this.isEdgeOff(edge) && !isFinished(this.phase(graph.edgeTo[edge] as number))) unfinished++;
    }
    return unfinished + this.siblingsAfter(task).length;
  }

  override applyOwn(event: OwnEvent, at: number): void {
    switch (event.type) {
      case "InstanceCreated":
        return this.#create(event, at);
      case "InstanceStarted":
        this.begin(event.deadline, at);
        return this.#recount();
      case "InstanceEnded":
        return this.#end(event, at);
      case "InstanceReopened":
        return this.#reopen(event, at);
      case "ContextPatched":
        return this.#patchContext(event.patch);
      default:
        return this.#applyToTasks(event, at);
    }
  }

  #applyToTasks(event: TaskEvent, at: number): void {
    switch (event.type) {
      case "TasksScheduled":
        for (const task of event.tasks) this.#schedule(task, at);
        return;
      case "TaskStarted":
        return this.startTask(event);
      case "MapStarted":
        return this.startMap(event, at);
      case "ItemsAdded":
        return this.addItems(event);
      case "TaskAwaitsCompletion":
        return this.awaitCompletion(event, at);
      case "TaskSucceeded":
        return this.#succeed(event, at);
      case "TaskFailed":
        return this.#fail(event, at);
      case "TaskInterrupted":
        this.noteInterruption(event);
        return this.#takeBack(event.task);
      case "TasksWithdrawn":
        this.noteWithdrawal(event);
        return event.tasks.forEach((task) => this.#takeBack(task));
      case "RetriesDue":
        return event.tasks.forEach((task) => this.#endRetryWait(task));
      case "TasksStopped":
        return event.tasks.forEach((task) => this.#stop(task, event.failure, at));
      case "TasksSkipped":
        return event.tasks.forEach((task) => this.#finish(task, Phase.skipped, at));
      case "TasksCanceled":
        return event.tasks.forEach((task) => this.#finish(task, phaseOf(event.cause), at));
      case "DecisionMade":
        return this.#decide(event, at);
      case "ChildStarted":
        this.recordOf(event.task).startedAt = at;
        return this.startChild(event.task, event.childId);
      case "TaskAdded":
        return this.#add(event.node, event.parent as number);
      case "TaskParamsUpdated":
        return this.#setParams(event.task, event.params);
      default:
        throw foreignEvent(event satisfies CodeEvent, "a DAG");
    }
  }

  #create(event: InstanceCreated, at: number): void {
    this.identify(event);
    this.context = Context.of(event.context);
    this.maxConcurrentTasks = event.maxConcurrentTasks;
    this.createdAt = at;
    this.unfinished = this.size;
  }

  #end(event: InstanceEnded, at: number): void {
    for (let task = 0; this.unfinished > 0; task++) {
      if (isFinished(this.phase(task))) continue;
      this.setPhase(task, Phase.canceledEnded);
      this.unfinished--;
    }
    this.status = event.status;
    this.reason = event.reason;
    this.endedAt = at;
    this.pausing = false;
    this.failing = false;
    for (const items of this.items.all()) if (items.isOpen) this.closeItems(items);
    for (const task of this.retryWaits.numbers) this.recordOf(task).retryAt = undefined;
    this.#forgetQueues();
  }

  #forgetQueues(): void {
    this.ready.clear();
    this.toCancel.clear();
    this.toSkip.clear();
    this.toDecide.clear();
    this.retryWaits.clear();
  }

  #setParams(task: number, params: string): void {
    this.#params ??= new Map();
    this.#params.set(task, params);
  }

  #reopen(event: InstanceReopened, at: number): void {
    assert(hasEnded(this.status), "only an ended instance is reopened");
    this.status = "Running";
    this.generation = event.generation;
    this.reason = undefined;
    this.endedAt = undefined;
    this.deadline = event.deadline;
    this.startedAt ??= at;
    if (event.parent !== undefined) this.parent = event.parent;
    for (const task of event.removed ?? []) {
      this.setPhase(task, Phase.removed);
      this.#added.remove(task);
    }
    for (const task of event.reset) this.#reset(task);
    for (const task of event.anew ?? []) {
      this.recordOf(task).childId = undefined;
      this.items.forget(task);
    }
    for (const settled of event.settled ?? []) this.#settle(settled);
    if (event.params !== undefined) this.#setParams(event.params.task, event.params.params);
    this.#recount();
  }

  #settle({ task, status, output, edgesOff }: SettledByUser): void {
    this.setPhase(task, status === "Success" ? Phase.success : Phase.skipped);
    const record = this.recordOf(task);
    record.output = output;
    record.edgesOff = edgesOff;
  }

  #reset(task: number): void {
    this.items.ofTask(task)?.reopen();
    this.setPhase(task, Phase.waiting);
    const record = this.record(task);
    if (record === undefined) return;
    const { attempt, childId, isChildMissing } = record;
    Object.assign(record, newRecord(), { attempt, childId, isChildMissing });
  }

  #patchContext(patch: ContextPatch): void {
    this.context = this.context.patched(patch);
    this.#changedKeys ??= new Set();
    for (const key of Object.keys(patch)) this.#changedKeys.add(key);
  }

  #schedule(task: number, at: number): void {
    if (task >= firstItemNumber) return this.scheduleTask(task, at);
    assert(this.phase(task) === Phase.ready, "only a ready task is scheduled");
    this.ready.delete(task);
    this.toDecide.delete(task);
    this.scheduleTask(task, at);
  }

  #succeed(event: TaskSucceeded, at: number): void {
    if (event.patch !== undefined) this.#patchContext(event.patch);
    for (const node of event.subTasks ?? []) this.#add(node, event.task);
    // A result from outside may come while the attempt, which was taken back, waits to run again.
    if (this.phase(event.task) === Phase.ready) this.ready.delete(event.task);
    this.noteSuccess(event);
    if (event.task >= firstItemNumber) this.finishItem(event.task, Phase.success, event.output);
    else this.#finish(event.task, Phase.success, at);
  }

  #fail(event: TaskFailed, at: number): void {
    if (this.phase(event.task) === Phase.ready) this.ready.delete(event.task);
    this.noteFailure(event, at);
    if (event.retryAt !== undefined) return this.retryWaits.add(event.task, event.retryAt);
    const phase = event.timedOut ? Phase.timeoutFailed : Phase.failed;
    if (event.task >= firstItemNumber) return this.finishItem(event.task, phase);
    this.#finish(event.task, phase, at);
    this.#followFailure(event.task);
  }

  #stop(task: number, failure: Failure | undefined, at: number): void {
    if (failure === undefined) return this.#finish(task, Phase.stopped, at);
    this.ready.delete(task);
    this.toDecide.delete(task);
    this.retryWaits.delete(task);
    this.noteStop(task, failure);
    this.#finish(task, Phase.stoppedByUser, at);
    this.#followFailure(task);
  }

  /**
   * Stops new tasks from starting after a failure that is not skipped, unless the workflow continues with its other
   * branches.
   */
  #followFailure(task: number): void {
    if (this.isHardFailure(task) && this.graph.failurePolicy !== "continue") this.failing = true;
  }

  /** Takes a task back from the dispatcher without a result: the attempt is still to be made. */
  #takeBack(task: number): void {
    assert(isInFlight(this.phase(task)), "only a scheduled task is taken back");
    this.setPhase(task, Phase.ready);
    if (task >= firstItemNumber) return this.items.get(task).putBack(task);
    this.#enqueue(task);
  }

  #endRetryWait(task: number): void {
    assert(this.phase(task) === Phase.retryWait, "a retry comes due once");
    this.retryWaits.delete(task);
    this.recordOf(task).retryAt = undefined;
    this.setPhase(task, Phase.ready);
    if (task >= firstItemNumber) return this.items.get(task).putBack(task);
    this.#enqueue(task);
  }

  #decide(event: DecisionMade, at: number): void {
    for (const edge of event.edgesOff) this.#waits.switchOff(edge);
    const record = this.recordOf(event.task);
    record.edgesOff = event.edgesOff;
    record.output = event.result;
    record.attemptOpen = false;
    this.#finish(event.task, Phase.success, at);
  }

  #add(node: NodeSpec, parent: number): void {
    const definition = defineTask(node, node.nodeName as string);
    const dependsOn = (node.dependsOn ?? []).map((name) => this.find(name) as number);
    const task = this.#added.add(definition, parent, dependsOn);
    this.addTask();
    this.unfinished++;
    if (this.#added.count === 1) this.ready.rerank((ready) => this.rank(ready));
    this.#waits.join(task);
  }

  #finish(task: number, phase: Phase, at: number): void {
    assert(!isFinished(this.phase(task)), "a task finishes once");
    this.toCancel.delete(task);
    this.toSkip.delete(task);
    this.setPhase(task, phase);
    this.unfinished--;
    const items = this.items.ofTask(task);
    if (items !== undefined) this.closeItems(items);
    const record = this.record(task);
    if (record !== undefined) record.endedAt = at;
    if (phase === Phase.canceledBranch) this.#die(task);
    else if (this.isPassed(task)) this.#waits.pass(task);
  }

  /** The task's branch is not taken: neither is what comes after it, nor what a user put below it. */
  #die(task: number): void {
    for (const edge of this.graph.outEdges(task)) this.#waits.switchOff(edge);
    for (const subTask of this.subTasksOf(task)) this.toCancel.add(subTask);
  }

  /** The task waits for nothing more. */
  onUnblocked(task: number): void {
    assert(this.phase(task) === Phase.waiting, "a task is unblocked once");
    if (this.#waits.isCutOff(task)) this.toCancel.add(task);
    else if (!this.definition(task).enabled) this.toSkip.add(task);
    else {
      this.setPhase(task, Phase.ready);
      this.#enqueue(task);
    }
  }

  #enqueue(task: number): void {
    if (takesPlace[this.definition(task).kind]) this.ready.push(task, this.rank(task), this.successors(task));
    else this.toDecide.add(task);
  }

  /** Recomputes what each task waits for, and unblocks tasks that wait for nothing. */
  #recount(): void {
    this.#forgetQueues();
    this.#waits.recount();
    this.unfinished = 0;
    for (let task = 0; task < this.size; task++) {
      if (isFinished(this.phase(task))) continue;
      this.unfinished++;
      if (this.#waits.isFree(task)) this.onUnblocked(task);
    }
  }

  /** Returns the out-edges that the task has switched off; undefined if it is none. */
  edgesOff(task: number): Iterable<number> | undefined {
    if (this.phase(task) === Phase.canceledBranch) return this.graph.outEdges(task);
    return this.record(task)?.edgesOff;
  }
}

type TaskEvent = Exclude<
  OwnEvent,
  { readonly type: "InstanceCreated" | "InstanceStarted" | "InstanceEnded" | "InstanceReopened" | "ContextPatched" }
>;
