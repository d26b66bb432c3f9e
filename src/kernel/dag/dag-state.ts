import { assert, unreachable } from "../../base/assert.ts";
import type { ParentAddress } from "../address.ts";
import { Context } from "../context.ts";
import type {
  ContextPatch,
  DecisionMade,
  Event,
  Execution,
  InstanceCreated,
  InstanceEnded,
  InstanceReopened,
  TaskFailed,
  TaskStarted,
  TaskSucceeded,
  Trigger,
} from "../event.ts";
import { hasEnded, type InstanceStatus } from "../status.ts";
import type { NodeSpec } from "./dag-spec.ts";
import { defineTask, type Graph, type TaskDefinition } from "./graph.ts";
import { ReadyQueue } from "./ready-queue.ts";
import { isFailed, isFinished, isInFlight, newRecord, Phase, phaseOf, type TaskRecord } from "./task-state.ts";

/** A task that joined the instance while it ran. */
interface AddedTask {
  readonly definition: TaskDefinition;
  readonly parent: number;
  /** Other sub-tasks of the parent that it waits for. */
  readonly dependsOn: readonly number[];
}

/**
 * A DAG instance as the fold of its events. `apply` only follows what was decided; deciding is `DagMachine`'s.
 *
 * S1  A task's `waitingOn` counts the edges into it that are on and whose source is not complete, and for a sub-task its
 *     parent and siblings likewise. At zero the task is unblocked; it gets there exactly once per generation.
 * S2  A task is *passed* when it succeeded, was skipped, or failed skippably; it is *complete* when its sub-tasks are
 *     complete too. Sub-tasks wait for their parent to be passed, successors for it to be complete.
 * S3  Finishing a task costs its out-degree; only creating, reopening and ending walk the whole graph.
 */
export class DagState {
  readonly graph: Graph;

  workflow = "";
  version = "";
  trigger: Trigger = "api";
  parent: ParentAddress | undefined;
  status: InstanceStatus = "Ready";
  generation = 0;
  maxConcurrentTasks = 0;
  /** Told to pause, with tasks still running. */
  pausing = false;
  /** A failure has ended the start of new tasks; what runs may finish. */
  failing = false;
  reason: string | undefined;
  deadline: number | undefined;
  createdAt = 0;
  startedAt: number | undefined;
  endedAt: number | undefined;
  updatedAt = 0;
  context: Context = Context.empty;
  /** Context keys changed since the start: what a child gives back to its parent. */
  readonly changedKeys = new Set<string>();

  /** Ready job and nested-workflow tasks; may hold entries that are no longer ready. */
  readonly ready = new ReadyQueue();
  /** Unblocked, and waiting for their event: dead branches, disabled nodes, decisions. May hold stale entries. */
  readonly toCancel: number[] = [];
  readonly toSkip: number[] = [];
  readonly toDecide: number[] = [];
  readonly retryWaits = new Set<number>();
  jobsInFlight = 0;
  childrenInFlight = 0;
  decisionsInFlight = 0;
  unfinished = 0;

  readonly #phase: Phase[];
  readonly #waitingOn: number[];
  readonly #liveIn: number[];
  readonly #edgeOff: boolean[];
  readonly #records: (TaskRecord | undefined)[];
  readonly #params = new Map<number, string>();
  readonly #added: AddedTask[] = [];
  readonly #addedByName = new Map<string, number>();
  readonly #subTasks = new Map<number, number[]>();
  readonly #siblingsAfter = new Map<number, number[]>();
  /** How many sub-tasks of a task are not complete. */
  readonly #openSubTasks = new Map<number, number>();

  constructor(graph: Graph) {
    this.graph = graph;
    this.#phase = new Array<Phase>(graph.size).fill(Phase.waiting);
    this.#waitingOn = new Array<number>(graph.size).fill(0);
    this.#liveIn = new Array<number>(graph.size).fill(0);
    this.#edgeOff = graph.edgeEnabled.map((enabled) => !enabled);
    this.#records = new Array<TaskRecord | undefined>(graph.size).fill(undefined);
  }

  get size(): number {
    return this.#phase.length;
  }

