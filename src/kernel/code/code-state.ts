import { assert } from "../../base/assert.ts";
import { Context } from "../context.ts";
import type { NodeSpec } from "../node-spec.ts";
import { DueQueue } from "../due-queue.ts";
import type {
  ChildDetached,
  DagEvent,
  DetachedChild,
  ForkedFrom,
  InstanceContinued,
  InstanceCreated,
  InstanceEnded,
  TaskFailed,
  KeptAnswer,
} from "../event.ts";
import { type Failure, shortenFailure } from "../failure.ts";
import { foreignEvent, InstanceBase, type OwnEvent } from "../instance-base.ts";
import type { Payload } from "../payload.ts";
import { defineTask, type TaskDefinition } from "../task-definition.ts";
import { taskStepOf } from "./step.ts";
import { Updates } from "./updates.ts";
import { isFailed, isFinished, isInFlight, Phase } from "../task-state.ts";

const none: readonly never[] = [];

export interface CodeStateOptions {
  /** Infinity for no limit. */
  readonly maxConcurrentTasks: number;
  readonly timeoutMs: number | undefined;
}

/**
 * A code workflow's instance as the fold of its events. What its code has in its variables is not here: that follows
 * from the same events, by running the code over them.
 *
 * C1  Tasks are the activities and children that the code asked for, numbered in the order it did.
 * C2  A task that is ready is scheduled at once, unless the instance is paused or its activities are at their limit.
 * C3  Of a task that has ended nothing is kept but how: a long run stays small.
 */
export class CodeState extends InstanceBase {
  /** Limit of its activities; children do not count. */
  readonly maxConcurrentTasks: number;
  readonly timeoutMs: number | undefined;
  input: Payload | undefined;
  forkedFrom: ForkedFrom | undefined;
  output: Payload | undefined;
  failure: Failure | undefined;
  /** JSON of the custom status. */
  customStatus: string | undefined;
  /** The reason of the requested cancel. */
  cancelReason: string | undefined;
  /** True while the requested cancel is held, and the code has not received it. */
  isCancelHeld = false;
  /** Time allowed for compensation after the workflow's timeout; undefined before the timeout. */
  compensationMs: number | undefined;
  /** Recorded reactions: whether one is under way, and how many before it were lost with their process. */
  reaction: { readonly isUnderWay: boolean; readonly losses: number } | undefined;
  /** Created on first use: most instances have none. */
  #updates: Updates | undefined;
  /** Detached children that have not ended, by generation and task. Created on first use. */
  #detached: Map<string, DetachedChild> | undefined;
  /** Number of the next timer. */
  timers = 0;
  readonly timersDue = new DueQueue();
  /** Number of tasks to be scheduled: added, taken back or due again. */
  readyCount = 0;
  /** Lower bound of the numbers of ready tasks. */
  #firstReady = 0;
  /** Number of ready children. */
  #childrenReady = 0;
  tasksFailed = 0;
  #definitions: TaskDefinition[] = [];

  constructor({ maxConcurrentTasks, timeoutMs }: CodeStateOptions) {
    super(0);
    this.maxConcurrentTasks = maxConcurrentTasks;
    this.timeoutMs = timeoutMs;
  }

  override get failing(): boolean {
    return false;
  }

  override get context(): Context {
    return Context.empty;
  }

  override get domain(): undefined {
    return undefined;
  }

  override get waitingCount(): number {
    if (this.status === "Ready") return Math.min(this.generation, 1);
    return this.readyCount + this.retryWaits.size;
  }

  override waitingTasks(): number[] {
    return [...this.readyTasks(), ...this.retryWaits.numbers];
  }

  override definition(task: number): TaskDefinition {
    const definition = this.#definitions[task];
    assert(definition !== undefined, "a task number is below the instance's size");
    return definition;
  }

  override params(task: number): string | undefined {
    return this.definition(task).params;
  }

  /** Names are not unique: the code may call a job many times. */
  override find(name: string): number | undefined {
    const task = this.#definitions.findIndex((definition) => definition.name === name);
    return task === -1 ? undefined : task;
  }

  override parentOf(): undefined {
    return undefined;
  }

  /** True if the workflow's timeout has passed, and its cancel is not held. */
  get isTimedOut(): boolean {
    return this.compensationMs !== undefined && !this.isCancelHeld;
  }

  /** True for an update that was accepted, whether it is answered or not. */
  hasUpdate(update: string): boolean {
    return this.#updates?.has(update) ?? false;
  }

  /** Its updates; undefined if it has had none. */
  get updates(): Pick<Updates, "open" | "answersToKeep"> | undefined {
    return this.#updates;
  }

  answerTo(update: string): KeptAnswer | undefined {
    return this.#updates?.answerTo(update);
  }

  /** Children that the code does not wait for and that end with the instance, in the order of their steps. */
  get detachedChildren(): readonly DetachedChild[] {
    return this.#detached === undefined ? none : [...this.#detached.values()];
  }

