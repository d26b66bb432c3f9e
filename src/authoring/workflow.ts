import { EngineError, type ErrorCode } from "../base/error.ts";
import { checkSpec } from "../kernel/dag/check.ts";
import type { DagSpec, EdgeSpec, FailurePolicy, MaxInstances } from "../kernel/dag/dag-spec.ts";
import type { NodeId, NodeSpec } from "../kernel/node-spec.ts";
import { didYouMean } from "../base/closest-name.ts";
import { DagEdges } from "./dag-edges.ts";
import { copyAsJson } from "../base/json-text.ts";
import { loadWorkflow } from "./load-workflow.ts";
import { preview } from "../base/preview.ts";
import type { Task } from "./task.ts";
import { workflowVersion } from "./workflow-version.ts";

/** A definition without its graph, including unknown fields. */
export interface WorkflowSettings extends Omit<DagSpec, "nodes" | "edges"> {
  id?: string;
}

export interface WorkflowParts {
  readonly id: string;
  readonly name: string;
  readonly settings: WorkflowSettings;
  /** Names and ids are unique. */
  readonly tasks: readonly NumberedTask[];
  readonly edges: readonly EdgeSpec[];
}

/** A task and its number in the definition. */
export interface NumberedTask {
  readonly nodeId: NodeId;
  readonly task: Task;
}

/** A workflow definition: tasks and their dependencies; created by `WorkflowBuilder` and `Workflow.fromJSON`. */
export class Workflow {
  /** A UUID. */
  readonly id: string;
  readonly name: string;
  readonly #settings: WorkflowSettings;
  readonly #tasks = new Map<string, Task>();
  /** All tasks in the order of the definition. */
  readonly #byName = new Map<string, NumberedTask>();
  readonly #edges: DagEdges;
  /** Maps nodes that `addSubTask` added to their parents: sub-tasks of one parent do not wait for each other. */
  readonly #parents = new Map<NodeId, NodeId>();
  #lastNodeNumber = 0;
  #edits = 0;
  #dependencies: ReadonlyMap<string, readonly string[]> | undefined;
  #version: { readonly revision: number; readonly hash: string } | undefined;

  /** Expects parts that are consistent; see `validate`. */
  constructor(parts: WorkflowParts) {
    this.id = parts.id;
    this.name = parts.name;
    this.#settings = parts.settings;
    this.#edges = new DagEdges(parts.edges);
    for (const numbered of parts.tasks) this.#put(numbered);
  }

  /**
   * Reads a definition in the dag-spec format: the output of `toJSON`, or a file of PowerJob or TIS, which contain no name.
   * Throws WORKFLOW_INVALID and the errors of `validate`.
   */
  static fromJSON(spec: unknown, options: { name?: string } = {}): Workflow {
    return new Workflow(loadWorkflow(spec, { name: options.name, make: (parts) => new Workflow(parts) }));
  }

  /** All tasks by id. */
  get tasks(): ReadonlyMap<string, Task> {
    return this.#tasks;
  }

  /** The ids of each task's dependencies, by its id. */
  get dependencies(): ReadonlyMap<string, readonly string[]> {
    this.#dependencies ??= this.#findDependencies();
    return this.#dependencies;
  }

  get domain(): string | undefined {
    return this.#settings.domain ?? undefined;
  }

  get maxConcurrentTasks(): number | undefined {
    return this.#settings.maxConcurrentTasks ?? undefined;
  }

  get timeoutSeconds(): number | undefined {
    return this.#settings.timeoutSeconds ?? undefined;
  }

  get failurePolicy(): FailurePolicy {
    return this.#settings.failurePolicy ?? "finish-running";
  }

  get maxInstances(): MaxInstances | undefined {
    return this.#settings.maxInstances ?? undefined;
  }

  get context(): Readonly<Record<string, unknown>> {
    return this.#settings.context ?? {};
  }

