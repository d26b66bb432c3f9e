import type { Workflow } from "../authoring/workflow.ts";
import { DagMachine } from "../kernel/dag/dag-machine.ts";
import type { Region } from "../runtime/region.ts";
import type { InstanceOperations } from "./instance-operations.ts";
import type { PauseOptions } from "./start-options.ts";
import type { InstanceView } from "../views/instance-view.ts";
import type { LiveInstance } from "./live-instance.ts";
import { LiveWorkflow } from "./live-workflow.ts";
import { qualify } from "../base/namespace.ts";

/** Reads and controls one instance of a DAG. */
export class WorkflowController {
  readonly instanceId: string;
  readonly #engine: InstanceOperations;
  readonly #region: Region;
  readonly #namespace: string;
  readonly #definition: Workflow;
  /** Undefined for an engine alone. */
  readonly #remote: LiveInstance | undefined;
  #lastSeen: DagMachine | undefined;
  #live: LiveWorkflow | undefined;

  /** Made by `Engine`. */
  constructor(parts: {
    engine: InstanceOperations;
    region: Region;
    namespace: string;
    instanceId: string;
    definition: Workflow;
    live?: LiveInstance | undefined;
  }) {
    this.instanceId = parts.instanceId;
    this.#engine = parts.engine;
    this.#region = parts.region;
    this.#namespace = parts.namespace;
    this.#definition = parts.definition;
    this.#remote = parts.live;
    this.#lastSeen = this.#peek();
  }

  /** The workflow with the current status of its tasks; changes to it are durable. */
  get workflow(): LiveWorkflow {
    return (this.#live ??= new LiveWorkflow(this.#definition, {
      machine: () => (this.#lastSeen = this.#peek() ?? this.#remote?.look() ?? this.#lastSeen),
      refresh: async () => {
        if (this.#peek() === undefined) await this.#remote?.refresh();
      },
      updateParams: (taskName, params) => this.#engine.updateTaskParams(this.instanceId, taskName, params),
      addSubTask: (task, parentName) => this.#engine.addSubTask(this.instanceId, task, parentName),
    }));
  }

  #peek(): DagMachine | undefined {
    const machine = this.#region.peek(qualify(this.#namespace, this.instanceId));
    return machine instanceof DagMachine ? machine : undefined;
  }

  /** Starts no new tasks; running ones finish. Resolves when the pause is durable. `INSTANCE_STATE`. */
  pause(options?: PauseOptions): Promise<void> {
    return this.#engine.pauseWorkflowInstance(this.instanceId, options);
  }

  resume(): Promise<void> {
    return this.#engine.resumeWorkflowInstance(this.instanceId);
  }

  /** Ends the instance at once; running tasks get the abort signal, and the reason is recorded. */
  terminate(reason?: string): Promise<void> {
    return this.#engine.terminateWorkflowInstance(this.instanceId, reason);
  }

  getStatus(): Promise<InstanceView> {
    return this.#engine.getWorkflowInstanceStatus(this.instanceId);
  }

  /** Waits for the end and returns the outputs by task name. Throws `WorkflowFailed` or `WorkflowTerminated`. */
  result(): Promise<Record<string, unknown>> {
    return this.#engine.awaitWorkflowInstance(this.instanceId);
  }
}
