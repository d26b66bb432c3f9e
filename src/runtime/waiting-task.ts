import type { TaskWait } from "../dispatch/wait-reason.ts";
import type { InstanceState } from "../kernel/instance-state.ts";
import type { NodeId } from "../kernel/node-spec.ts";
import type { TaskKind } from "../kernel/task-definition.ts";
import { waitInside } from "../views/wait-inside.ts";
import { placeAmong } from "../views/waiting.ts";
import type { InstanceActor } from "./instance-actor.ts";
import { localName, namespaceOf } from "../base/namespace.ts";

/** Identifies the attempt of a task that runs or waits. */
export interface TaskIdentity {
  readonly namespace: string;
  readonly instanceId: string;
  readonly workflowName: string;
  /** Undefined for an instance that waits as a whole; so are the other fields that only a task has. */
  readonly taskName: string | undefined;
  readonly nodeId: NodeId | undefined;
  /** The task's number within the instance. */
  readonly task: number | undefined;
  readonly kind: TaskKind | undefined;
  readonly skipWhenFailed: boolean;
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

const noTask = {
  taskName: undefined,
  nodeId: undefined,
  task: undefined,
  kind: undefined,
  skipWhenFailed: false,
  job: undefined,
  retryAt: undefined,
};

/** Lists the tasks that wait inside an instance; as many as its state's `waitingCount`. */
export function waitingTasksOf({ id, machine: { state }, shard, definition: { spec } }: InstanceActor): WaitingTask[] {
  const workflowName = localName(state.workflow);
  const identity = { namespace: namespaceOf(id), instanceId: localName(id), workflowName };
  if (state.status === "Ready" && state.waitingCount > 0) {
    const max = spec.maxInstances?.max ?? 0;
    const wait: TaskWait = { reason: "workflow-limit", text: placeAmong(max, workflowName), max };
    return [{ ...identity, ...noTask, attempt: 0, domain: domainOf(state), since: state.createdAt, wait }];
  }
  return state.waitingTasks().map((task) => {
    const definition = state.definition(task);
    const record = state.record(task);
    return {
      ...identity,
      taskName: definition.name,
      nodeId: definition.nodeId,
      task,
      kind: definition.kind,
      skipWhenFailed: definition.skipWhenFailed,
      attempt: record?.attempt ?? 0,
      job: definition.kind === "job" ? localName(shard.resolveJob(id, definition, state.params(task))) : undefined,
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
