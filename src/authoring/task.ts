import { EngineError } from "../base/error.ts";
import type { NodeId, NodeSpec } from "../kernel/node-spec.ts";
import { defineTask, type TaskDefinition, type TaskKind } from "../kernel/task-definition.ts";
import type { RetryPolicy } from "../kernel/retry.ts";
import type { TaskStatus } from "../kernel/status.ts";
import type { Job } from "./job.ts";
import { paramsFromText, validateParamsNow } from "./job-params.ts";
import { toJsonText } from "../base/json-text.ts";
import { preview } from "../base/preview.ts";
import type { Workflow } from "./workflow.ts";

/** A node without its number, which only a workflow can give. */
export type TaskNode = Omit<NodeSpec, "nodeId">;

export interface Dependency {
  /** A task of the same workflow. */
  readonly name: string;
  /** The decision's result that leads here. */
  readonly when?: string;
}

export interface TaskParts {
  readonly id: string;
  readonly name: string;
  /** Fields that this program does not know come back out of `toNode` untouched. */
  readonly node: TaskNode;
  readonly job?: Job | undefined;
  readonly nestedWorkflow?: Workflow | undefined;
  readonly dependencies?: readonly Dependency[];
}

/** One step of a workflow. `TaskBuilder` makes them. */
export class Task<Params = unknown> {
  /** A UUID. */
  readonly id: string;
  /** Unique within its workflow. */
  readonly name: string;
  /** What it was declared to wait for; sub-tasks that come in between do not show here but in the workflow. */
  readonly dependencies: readonly Dependency[];
  /** Where the task was built with the job itself, not its name. */
  readonly job: Job | undefined;
  readonly #nested: Workflow | undefined;
  #node: TaskNode;
  #known: TaskDefinition | undefined;
  #edits = 0;

  constructor(parts: TaskParts) {
    this.id = parts.id;
    this.name = parts.name;
    this.dependencies = parts.dependencies ?? [];
    this.job = parts.job;
    this.#nested = parts.nestedWorkflow;
    this.#node = parts.node;
  }

  /** Of a definition always `Pending`; `controller.workflow` shows how far a run has come. */
  get status(): TaskStatus {
    return "Pending";
  }

  get kind(): TaskKind {
    return this.#definition.kind;
  }

  get jobName(): string | undefined {
    return this.#definition.jobName ?? undefined;
  }

  /** How a file from PowerJob names the job. */
  get jobId(): NodeId | undefined {
    return this.kind === "job" ? (this.#definition.jobId ?? undefined) : undefined;
  }

  /** A copy, as the job will receive it: what JSON makes of the value given. */
  get params(): Params {
    return (this.kind === "job" ? paramsFromText(this.#node.nodeParams) : undefined) as Params;
  }

  /** The expression of a decision. */
  get decision(): string | undefined {
    return this.kind === "decision" ? this.#definition.params : undefined;
  }

  /** The workflow this task runs as a whole, or its name. */
  get nestedWorkflow(): Workflow | string | undefined {
    return this.#nested ?? (this.kind === "nested" ? this.#definition.workflowName : undefined);
  }

  /** For one attempt; where the task does not say, its default, which the engine's `defaultTimeoutSeconds` replaces. */
  get timeoutSeconds(): number {
    return (this.#definition.timeoutMs ?? this.#definition.defaultTimeoutMs) / 1000;
  }

  get retryCount(): number {
    return this.#definition.retryCount;
  }

  get retryPolicy(): RetryPolicy {
    return this.#definition.retryPolicy;
  }

  get domain(): string | undefined {
    return this.#definition.domain ?? undefined;
  }

  get skipWhenFailed(): boolean {
    return this.#definition.skipWhenFailed;
  }

  get enabled(): boolean {
    return this.#definition.enabled;
  }

  /** Grows with every edit: whatever is derived from the task holds for as long as this stands still. */
  get revision(): number {
    return this.#edits + (this.#nested?.revision ?? 0);
  }

  /** The node with its defaults, as the run will see it. Made when asked for: most tasks of a large workflow never are. */
  get #definition(): TaskDefinition {
    this.#known ??= defineTask({ ...this.#node, nodeId: this.id }, this.name);
    return this.#known;
  }

  /**
   * Replaces the parameters. Throws VALUE_NOT_SERIALIZABLE, PARAMS_INVALID where the job is known and its schema refuses
   * them, and TASK_INVALID for a task that runs no job.
   */
  updateParams(params: Params): void {
    if (this.kind !== "job") {
      throw new EngineError("TASK_INVALID", `task ${preview(this.name)} runs no job, so it has no params to update`);
    }
    const { nodeParams: _, ...node } = this.#node;
    const text = paramsText({ taskName: this.name, job: this.job, params });
    this.#node = text === undefined ? node : { ...node, nodeParams: text };
    this.#known = undefined;
    this.#edits++;
  }

  /** The task as a node of a dag-spec. */
  toNode(nodeId: NodeId): NodeSpec {
    const node: NodeSpec = { ...this.#node, nodeId };
    if (this.#nested !== undefined) node.workflowVersion = this.#nested.version;
    return node;
  }
}

/** Parameters as a node holds them, checked against the job's schema where that is known and answers at once. */
export function paramsText(given: { taskName: string; job: Job | undefined; params: unknown }): string | undefined {
  const task = `task ${preview(given.taskName)}`;
  const text = toJsonText(given.params, `${task}: params`);
  if (given.job === undefined) return text;
  // The schema sees what the job will: a Date, say, arrives as text.
  const verdict = validateParamsNow(given.job, paramsFromText(text));
  if (verdict?.ok === false) {
    throw new EngineError(
      "PARAMS_INVALID",
      `${task}: params do not fit job ${preview(given.job.name)}: ${verdict.issues}`,
    );
  }
  return text;
}
