import type { Task } from "../authoring/task.ts";
import { TaskBuilder } from "../authoring/task-builder.ts";
import type { Workflow } from "../authoring/workflow.ts";
import { WorkflowBuilder } from "../authoring/workflow-builder.ts";
import { jobWorkflowName } from "../kernel/event.ts";
import type { RetryPolicy } from "../kernel/retry.ts";

/** Options of a job workflow's only task. */
export interface JobTaskOptions {
  /** Timeout of one attempt. Default 30. */
  readonly timeoutSeconds?: number;
  /** An attempt that sends no heartbeat for so long times out. Default: none is expected. */
  readonly heartbeatTimeoutSeconds?: number;
  /** The maximum of retries after a failed attempt. Default 0. */
  readonly retryCount?: number;
  readonly retryPolicy?: Partial<RetryPolicy>;
  /** The domain to run in. */
  readonly domain?: string;
  /** Tags that a worker must have to run it, all of them. */
  readonly workerTags?: readonly string[];
  /** The designated worker: its id or its address. */
  readonly worker?: string;
}

/** The options of the task among those of a start. */
export function taskOptionsOf(given: JobTaskOptions): JobTaskOptions {
  const { timeoutSeconds, heartbeatTimeoutSeconds, retryCount, retryPolicy, domain, workerTags, worker } = given;
  const options = { timeoutSeconds, heartbeatTimeoutSeconds, retryCount, retryPolicy, domain, workerTags, worker };
  return options as JobTaskOptions;
}

/**
 * The workflow of a job that runs by itself: one task, named like the job. Parameters come with each start, so all runs of
 * a job with the same options share one definition. `TASK_INVALID`.
 */
export function jobWorkflow(job: string, options: JobTaskOptions = {}): Workflow {
  return new WorkflowBuilder().withName(jobWorkflowName(job)).withTask(jobTask(job, options)).build();
}

function jobTask(job: string, options: JobTaskOptions): Task {
  const { timeoutSeconds, heartbeatTimeoutSeconds, retryCount, retryPolicy, domain, workerTags, worker } = options;
  const [name = job] = job.split("@");
  const builder = new TaskBuilder(name).withJobFunction(job);
  if (timeoutSeconds !== undefined) builder.withTimeout(timeoutSeconds);
  if (heartbeatTimeoutSeconds !== undefined) builder.withHeartbeatTimeout(heartbeatTimeoutSeconds);
  if (retryCount !== undefined) builder.withRetryCount(retryCount);
  if (retryPolicy !== undefined) builder.withRetryPolicy(retryPolicy);
  if (domain !== undefined) builder.withDomain(domain);
  if (workerTags !== undefined) builder.withWorkerTags(...workerTags);
  if (worker !== undefined) builder.withWorker(worker);
  return builder.build();
}
