import { paramsFromText } from "../authoring/job-params.ts";
import type { Task } from "../authoring/task.ts";
import type { Workflow } from "../authoring/workflow.ts";
import type { DagMachine } from "../kernel/dag/dag-machine.ts";
import { statusOf } from "../kernel/task-state.ts";
import type { TaskStatus } from "../kernel/status.ts";
import { taskNumbers } from "../views/instance-view.ts";

/** The engine, as far as a live workflow needs it. */
export interface LiveSource {
  /** The machine of the instance; undefined until it was in memory here, or its history was read. */
  machine(): DagMachine | undefined;
  refresh(): Promise<void>;
  updateParams(taskName: string, params: unknown): Promise<void>;
  addSubTask(task: Task, parentName: string): Promise<void>;
}

/** The workflow of a running instance: the current status of its tasks, and durable changes to tasks that have not run yet. */
export class LiveWorkflow {
  readonly id: string;
  readonly name: string;
  readonly #definition: Workflow;
  readonly #source: LiveSource;

  /** Made by `WorkflowController`. */
  constructor(definition: Workflow, source: LiveSource) {
    this.id = definition.id;
    this.name = definition.name;
    this.#definition = definition;
    this.#source = source;
  }

  /** Tasks by id, including sub-tasks that were added while it ran. */
  get tasks(): ReadonlyMap<string, LiveTask> {
    const tasks = new Map<string, LiveTask>();
    for (const { id, name, jobName, params } of this.#definition.tasks.values()) {
      tasks.set(id, this.#liveTask({ id, name, jobName, params }));
    }
    for (const { id, name, jobName } of this.#addedTasks()) {
      tasks.set(id, this.#liveTask({ id, name, jobName, params: undefined }));
    }
    return tasks;
  }

  /** The ids that each task waits for, by task id; a sub-task waits for its parent. */
  get dependencies(): ReadonlyMap<string, readonly string[]> {
    const added = this.#addedTasks().map(({ id, waitsFor }): [string, readonly string[]] => [id, waitsFor]);
    return new Map([...this.#definition.dependencies, ...added]);
  }

  task(name: string): LiveTask | undefined {
    return [...this.tasks.values()].find((task) => task.name === name);
  }

  /**
   * Resolves when the tasks are shown as they are by now. They follow the instance by themselves; on a member that does not
   * own it, this makes sure of it, also before the first look.
   */
  refresh(): Promise<void> {
    return this.#source.refresh();
  }

  validate(): void {
    this.#definition.validate();
  }

  /** Adds a sub-task; durable when it resolves. `TASK_UNKNOWN` for the parent, `SUBTASK_INVALID` for a name that is taken, `TASK_STATE`. */
  addSubTask(task: Task, parentName: string): Promise<void> {
    return this.#source.addSubTask(task, parentName);
  }

  #addedTasks(): AddedTask[] {
    const machine = this.#source.machine();
    if (machine === undefined) return [];
    const { state } = machine;
    const idOf = (task: number): string => {
      const { name, nodeId } = state.definition(task);
      return this.#definition.task(name)?.id ?? String(nodeId);
    };
    return taskNumbers(machine).flatMap((task): AddedTask[] => {
      const parent = state.parentOf(task);
      if (parent === undefined) return [];
      const { name, jobName } = state.definition(task);
      return [{ id: idOf(task), name, jobName, waitsFor: [parent, ...state.siblingsBefore(task)].map(idOf) }];
    });
  }

  #liveTask(task: { id: string; name: string; jobName: string | undefined; params: unknown }): LiveTask {
    return new LiveTask(this.#source, task);
  }
}

/** A sub-task that was added while the instance ran. */
interface AddedTask {
  readonly id: string;
  readonly name: string;
  readonly jobName: string | undefined;
  readonly waitsFor: readonly string[];
}

/** A task of a running instance, as it is now. */
export class LiveTask {
  readonly id: string;
  readonly name: string;
  readonly jobName: string | undefined;
  readonly #definedParams: unknown;
  readonly #source: LiveSource;

  /** Made by `LiveWorkflow`. */
  constructor(source: LiveSource, task: { id: string; name: string; jobName: string | undefined; params: unknown }) {
    this.#source = source;
    this.id = task.id;
    this.name = task.name;
    this.jobName = task.jobName;
    this.#definedParams = task.params;
  }

  get status(): TaskStatus {
    const machine = this.#source.machine();
    const task = machine?.state.find(this.name);
    return machine === undefined || task === undefined ? "Pending" : statusOf(machine.state.phase(task));
  }

  get params(): unknown {
    const machine = this.#source.machine();
    const task = machine?.state.find(this.name);
    const text = machine === undefined || task === undefined ? undefined : machine.state.params(task);
    return text === undefined ? this.#definedParams : paramsFromText(text);
  }

  /** Replaces the parameters; durable when it resolves. `TASK_STATE` unless the task is `Pending`, `PARAMS_INVALID` if the job's schema refuses them. */
  updateParams(params: unknown): Promise<void> {
    return this.#source.updateParams(this.name, params);
  }
}
