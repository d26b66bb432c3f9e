import { listOf } from "../task-table.ts";
import type { AddedTasks } from "./added-tasks.ts";
import type { Graph } from "./graph.ts";

/** Supplies what the counts are derived from, and is notified of those that reach zero. */
export interface WaitsOwner {
  isPassed(task: number): boolean;
  /** The out-edges that the task has switched off; undefined if it is none. */
  edgesOff(task: number): Iterable<number> | undefined;
  /** The task waits for nothing more. */
  onUnblocked(task: number): void;
}

/**
 * Counts what each task of an instance still waits for.
 *
 * W1  A task's count is that of the edges into it that are on and whose source is not complete, and for a sub-task of its
 *     parent and siblings likewise. It reaches zero exactly once per generation.
 * W2  A task is *complete* when it is passed and its sub-tasks are complete. Sub-tasks wait for their parent to be
 *     passed, successors for it to be complete.
 * W3  A change costs the degree of the tasks it concerns; only `recount` walks the whole graph.
 */
export class Waits {
  readonly #graph: Graph;
  readonly #added: AddedTasks;
  readonly #owner: WaitsOwner;
  readonly #waitingOn: number[];
  /** Number of edges into a node that are on. */
  readonly #liveIn: number[];
  readonly #edgeOff: boolean[];
  /** Number of sub-tasks of a task that are not complete. */
  #openSubTasks: Map<number, number> | undefined;

  constructor(graph: Graph, added: AddedTasks, owner: WaitsOwner) {
    this.#graph = graph;
    this.#added = added;
    this.#owner = owner;
    this.#waitingOn = listOf(graph.size, 0);
    this.#liveIn = listOf(graph.size, 0);
    this.#edgeOff = graph.edgeEnabled.map(isOff);
  }

  isEdgeOff(edge: number): boolean {
    return this.#edgeOff[edge] as boolean;
  }

  isComplete(task: number): boolean {
    return this.#owner.isPassed(task) && this.#openSubTasksOf(task) === 0;
  }

  isFree(task: number): boolean {
    return this.#waitingOn[task] === 0;
  }

  /** True for a node that has in-edges, all of which are switched off. */
  isCutOff(task: number): boolean {
    return this.#liveIn[task] === 0 && this.#graph.inDegree(task) > 0;
  }

  /** Adds a sub-task to the counts. */
  join(task: number): void {
    const parent = this.#added.parentOf(task) as number;
    const waits = this.#countAddedWaits(task, parent);
    this.#waitingOn.push(waits);
    this.#countSubTasks(parent, 1);
    if (waits === 0) this.#owner.onUnblocked(task);
  }

  /** Called when the task has just been passed. */
  pass(task: number): void {
    for (const subTask of this.#added.subTasksOf(task)) this.#countDown(subTask);
    let complete: number | undefined = task;
    while (complete !== undefined && this.isComplete(complete)) {
      this.#release(complete);
      complete = this.#closeSubTask(complete);
    }
  }

  /**
   * Switches an edge off, only while its source is not complete: a decision switches before it finishes, a dead branch
   * never completes.
   */
  switchOff(edge: number): void {
    if (this.#edgeOff[edge]) return;
    this.#edgeOff[edge] = true;
    const to = this.#graph.edgeTo[edge] as number;
    (this.#liveIn[to] as number)--;
    this.#countDown(to);
  }

  /** Recomputes all counts without callbacks. */
  recount(): void {
    this.#recountEdges();
    this.#recountSubTasks();
    const { size, edgeFrom, edgeTo } = this.#graph;
    for (let task = 0; task < this.#waitingOn.length; task++) this.#waitingOn[task] = 0;
    for (let task = 0; task < size; task++) this.#liveIn[task] = 0;
    for (let edge = 0; edge < edgeTo.length; edge++) {
      if (this.#edgeOff[edge]) continue;
      const to = edgeTo[edge] as number;
      (this.#liveIn[to] as number)++;
      if (!this.isComplete(edgeFrom[edge] as number)) (this.#waitingOn[to] as number)++;
    }
    for (let task = size; task < this.#waitingOn.length; task++) {
      const parent = this.#added.parentOf(task);
      if (parent !== undefined) this.#waitingOn[task] = this.#countAddedWaits(task, parent);
    }
  }

  #recountEdges(): void {
    const { size, edgeEnabled } = this.#graph;
    for (let edge = 0; edge < edgeEnabled.length; edge++) this.#edgeOff[edge] = !edgeEnabled[edge];
    for (let task = 0; task < size; task++) {
      const off = this.#owner.edgesOff(task);
      if (off !== undefined) for (const edge of off) this.#edgeOff[edge] = true;
    }
  }

  /** Counts from the last task to the first, because a sub-task always comes after its parent. */
  #recountSubTasks(): void {
    this.#openSubTasks = undefined;
    for (let task = this.#waitingOn.length - 1; task >= this.#graph.size; task--) {
      const parent = this.#added.parentOf(task);
      if (parent === undefined || this.isComplete(task)) continue;
      this.#countSubTasks(parent, 1);
    }
  }

  #countAddedWaits(task: number, parent: number): number {
    let waits = this.#owner.isPassed(parent) ? 0 : 1;
    for (const sibling of this.#added.siblingsBefore(task)) if (!this.isComplete(sibling)) waits++;
    return waits;
  }

  #openSubTasksOf(task: number): number {
    return this.#openSubTasks?.get(task) ?? 0;
  }

  #countSubTasks(parent: number, change: number): void {
    this.#openSubTasks ??= new Map();
    this.#openSubTasks.set(parent, this.#openSubTasksOf(parent) + change);
  }

  /** Releases the successors of a complete task. */
  #release(task: number): void {
    const { edgeTo } = this.#graph;
    const degree = this.#graph.outDegree(task);
    for (let place = 0; place < degree; place++) {
      const edge = this.#graph.outEdge(task, place);
      if (!this.#edgeOff[edge]) this.#countDown(edgeTo[edge] as number);
    }
    for (const sibling of this.#added.siblingsAfter(task)) this.#countDown(sibling);
  }

  /** Counts the sub-task as complete in its parent, and returns the parent. */
  #closeSubTask(task: number): number | undefined {
    const parent = this.#added.parentOf(task);
    if (parent !== undefined) this.#countSubTasks(parent, -1);
    return parent;
  }

  #countDown(task: number): void {
    if (--(this.#waitingOn[task] as number) === 0) this.#owner.onUnblocked(task);
  }
}

function isOff(enabled: boolean): boolean {
  return !enabled;
}
