import type { InstanceOperations } from "./instance-operations.ts";
import type { PauseOptions } from "./start-options.ts";
import type { InstanceView } from "../views/instance-view.ts";

/** Reads and controls one instance of a code workflow. */
export class WorkflowHandle<Output = unknown> {
  readonly instanceId: string;
  readonly #engine: InstanceOperations;

  /** Made by `Engine`. */
  constructor(engine: InstanceOperations, instanceId: string) {
    this.#engine = engine;
    this.instanceId = instanceId;
  }

  /** Waits for the end and returns the result of the code. Throws `WorkflowFailed` or `WorkflowTerminated`. */
  result(): Promise<Output> {
    return this.#engine.awaitWorkflowInstance<Output>(this.instanceId);
  }

  getStatus(): Promise<InstanceView> {
    return this.#engine.getWorkflowInstanceStatus(this.instanceId);
  }

  /** Raises an event; it is durable when this resolves, and kept until the code waits for it. `INSTANCE_STATE` after the end. */
  raiseEvent(name: string, data?: unknown): Promise<void> {
    return this.#engine.raiseEvent(this.instanceId, name, data);
  }

  /** Runs a query handler of the code. `HANDLER_UNKNOWN`. */
  query<Answer = unknown>(name: string, input?: unknown): Promise<Answer> {
    return this.#engine.queryWorkflowInstance<Answer>(this.instanceId, name, input);
  }

  /** Runs an update handler of the code and returns its result. */
  update<Answer = unknown>(name: string, input?: unknown, options?: { readonly updateId?: string }): Promise<Answer> {
    return this.#engine.updateWorkflowInstance<Answer>(this.instanceId, name, input, options);
  }

  /** Pauses at once: the code receives nothing more until `resume`. */
  pause(options?: PauseOptions): Promise<void> {
    return this.#engine.pauseWorkflowInstance(this.instanceId, options);
  }

  resume(): Promise<void> {
    return this.#engine.resumeWorkflowInstance(this.instanceId);
  }

  /** Asks the code to end: what it waits for is canceled, and its saga is compensated. */
  cancel(reason?: string): Promise<void> {
    return this.#engine.cancelWorkflowInstance(this.instanceId, reason);
  }

  /** Ends the instance and its children at once, without running its code. */
  terminate(reason?: string): Promise<void> {
    return this.#engine.terminateWorkflowInstance(this.instanceId, reason);
  }
}