  get inFlight(): number {
    return this.jobsInFlight + this.childrenInFlight + this.decisionsInFlight;
  }

  get hasSubTasks(): boolean {
    return this.#added.length > 0;
  }

  phase(task: number): Phase {
    const phase = this.#phase[task];
    assert(phase !== undefined, "a task number is below the instance's size");
    return phase;
  }

  definition(task: number): TaskDefinition {
    const definition =
      task < this.graph.size ? this.graph.tasks[task] : this.#added[task - this.graph.size]?.definition;
    assert(definition !== undefined, "a task number is below the instance's size");
    return definition;
  }

  record(task: number): TaskRecord | undefined {
    return this.#records[task];
  }

  params(task: number): string | undefined {
    return this.#params.get(task) ?? this.definition(task).params;
  }

  /** The task of that name, if it is still part of the instance. */
  find(name: string): number | undefined {
    return this.graph.byName.get(name) ?? this.#addedByName.get(name);
  }

  parentOf(task: number): number | undefined {
    return this.#added[task - this.graph.size]?.parent;
  }

  subTasksOf(task: number): readonly number[] {
    return this.#subTasks.get(task) ?? [];
  }

  siblingsAfter(task: number): readonly number[] {
    return this.#siblingsAfter.get(task) ?? [];
  }

  siblingsBefore(task: number): readonly number[] {
    return this.#added[task - this.graph.size]?.dependsOn ?? [];
  }

  isEdgeOff(edge: number): boolean {
    return this.#edgeOff[edge] ?? false;
  }

  isPassed(task: number): boolean {
    const phase = this.phase(task);
    if (phase === Phase.success || phase === Phase.skipped) return true;
    return isFailed(phase) && this.definition(task).skipWhenFailed;
  }

