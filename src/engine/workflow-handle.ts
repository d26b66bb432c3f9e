import type { InstanceOperations } from "./instance-operations.ts";
import type { InstanceView } from "../views/instance-view.ts";

/** One instance of a code workflow, in the hands of whoever started it. */
export class WorkflowHandle<Output = unknown> {
  readonly instanceId: string;
  readonly #engine: InstanceOperations;

  /** Made by `Engine`. */
  constructor(engine: InstanceOperations, instanceId: string) {
    this.#engine = engine;
    this.instanceId = instanceId;
  }

  /** What the code gives back, once it has ended. Throws `WorkflowFailed` or `WorkflowTerminated` otherwise. */
  result(): Promise<Output> {
    return this.#engine.awaitWorkflowInstance<Output>(this.instanceId);
  }

  getStatus(): Promise<InstanceView> {
    return this.#engine.getWorkflowInstanceStatus(this.instanceId);
  }

  /** Kept until the code waits for it. Durable when it resolves. `INSTANCE_STATE` if the instance has ended. */
  raiseEvent(name: string, data?: unknown): Promise<void> {
    return this.#engine.raiseEvent(this.instanceId, name, data);
  }

  /** What the code answers from its variables. `HANDLER_UNKNOWN`. */
  query<Answer = unknown>(name: string, input?: unknown): Promise<Answer> {
    return this.#engine.queryWorkflowInstance<Answer>(this.instanceId, name, input);
  }

  /** Lets the code do something, and waits for what it answers. */
  update<Answer = unknown>(name: string, input?: unknown, options?: { readonly updateId?: string }): Promise<Answer> {
    return this.#engine.updateWorkflowInstance<Answer>(this.instanceId, name, input, options);
  }

  /** At once: the code sees nothing more until `resume`. */
  pause(): Promise<void> {
    return this.#engine.pauseWorkflowInstance(this.instanceId);
  }

  resume(): Promise<void> {
    return this.#engine.resumeWorkflowInstance(this.instanceId);
  }

  /** Asks the code to end: what it waits for is called off, and what it did is undone. */
  cancel(reason?: string): Promise<void> {
    return this.#engine.cancelWorkflowInstance(this.instanceId, reason);
  }

  /** Ends it without asking, and its children too. */
  terminate(reason?: string): Promise<void> {
    return this.#engine.terminateWorkflowInstance(this.instanceId, reason);
  }
}
