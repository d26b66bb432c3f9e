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

/** A node without its number, which the workflow assigns. */
export type TaskNode = Omit<NodeSpec, "nodeId">;

export interface Dependency {
  /** The name of a task in the same workflow. */
  readonly name: string;
  /** The result of a decision for which this task runs. */
  readonly when?: string;
}

export interface TaskParts {
  readonly id: string;
  readonly name: string;
  /** Unknown fields are kept and returned by `toNode`. */
  readonly node: TaskNode;
  readonly job?: Job | undefined;
  readonly nestedWorkflow?: Workflow | undefined;
  readonly dependencies?: readonly Dependency[];
}

/** One task of a workflow; created by `TaskBuilder`. */
export class Task<Params = unknown> {
  /** A UUID. */
  readonly id: string;
  /** Unique within its workflow. */
  readonly name: string;
  /** The declared dependencies. Sub-tasks that were added in between are shown by the workflow only. */
  readonly dependencies: readonly Dependency[];
  /** The job, if the task was built with it and not with its name. */
  readonly job: Job | undefined;
  readonly #nested: Workflow | undefined;
  #node: TaskNode;
  #known: TaskDefinition | undefined;
  #edits = 0;

  /** Made by `TaskBuilder`. */
  constructor(parts: TaskParts) {
    this.id = parts.id;
    this.name = parts.name;
    this.dependencies = parts.dependencies ?? [];
    this.job = parts.job;
    this.#nested = parts.nestedWorkflow;
    this.#node = parts.node;
  }

  /** Always `Pending` in a definition; `controller.workflow` shows the status of a run. */
  get status(): TaskStatus {
    return "Pending";
  }

  get kind(): TaskKind {
    return this.#definition.kind;
  }

  get jobName(): string | undefined {
    return this.#definition.jobName ?? undefined;
  }

  /** The job's number in a file of PowerJob. */
  get jobId(): NodeId | undefined {
    return this.#runsJob ? (this.#definition.jobId ?? undefined) : undefined;
  }

  /** A copy of the parameters after a round trip through JSON, as the job will receive them. */
  get params(): Params {
    return (this.#runsJob ? paramsFromText(this.#node.nodeParams) : undefined) as Params;
  }

  /** The expression of a decision. */
  get decision(): string | undefined {
    return this.kind === "decision" ? this.#definition.params : undefined;
  }

  /** The nested workflow that this task runs, or its name. */
  get nestedWorkflow(): Workflow | string | undefined {
    return this.#nested ?? (this.kind === "nested" ? this.#definition.workflowName : undefined);
  }

  /** The timeout of one attempt. If the task sets none: its default, which the engine's `defaultTimeoutSeconds` replaces. */
  get timeoutSeconds(): number {
    return (this.#definition.timeoutMs ?? this.#definition.defaultTimeoutMs) / 1000;
  }

  /** The time without a heartbeat after which an attempt times out; undefined if none is expected. */
  get heartbeatTimeoutSeconds(): number | undefined {
    const { heartbeatTimeoutMs } = this.#definition;
    return heartbeatTimeoutMs === undefined ? undefined : heartbeatTimeoutMs / 1000;
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

  /** Tags that a worker must have to run it. */
  get workerTags(): readonly string[] {
    return this.#definition.workerTags ?? [];
  }

  /** The designated worker, by id or address. */
  get worker(): string | undefined {
    return this.#definition.worker;
  }

  get skipWhenFailed(): boolean {
    return this.#definition.skipWhenFailed;
  }

  get enabled(): boolean {
    return this.#definition.enabled;
  }

  /** The items of a map, or the expression that gives them. */
  get items(): string | readonly unknown[] | undefined {
    return this.#definition.map?.items;
  }

  get #runsJob(): boolean {
    return this.kind === "job" || this.kind === "map";
  }

  /** Incremented with every edit, to invalidate values that are derived from the task. */
  get revision(): number {
    return this.#edits + (this.#nested?.revision ?? 0);
  }

  /** The node with its defaults, as runs see it. Computed lazily, because most tasks of a large workflow never need it. */
  get #definition(): TaskDefinition {
    this.#known ??= defineTask({ ...this.#node, nodeId: this.id }, this.name);
    return this.#known;
  }

  /**
   * Replaces the parameters. Throws VALUE_NOT_SERIALIZABLE, PARAMS_INVALID where the job is known and its schema refuses
   * them, and TASK_INVALID for a task that runs no job.
   */
  updateParams(params: Params): void {
    if (!this.#runsJob) {
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

/** Serializes parameters for a node. Validates them if the job's schema is known and synchronous. */
export function paramsText(given: {
  taskName: string;
  job: Pick<Job, "name" | "input"> | undefined;
  params: unknown;
}): string | undefined {
  const task = `task ${preview(given.taskName)}`;
  const text = toJsonText(given.params, `${task}: params`);
  if (given.job === undefined) return text;
  // The schema validates the value after a round trip through JSON, as the job receives it: a Date is text then.
  const verdict = validateParamsNow(given.job, paramsFromText(text));
  if (verdict?.ok === false) {
    throw new EngineError(
      "PARAMS_INVALID",
      `${task}: params do not fit job ${preview(given.job.name)}: ${verdict.issues}`,
    );
  }
  return text;
}