  isComplete(task: number): boolean {
    return this.isPassed(task) && (this.#openSubTasks.get(task) ?? 0) === 0;
  }

  /** Failed, and not skippably. */
  isHardFailure(task: number): boolean {
    return isFailed(this.phase(task)) && !this.definition(task).skipWhenFailed;
  }

  /**
   * The sub-task rule: below the siblings of the parent's level, above what comes after it. Levels only count once an
   * instance has sub-tasks; before that all ranks are equal.
   */
  rank(task: number): number {
    if (!this.hasSubTasks) return 0;
    let below = 0;
    let ancestor = task;
    for (let up = this.parentOf(task); up !== undefined; up = this.parentOf(up)) {
      ancestor = up;
      below++;
    }
    return this.graph.depth(ancestor) + (1 - 2 ** -Math.min(below, 50));
  }

  successors(task: number): number {
    return (task < this.graph.size ? this.graph.outEdges(task).length : 0) + this.siblingsAfter(task).length;
  }

  apply(event: Event, at: number): void {
    this.updatedAt = at;
    switch (event.type) {
      case "InstanceCreated":
        return this.#create(event, at);
      case "InstanceStarted":
        this.status = "Running";
        this.startedAt = at;
        this.deadline = event.deadline;
        return this.#recount();
      case "PauseRequested":
        this.pausing = true;
        return;
      case "InstancePaused":
        this.pausing = false;
        this.status = "Paused";
        return;
      case "InstanceResumed":
        this.pausing = false;
        this.status = "Running";
        return;
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
        return event.tasks.forEach((task) => this.#schedule(task, at));
      case "TaskStarted":
        return this.#start(event);
      case "TaskSucceeded":
        return this.#succeed(event, at);
      case "TaskFailed":
        return this.#fail(event, at);
      case "TaskInterrupted":
        this.#recordOf(event.task).interruptions++;
        return this.#takeBack(event.task);
      case "TasksWithdrawn":
        return event.tasks.forEach((task) => this.#takeBack(task));
      case "RetriesDue":
        return event.tasks.forEach((task) => this.#endRetryWait(task));
      case "TasksStopped":
        return event.tasks.forEach((task) => this.#finish(task, Phase.stopped, at));
      case "TasksSkipped":
        return event.tasks.forEach((task) => this.#finish(task, Phase.skipped, at));
      case "TasksCanceled":
        return event.tasks.forEach((task) => this.#finish(task, phaseOf(event.cause), at));
      case "DecisionMade":
        return this.#decide(event, at);
      case "ChildStarted":
        this.#recordOf(event.task).childId = event.childId;
        this.#recordOf(event.task).startedAt = at;
        return this.#setPhase(event.task, Phase.running);
      case "TaskAdded":
        return this.#add(event.node, event.parent);
      case "TaskParamsUpdated":
        this.#params.set(event.task, event.params);
        return;
      default:
        return unreachable(event, "an event's type");
    }
  }

  #create(event: InstanceCreated, at: number): void {
    this.workflow = event.workflow;
    this.version = event.version;
    this.generation = event.generation;
    this.context = Context.of(event.context);
    this.maxConcurrentTasks = event.maxConcurrentTasks;
    this.parent = event.parent;
    this.trigger = event.trigger;
    this.createdAt = at;
    this.unfinished = this.size;
  }

  #end(event: InstanceEnded, at: number): void {
    for (let task = 0; this.unfinished > 0 && task < this.size; task++) {
      if (isFinished(this.phase(task))) continue;
      this.#setPhase(task, Phase.canceledEnded);
      this.unfinished--;
    }
    this.status = event.status;
    this.reason = event.reason;
    this.endedAt = at;
    this.pausing = false;
    this.failing = false;
    this.retryWaits.clear();
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
    for (const task of event.removed ?? []) this.#remove(task);
    for (const task of event.reset) this.#reset(task);
    for (const task of event.anew ?? []) this.#recordOf(task).childId = undefined;
    for (const { task, status, output } of event.settled ?? []) {
      this.#phase[task] = status === "Success" ? Phase.success : Phase.skipped;
      this.#recordOf(task).output = output;
    }
    if (event.params !== undefined) this.#params.set(event.params.task, event.params.params);
    this.#recount();
  }

  #remove(task: number): void {
    this.#phase[task] = Phase.removed;
    this.#addedByName.delete(this.definition(task).name);
    const siblings = this.#subTasks.get(this.parentOf(task) as number);
    siblings?.splice(siblings.indexOf(task), 1);
  }

  #reset(task: number): void {
    this.#phase[task] = Phase.waiting;
    const record = this.#records[task];
    if (record === undefined) return;
    this.#records[task] = { ...newRecord(), attempt: record.attempt, childId: record.childId };
  }

  #patchContext(patch: ContextPatch): void {
    this.context = this.context.patched(patch);
    for (const key of Object.keys(patch)) this.changedKeys.add(key);
  }

  #recordOf(task: number): TaskRecord {
    return (this.#records[task] ??= newRecord());
  }

  /** The one place where a phase changes while the instance runs, so that the counts in flight stay right. */
  #setPhase(task: number, phase: Phase): void {
    const before = this.phase(task);
    const change = Number(isInFlight(phase)) - Number(isInFlight(before));
    this.#phase[task] = phase;
    if (change === 0) return;
    const kind = this.definition(task).kind;
    if (kind === "job") this.jobsInFlight += change;
    else if (kind === "nested") this.childrenInFlight += change;
    else this.decisionsInFlight += change;
  }

  #schedule(task: number, at: number): void {
    assert(this.phase(task) === Phase.ready, "only a ready task is scheduled");
    const record = this.#recordOf(task);
    if (!record.attemptOpen) {
      record.attempt++;
      record.attemptOpen = true;
      record.interruptions = 0;
    }
    record.scheduledAt = at;
    record.startedAt = undefined;
    record.endedAt = undefined;
    this.#setPhase(task, Phase.scheduled);
  }