  /**
   * A hash of the content: equal for definitions that run alike, whatever their ids. It covers nested workflows that are given
   * as objects.
   */
  get version(): string {
    const { revision } = this;
    if (this.#version?.revision !== revision) this.#version = { revision, hash: workflowVersion(this.spec()) };
    return this.#version.hash;
  }

  /** Incremented with every edit of the workflow, its tasks and its nested workflows. */
  get revision(): number {
    let revision = this.#edits;
    for (const task of this.#tasks.values()) revision += task.revision;
    return revision;
  }

  task(name: string): Task | undefined {
    return this.#byName.get(name)?.task;
  }

  /** Throws WORKFLOW_INVALID, WORKFLOW_EMPTY, DEPENDENCY_SELF or WORKFLOW_CYCLE if the definition cannot run. */
  validate(): void {
    checkSpec(this.spec());
  }

  /**
   * Adds a task that waits for its parent (and for what it depends on itself), and that everything downstream of the
   * parent waits for. Throws TASK_UNKNOWN for the parent, TASK_DUPLICATE, DEPENDENCY_UNKNOWN, DEPENDENCY_SELF,
   * WORKFLOW_CYCLE, SUBTASK_INVALID under a decision, NESTING_TOO_DEEP; the workflow is then as it was.
   */
  addSubTask(task: Task, parentName: string): void {
    const parentId = this.#parentOf(task, parentName);
    if (this.#byName.has(task.name) || this.#tasks.has(task.id)) {
      throw this.#error("TASK_DUPLICATE", `there is already a task ${preview(task.name)}`);
    }
    if (nests(task, this)) {
      throw this.#error("NESTING_TOO_DEEP", `task ${preview(task.name)} would make the workflow contain itself`);
    }
    const nodeId = this.#lastNodeNumber + 1;
    const edges = this.#subTaskEdges(task, { nodeId, parentId });
    if (task.dependencies.length > 0) {
      const spec = this.spec();
      checkSpec({ ...spec, nodes: [...spec.nodes, task.toNode(nodeId)], edges: [...this.#edges.all, ...edges] });
    }

    this.#put({ nodeId, task });
    this.#parents.set(nodeId, parentId);
    for (const edge of edges) this.#edges.add(edge);
    this.#dependencies = undefined;
    this.#edits++;
  }

  /**
   * The definition as plain data, in the dag-spec format. Changing it does not change the workflow. Nested workflows that
   * were given as objects are in their nodes, as `workflow`.
   */
  toJSON(): DagSpec {
    const spec = this.spec();
    const nodes = Array.from(this.#byName.values(), ({ nodeId, task }) => withNested(task.toNode(nodeId), task));
    return copyAsJson({ ...spec, nodes }, `workflow ${preview(this.name)}`) as DagSpec;
  }

  /** Like `toJSON`, without a deep copy: nodes, edges and settings are shared with the workflow. */
  spec(): DagSpec {
    const nodes = Array.from(this.#byName.values(), ({ nodeId, task }) => task.toNode(nodeId));
    return { ...this.#settings, nodes, edges: [...this.#edges.all] };
  }

  #put(numbered: NumberedTask): void {
    this.#tasks.set(numbered.task.id, numbered.task);
    this.#byName.set(numbered.task.name, numbered);
    const number = Number(numbered.nodeId);
    if (Number.isSafeInteger(number)) this.#lastNodeNumber = Math.max(this.#lastNodeNumber, number);
  }

  #findDependencies(): Map<string, readonly string[]> {
    const taskIds = new Map(Array.from(this.#byName.values(), ({ nodeId, task }) => [nodeId, task.id]));
    const found = new Map<string, string[]>(Array.from(taskIds.values(), (id) => [id, []]));
    for (const { from, to } of this.#edges.enabled) {
      found.get(taskIds.get(to) ?? "")?.push(taskIds.get(from) ?? "");
    }
    for (const [id, waitsFor] of found) if (waitsFor.length > 1) found.set(id, [...new Set(waitsFor)]);
    return found;
  }

  #parentOf(task: Task, parentName: string): NodeId {
    const parent = this.#byName.get(parentName);
    if (parent === undefined) {
      const hint = didYouMean(parentName, this.#byName.keys());
      throw this.#error(
        "TASK_UNKNOWN",
        `${preview(task.name)} cannot be a sub-task of ${preview(parentName)}, which does not exist${hint}`,
      );
    }
    if (parent.task.kind === "decision") {
      throw this.#error(
        "SUBTASK_INVALID",
        `${preview(parentName)} is a decision: a task joins one of its branches, by withDependency`,
      );
    }
    return parent.nodeId;
  }

  #subTaskEdges(task: Task, place: { nodeId: NodeId; parentId: NodeId }): EdgeSpec[] {
    const { nodeId, parentId } = place;
    const edges: EdgeSpec[] = [{ from: parentId, to: nodeId }];
    for (const { name, when } of task.dependencies) {
      if (name === task.name) throw this.#error("DEPENDENCY_SELF", `task ${preview(name)} depends on itself`);
      const from = this.#byName.get(name)?.nodeId;
      if (from === undefined) throw this.#unknownDependency(task.name, name);
      if (from === parentId) continue;
      edges.push(when === undefined ? { from, to: nodeId } : { from, to: nodeId, property: when });
    }
    for (const to of this.#edges.successors(parentId)) {
      if (this.#parents.get(to) !== parentId) edges.push({ from: nodeId, to });
    }
    return edges;
  }

  #unknownDependency(taskName: string, name: string): EngineError {
    const known = didYouMean(name, this.#byName.keys());
    return this.#error(
      "DEPENDENCY_UNKNOWN",
      `task ${preview(taskName)} depends on ${preview(name)}, which does not exist${known}`,
    );
  }

  #error(code: ErrorCode, problem: string): EngineError {
    return new EngineError(code, `workflow ${preview(this.name)}: ${problem}`);
  }
}

function withNested(node: NodeSpec, { nestedWorkflow }: Task): NodeSpec {
  return typeof nestedWorkflow === "object" ? { ...node, workflow: nestedWorkflow.toJSON() } : node;
}

/** True if running the task would, at any depth, run the workflow. */
function nests(task: Task, workflow: Workflow): boolean {
  const nested = task.nestedWorkflow;
  if (typeof nested !== "object") return false;
  return nested === workflow || [...nested.tasks.values()].some((inner) => nests(inner, workflow));
}
