import type { TaskDefinition } from "../task-definition.ts";

/** The tasks that joined an instance while it ran: whose sub-tasks they are, and for which siblings they wait. */
export class AddedTasks {
  /** The number of the first added task. */
  readonly #first: number;
  readonly #tasks: AddedTask[] = [];
  /** Created on first use: most instances have none. */
  #families: Families | undefined;

  constructor(first: number) {
    this.#first = first;
  }

  /** Number of tasks ever added, including removed ones: task numbers are not reused. */
  get count(): number {
    return this.#tasks.length;
  }

  add(definition: TaskDefinition, parent: number, dependsOn: readonly number[]): number {
    const task = this.#first + this.#tasks.length;
    this.#tasks.push({ definition, parent, dependsOn });
    this.#families ??= { byName: new Map(), subTasks: new Map(), siblingsAfter: new Map() };
    const { byName, subTasks, siblingsAfter } = this.#families;
    byName.set(definition.name, task);
    listOf(subTasks, parent).push(task);
    for (const sibling of dependsOn) listOf(siblingsAfter, sibling).push(task);
    return task;
  }

  /** Removes a task from the instance. All sub-tasks of a parent are removed together. */
  remove(task: number): void {
    const added = this.#tasks[task - this.#first] as AddedTask;
    this.#tasks[task - this.#first] = { ...added, parent: undefined };
    this.#families?.byName.delete(added.definition.name);
    this.#families?.subTasks.delete(added.parent as number);
  }

  find(name: string): number | undefined {
    return this.#families?.byName.get(name);
  }

  definition(task: number): TaskDefinition | undefined {
    return this.#tasks[task - this.#first]?.definition;
  }

  /** Called for every task that ends. A negative index would be looked up as a property name, which is slow. */
  parentOf(task: number): number | undefined {
    return task < this.#first ? undefined : this.#tasks[task - this.#first]?.parent;
  }

  subTasksOf(task: number): readonly number[] {
    return this.#families?.subTasks.get(task) ?? none;
  }

  siblingsAfter(task: number): readonly number[] {
    return this.#families?.siblingsAfter.get(task) ?? none;
  }

  siblingsBefore(task: number): readonly number[] {
    return this.#tasks[task - this.#first]?.dependsOn ?? none;
  }
}

const none: readonly number[] = [];

interface Families {
  readonly byName: Map<string, number>;
  readonly subTasks: Map<number, number[]>;
  readonly siblingsAfter: Map<number, number[]>;
}

interface AddedTask {
  readonly definition: TaskDefinition;
  /** Undefined once it is no longer part of the instance. */
  readonly parent: number | undefined;
  /** Sub-tasks of the same parent that this one waits for. */
  readonly dependsOn: readonly number[];
}

function listOf(lists: Map<number, number[]>, key: number): number[] {
  let list = lists.get(key);
  if (list === undefined) lists.set(key, (list = []));
  return list;
}