  #start(event: TaskStarted): void {
    this.#noteExecution(event.task, event);
    this.#setPhase(event.task, Phase.running);
  }

  #noteExecution(task: number, execution: Execution): void {
    const record = this.#recordOf(task);
    if (execution.startedAt !== undefined) record.startedAt = execution.startedAt;
    if (execution.worker !== undefined) record.worker = execution.worker;
  }

  #succeed(event: TaskSucceeded, at: number): void {
    this.#noteExecution(event.task, event);
    if (event.patch !== undefined) this.#patchContext(event.patch);
    for (const node of event.subTasks ?? []) this.#add(node, event.task);
    const record = this.#recordOf(event.task);
    record.output = event.output;
    record.failure = undefined;
    record.attemptOpen = false;
    this.#finish(event.task, Phase.success, at);
  }

  #fail(event: TaskFailed, at: number): void {
    this.#noteExecution(event.task, event);
    const record = this.#recordOf(event.task);
    record.failure = event.failure;
    record.attemptOpen = false;
    record.retryAt = event.retryAt;
    record.endedAt = at;
    if (event.retryAt !== undefined) {
      record.retriesUsed++;
      this.retryWaits.add(event.task);
      return this.#setPhase(event.task, Phase.retryWait);
    }
    this.#finish(event.task, event.timedOut ? Phase.timeoutFailed : Phase.failed, at);
    if (this.isHardFailure(event.task) && this.graph.failurePolicy !== "continue") this.failing = true;
  }

  /** Back from the dispatcher without a result: the attempt is still to be made. */
  #takeBack(task: number): void {
    assert(isInFlight(this.phase(task)), "only a scheduled task is taken back");
    this.#setPhase(task, Phase.ready);
    this.#enqueue(task);
  }

  #endRetryWait(task: number): void {
    assert(this.retryWaits.delete(task), "a retry comes due once");
    this.#recordOf(task).retryAt = undefined;
    this.#setPhase(task, Phase.ready);
    this.#enqueue(task);
  }

  #decide(event: DecisionMade, at: number): void {
    for (const edge of event.edgesOff) this.#switchOff(edge);
    const record = this.#recordOf(event.task);
    record.edgesOff = event.edgesOff;
    record.output = event.result;
    record.attemptOpen = false;
    this.#finish(event.task, Phase.success, at);
  }

  #add(node: NodeSpec, parent: number): void {
    const task = this.size;
    const definition = defineTask(node, node.nodeName ?? String(node.nodeId));
    const dependsOn = (node.dependsOn ?? []).map((name) => this.find(name) as number);
    this.#added.push({ definition, parent, dependsOn });
    this.#addedByName.set(definition.name, task);
    listOf(this.#subTasks, parent).push(task);
    for (const sibling of dependsOn) listOf(this.#siblingsAfter, sibling).push(task);
    this.#phase.push(Phase.waiting);
    this.#liveIn.push(0);
    this.#records.push(undefined);
    this.#waitingOn.push(this.#countAddedWaits(task));
    this.#openSubTasks.set(parent, (this.#openSubTasks.get(parent) ?? 0) + 1);
    this.unfinished++;
    if (this.#waitingOn[task] === 0) this.#unblock(task);
  }

  #finish(task: number, phase: Phase, at: number): void {
    assert(!isFinished(this.phase(task)), "a task finishes once");
    this.retryWaits.delete(task);
    this.#setPhase(task, phase);
    this.unfinished--;
    const record = this.#records[task];
    if (record !== undefined) record.endedAt = at;
    if (phase === Phase.canceledBranch) this.#switchOffAll(task);
    else if (this.isPassed(task)) this.#pass(task);
  }

  #pass(task: number): void {
    for (const subTask of this.subTasksOf(task)) this.#countDown(subTask);
    let complete: number | undefined = task;
    while (complete !== undefined && this.isComplete(complete)) {
      this.#release(complete);
      complete = this.#closeSubTask(complete);
    }
  }

  /** The task is complete: what comes after it waits for it no more. */
  #release(task: number): void {
    if (task < this.graph.size) {
      for (const edge of this.graph.outEdges(task)) {
        if (!this.#edgeOff[edge]) this.#countDown(this.graph.edgeTo[edge] as number);
      }
    }
    for (const sibling of this.siblingsAfter(task)) this.#countDown(sibling);
  }

  /** Tells the parent, and gives it back. */
  #closeSubTask(task: number): number | undefined {
    const parent = this.parentOf(task);
    if (parent !== undefined) this.#openSubTasks.set(parent, (this.#openSubTasks.get(parent) as number) - 1);
    return parent;
  }

  #switchOffAll(task: number): void {
    if (task >= this.graph.size) return;
    for (const edge of this.graph.outEdges(task)) this.#switchOff(edge);
  }

  /** Only while its source is not complete: a decision switches before it finishes, a dead branch never completes. */
  #switchOff(edge: number): void {
    if (this.#edgeOff[edge]) return;
    this.#edgeOff[edge] = true;
    const to = this.graph.edgeTo[edge] as number;
    (this.#liveIn[to] as number)--;
    this.#countDown(to);
  }

  #countDown(task: number): void {
    if (--(this.#waitingOn[task] as number) === 0) this.#unblock(task);
  }

  #unblock(task: number): void {
    if (this.phase(task) !== Phase.waiting) return;
    const isNode = task < this.graph.size;
    if (isNode && this.#liveIn[task] === 0 && this.graph.inEdges(task).length > 0) this.toCancel.push(task);
    else if (!this.definition(task).enabled) this.toSkip.push(task);
    else {
      this.#phase[task] = Phase.ready;
      this.#enqueue(task);
    }
  }

  #enqueue(task: number): void {
    if (this.definition(task).kind === "decision") this.toDecide.push(task);
    else this.ready.push(task, this.rank(task), this.successors(task));
  }

  #countAddedWaits(task: number): number {
    let waits = this.isPassed(this.parentOf(task) as number) ? 0 : 1;
    for (const sibling of this.siblingsBefore(task)) if (!this.isComplete(sibling)) waits++;
    return waits;
  }

  /** Works out every count anew from the phases, and unblocks what waits for nothing. */
  #recount(): void {
    this.ready.clear();
    for (const list of [this.toCancel, this.toSkip, this.toDecide]) list.length = 0;
    this.#recountEdges();
    this.#recountSubTasks();
    const { edgeFrom, edgeTo } = this.graph;
    this.#waitingOn.fill(0);
    this.#liveIn.fill(0);
    for (let edge = 0; edge < edgeTo.length; edge++) {
      if (this.#edgeOff[edge]) continue;
      const to = edgeTo[edge] as number;
      (this.#liveIn[to] as number)++;
      if (!this.isComplete(edgeFrom[edge] as number)) (this.#waitingOn[to] as number)++;
    }
    for (let task = this.graph.size; task < this.size; task++) this.#waitingOn[task] = this.#countAddedWaits(task);
    this.unfinished = 0;
    for (let task = 0; task < this.size; task++) {
      if (isFinished(this.phase(task))) continue;
      this.unfinished++;
      if (this.#waitingOn[task] === 0) this.#unblock(task);
    }
  }

  #recountEdges(): void {
    const { edgeEnabled } = this.graph;
    for (let edge = 0; edge < edgeEnabled.length; edge++) this.#edgeOff[edge] = !edgeEnabled[edge];
    for (let task = 0; task < this.graph.size; task++) {
      const phase = this.phase(task);
      const off = phase === Phase.canceledBranch ? this.graph.outEdges(task) : this.#records[task]?.edgesOff;
      for (const edge of off ?? []) this.#edgeOff[edge] = true;
    }
  }

  /** From the last to the first, because a sub-task always comes after its parent. */
  #recountSubTasks(): void {
    this.#openSubTasks.clear();
    for (let task = this.size - 1; task >= this.graph.size; task--) {
      if (this.phase(task) === Phase.removed || this.isComplete(task)) continue;
      const parent = this.parentOf(task) as number;
      this.#openSubTasks.set(parent, (this.#openSubTasks.get(parent) ?? 0) + 1);
    }
  }
}

type InstanceEventType =
  | "InstanceCreated"
  | "InstanceStarted"
  | "PauseRequested"
  | "InstancePaused"
  | "InstanceResumed"
  | "InstanceEnded"
  | "InstanceReopened"
  | "ContextPatched";

type TaskEvent = Exclude<Event, { readonly type: InstanceEventType }>;

function listOf(lists: Map<number, number[]>, key: number): number[] {
  let list = lists.get(key);
  if (list === undefined) lists.set(key, (list = []));
  return list;
}