  hasDetached(child: { generation: number; task: number }): boolean {
    return this.#detached?.has(placeOf(child)) ?? false;
  }

  override rank(): number {
    return 0;
  }

  override successors(): number {
    return 0;
  }

  override resultFor(): { output?: Payload; failure?: Failure } {
    if (this.failure !== undefined) return { failure: shortenFailure(this.failure) };
    return this.output === undefined ? {} : { output: this.output };
  }

  override applyOwn(event: OwnEvent, at: number): void {
    switch (event.type) {
      case "InstanceCreated":
        return this.#create(event, at);
      case "InstanceStarted":
        return this.begin(event.deadline, at);
      case "InstanceContinued":
        return this.#continue(event, at);
      case "InstanceEnded":
        return this.#end(event, at);
      case "CancelRequested":
        this.cancelReason = event.reason;
        this.isCancelHeld = event.isHeld === true;
        if (!this.isCancelHeld) this.#cancel(at);
        return;
      case "CancelHeeded":
        return this.#cancel(at);
      case "InstanceTimedOut":
        this.compensationMs = event.compensationMs;
        this.deadline = event.deadline;
        return;
      case "CustomStatusSet":
        this.customStatus = event.status ?? undefined;
        return;
      case "TimerSet":
        this.timers = event.timer + 1;
        return this.timersDue.add(event.timer, event.dueAt);
      case "TimerFired":
      case "TimerCanceled":
        return this.timersDue.delete(event.timer);
      case "UpdateRequested":
        return (this.#updates ??= new Updates()).request({ update: event.update, name: event.name, at });
      case "UpdateAnswered":
        return (this.#updates ??= new Updates()).answer({ ...event, at });
      case "ReactionStarted":
        this.reaction = { isUnderWay: true, losses: event.losses };
        return;
      case "ReactionEnded":
        this.reaction = { isUnderWay: false, losses: event.losses };
        return;
      case "EventRaised":
      case "EventSent":
      case "CancelSent":
      case "PatchMarked":
        return;
      default:
        return this.#applyToTasks(event, at);
    }
  }

  #applyToTasks(event: TaskEvent, at: number): void {
    switch (event.type) {
      case "TaskAdded":
        return this.#add(event.node);
      case "TasksScheduled":
        return event.tasks.forEach((task) => this.#schedule(task, at));
      case "TaskStarted":
        return this.startTask(event);
      case "TaskAwaitsCompletion":
        return this.awaitCompletion(event, at);
      case "ChildStarted":
        this.recordOf(event.task).startedAt = at;
        return this.startChild(event.task, event.childId);
      case "ChildDetached":
        this.#detach(event);
        return this.#finish(event.task, Phase.success, at);
      case "DetachedChildEnded":
        this.#detached?.delete(placeOf(event));
        return;
      case "TaskSucceeded":
        this.noteSuccess(event);
        return this.#finish(event.task, Phase.success, at);
      case "TaskFailed":
        return this.#fail(event, at);
      case "TaskInterrupted":
        this.noteInterruption(event);
        return this.#makeReady(event.task);
      case "TasksWithdrawn":
        this.noteWithdrawal(event);
        return event.tasks.forEach((task) => this.#makeReady(task));
      case "RetriesDue":
        return event.tasks.forEach((task) => this.#makeReady(task));
      case "TasksCanceled":
        return event.tasks.forEach((task) => this.#finish(task, Phase.canceledEnded, at));
      case "TasksStopped":
        return event.tasks.forEach((task) => this.#stop(task, event.failure, at));
      default:
        throw foreignEvent(event satisfies DagEvent, "a code workflow");
    }
  }

  #create(event: InstanceCreated, at: number): void {
    this.identify(event);
    this.input = event.input;
    this.forkedFrom = event.forkedFrom;
    this.createdAt = at;
  }

  #continue(event: InstanceContinued, at: number): void {
    this.#forgetAll();
    this.identify(event);
    this.createdAt = event.createdAt;
    this.input = event.input;
    this.forkedFrom = undefined;
    this.customStatus = event.customStatus;
    if (event.answers !== undefined) this.#updates = new Updates(event.answers);
    for (const child of event.children ?? none) this.#addDetached(child);
    this.begin(event.deadline, at);
  }

  #forgetAll(): void {
    this.pause = undefined;
    this.reason = undefined;
    this.endedAt = undefined;
    this.output = undefined;
    this.failure = undefined;
    this.cancelReason = undefined;
    this.isCancelHeld = false;
    this.compensationMs = undefined;
    this.reaction = undefined;
    this.#updates = undefined;
    this.#detached = undefined;
    this.timers = 0;
    this.timersDue.clear();
    this.retryWaits.clear();
    this.readyCount = 0;
    this.#firstReady = 0;
    this.#childrenReady = 0;
    this.tasksFailed = 0;
    this.forgetTasks();
    this.#definitions = [];
  }

  #end(event: InstanceEnded, at: number): void {
    this.status = event.status;
    this.reason = event.reason;
    this.output = event.output;
    this.failure = event.failure;
    this.endedAt = at;
    this.retryWaits.clear();
    this.#callOff();
  }

  #cancel(at: number): void {
    this.isCancelHeld = false;
    if (this.compensationMs !== undefined) this.deadline ??= at + this.compensationMs;
    this.#callOff();
  }

  /** Clears timers and detached children, at a cancel and at the end of the instance. */
  #callOff(): void {
    this.timersDue.clear();
    this.#detached = undefined;
  }

