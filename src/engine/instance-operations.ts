import type { ParamsArgument } from "../authoring/job.ts";
import type { CodeWorkflow } from "../authoring/code-workflow.ts";
import type { Task } from "../authoring/task.ts";
import type { InstanceFilter, InstanceSummary } from "../stores/store.ts";
import type { InstanceView } from "../views/instance-view.ts";
import type { PauseOptions, StartOptions } from "./start-options.ts";

/** Engine methods that controllers, handles and schedules use; `Engine` documents each. */
export interface InstanceOperations {
  getWorkflowInstanceStatus(instanceId: string): Promise<InstanceView>;
  awaitWorkflowInstance<Result = Record<string, unknown>>(instanceId: string): Promise<Result>;
  listWorkflowInstances(filter?: Partial<InstanceFilter>): Promise<InstanceSummary[]>;
  pauseWorkflowInstance(instanceId: string, options?: PauseOptions): Promise<void>;
  resumeWorkflowInstance(instanceId: string): Promise<void>;
  cancelWorkflowInstance(instanceId: string, reason?: string): Promise<void>;
  terminateWorkflowInstance(instanceId: string, reason?: string): Promise<void>;
  raiseEvent(instanceId: string, name: string, data?: unknown): Promise<void>;
  queryWorkflowInstance<Answer = unknown>(instanceId: string, query: string, input?: unknown): Promise<Answer>;
  updateWorkflowInstance<Answer = unknown>(
    instanceId: string,
    name: string,
    input?: unknown,
    options?: { readonly updateId?: string },
  ): Promise<Answer>;
  updateTaskParams(instanceId: string, taskName: string, params: unknown): Promise<void>;
  addSubTask(instanceId: string, task: Task, parentName: string): Promise<void>;
  startWorkflow<Params, Output, Input>(
    workflow: CodeWorkflow<Params, Output, Input>,
    ...given: [...ParamsArgument<Input>, options?: StartOptions]
  ): Promise<unknown>;
}
