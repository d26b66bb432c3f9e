import type { TaskWait } from "../dispatch/wait-reason.ts";
import type { InstanceState } from "../kernel/instance-state.ts";
import type { NodeId } from "../kernel/node-spec.ts";
import { waitInside } from "../views/wait-inside.ts";
import type { InstanceActor } from "./instance-actor.ts";

/** Identifies the attempt of a task that runs or waits. */
export interface TaskIdentity {
  readonly instanceId: string;
  readonly workflowName: string;
  /** Undefined for an instance that waits as a whole; so are the other fields that only a task has. */
  readonly taskName: string | undefined;
  readonly nodeId: NodeId | undefined;
  readonly attempt: number;
  /** Undefined for a nested workflow. */
  readonly job: string | undefined;
  readonly domain: string;
}

/**
 * A task that waits inside its instance, or an instance that waits as a whole: the dispatcher does not know of it yet.
 */
export interface WaitingTask extends TaskIdentity {
  /** End time of the last attempt, or creation time of the instance; undefined for a task that has had no attempt. */
  readonly since: number | undefined;
  readonly retryAt: number | undefined;
  readonly wait: TaskWait;
}

/** Lists the tasks that wait inside an instance; as many as its state's `waitingCount`. */
export function waitingTasksOf({ id, machine: { state }, shard, definition: { spec } }: InstanceActor): WaitingTask[] {
  const { workflow: workflowName } = state;
  const identity = { instanceId: id, workflowName };
  if (state.status === "Ready" && state.waitingCount > 0) {
    const text = `a place among the ${spec.maxInstances?.max ?? 0} instances of workflow "${workflowName}" that may run at a time`;
    const wait: TaskWait = { reason: "workflow-limit", text };
    const noTask = { taskName: undefined, nodeId: undefined, job: undefined, retryAt: undefined };
    return [{ ...identity, ...noTask, attempt: 0, domain: domainOf(state), since: state.createdAt, wait }];
  }
  return state.waitingTasks().map((task) => {
    const definition = state.definition(task);
    const record = state.record(task);
    return {
      ...identity,
      taskName: definition.name,
      nodeId: definition.nodeId,
      attempt: record?.attempt ?? 0,
      job: definition.kind === "job" ? shard.resolveJob(definition, state.params(task)) : undefined,
      domain: definition.domain ?? domainOf(state),
      since: record?.endedAt,
      retryAt: record?.retryAt,
      wait: waitInside(state, task) as TaskWait,
    };
  });
}

function domainOf({ domain = "default" }: InstanceState): string {
  return domain;
}