  #detach({ task, childId, whenParentEnds }: ChildDetached): void {
    this.recordOf(task).childId = childId;
    if (whenParentEnds === undefined) return;
    this.#addDetached({ generation: this.generation, task, childId, whenParentEnds });
  }

  #addDetached(child: DetachedChild): void {
    (this.#detached ??= new Map()).set(placeOf(child), child);
  }

  /** Ready tasks by number. Most often it is one, for which the list is allocated with exactly one place. */
  readyTasks(): number[] {
    return this.#readyTasks(Infinity);
  }

  /** Tasks that may be scheduled, by number: all ready children, and as many activities as the limit allows. */
  startableTasks(): number[] {
    return this.#readyTasks(this.maxConcurrentTasks - this.jobsInFlight - this.awaitingCount);
  }

  /** Searches no further than it must where many tasks are ready and few have places. */
  #readyTasks(jobsMax: number): number[] {
    if (this.readyCount === 0) return [];
    while (this.phase(this.#firstReady) !== Phase.ready) this.#firstReady++;
    if (this.readyCount === 1 && jobsMax > 0) return [this.#firstReady];
    const tasks: number[] = [];
    let [jobs, children] = [0, 0];
    const jobsReady = this.readyCount - this.#childrenReady;
    for (let task = this.#firstReady; jobs < Math.min(jobsMax, jobsReady) || children < this.#childrenReady; task++) {
      if (this.phase(task) !== Phase.ready) continue;
      const isChild = this.isChild(task);
      if (isChild) children++;
      else if (jobs >= jobsMax) continue;
      else jobs++;
      tasks.push(task);
    }
    return tasks;
  }

  /** True for a child, false for an activity. */
  isChild(task: number): boolean {
    return taskStepOf(this.definition(task).kind) === "child";
  }

  override setPhase(task: number, phase: Phase): void {
    if (this.phase(task) === Phase.ready) this.#countReady(task, -1);
    if (phase === Phase.ready) {
      this.#firstReady = this.readyCount === 0 ? task : Math.min(this.#firstReady, task);
      this.#countReady(task, 1);
    }
    super.setPhase(task, phase);
  }

  #countReady(task: number, change: number): void {
    this.readyCount += change;
    if (this.isChild(task)) this.#childrenReady += change;
  }

  #add(node: NodeSpec): void {
    const task = this.size;
    const definition = defineTask(node, node.nodeName ?? node.jobName ?? node.workflowName ?? "");
    if (task === 0) this.#definitions = [definition];
    else this.#definitions.push(definition);
    this.addTask();
    this.setPhase(task, Phase.ready);
  }

  #schedule(task: number, at: number): void {
    assert(this.phase(task) === Phase.ready, "only a ready task is scheduled");
    this.scheduleTask(task, at);
  }

  #makeReady(task: number): void {
    assert(isInFlight(this.phase(task)) || this.phase(task) === Phase.retryWait, "only what was under way is so again");
    this.retryWaits.delete(task);
    this.recordOf(task).retryAt = undefined;
    this.setPhase(task, Phase.ready);
  }

  #fail(event: TaskFailed, at: number): void {
    this.noteFailure(event, at);
    if (event.retryAt !== undefined) return this.retryWaits.add(event.task, event.retryAt);
    this.#finish(event.task, event.timedOut ? Phase.timeoutFailed : Phase.failed, at);
  }

  #stop(task: number, failure: Failure | undefined, at: number): void {
    if (failure !== undefined) this.noteStop(task, failure);
    this.#finish(task, failure === undefined ? Phase.stopped : Phase.stoppedByUser, at);
  }

  #finish(task: number, phase: Phase, at: number): void {
    assert(!isFinished(this.phase(task)), "a task finishes once");
    this.retryWaits.delete(task);
    this.setPhase(task, phase);
    if (isFailed(phase)) this.tasksFailed++;
    const record = this.recordOf(task);
    record.endedAt = at;
    record.output = undefined;
    // Only this state holds the definition, so it may be changed.
    (this.definition(task) as { params: string | undefined }).params = undefined;
  }
}

type TaskEvent =
  | DagEvent
  | Extract<
      OwnEvent,
      {
        readonly type: `Task${string}` | "RetriesDue" | "ChildStarted" | "ChildDetached" | "DetachedChildEnded";
      }
    >;

function placeOf({ generation, task }: { generation: number; task: number }): string {
  return `${generation}:${task}`;
}
