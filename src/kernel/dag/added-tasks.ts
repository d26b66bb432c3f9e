import type { TaskDefinition } from "./graph.ts";

/** The tasks that joined an instance while it ran: whose sub-tasks they are, and for which siblings they wait. */
export class AddedTasks {
  /** The number of the first. */
  readonly #first: number;
  readonly #tasks: AddedTask[] = [];
  readonly #byName = new Map<string, number>();
  readonly #subTasks = new Map<number, number[]>();
  readonly #siblingsAfter = new Map<number, number[]>();

  constructor(first: number) {
    this.#first = first;
  }

  /** With those that are no longer part of the instance: numbers are not given twice. */
  get count(): number {
    return this.#tasks.length;
  }

  add(definition: TaskDefinition, parent: number, dependsOn: readonly number[]): number {
    const task = this.#first + this.#tasks.length;
    this.#tasks.push({ definition, parent, dependsOn });
    this.#byName.set(definition.name, task);
    listOf(this.#subTasks, parent).push(task);
    for (const sibling of dependsOn) listOf(this.#siblingsAfter, sibling).push(task);
    return task;
  }

  /** It is no longer part of the instance. A family goes as a whole. */
  remove(task: number): void {
    const added = this.#tasks[task - this.#first] as AddedTask;
    this.#tasks[task - this.#first] = { ...added, parent: undefined };
    this.#byName.delete(added.definition.name);
    this.#subTasks.delete(added.parent as number);
  }

  find(name: string): number | undefined {
    return this.#byName.get(name);
  }

  definition(task: number): TaskDefinition | undefined {
    return this.#tasks[task - this.#first]?.definition;
  }

  /** Asked for every task that ends: below zero an array would look for a name, which is slow. */
  parentOf(task: number): number | undefined {
    return task < this.#first ? undefined : this.#tasks[task - this.#first]?.parent;
  }

  subTasksOf(task: number): readonly number[] {
    return this.#subTasks.get(task) ?? [];
  }

  siblingsAfter(task: number): readonly number[] {
    return this.#siblingsAfter.get(task) ?? [];
  }

  siblingsBefore(task: number): readonly number[] {
    return this.#tasks[task - this.#first]?.dependsOn ?? [];
  }
}

interface AddedTask {
  readonly definition: TaskDefinition;
  /** Undefined once it is no longer part of the instance. */
  readonly parent: number | undefined;
  /** Other sub-tasks of the parent that it waits for. */
  readonly dependsOn: readonly number[];
}

function listOf(lists: Map<number, number[]>, key: number): number[] {
  let list = lists.get(key);
  if (list === undefined) lists.set(key, (list = []));
  return list;
}
