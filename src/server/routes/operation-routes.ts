import { EngineError, hasCode } from "../../base/error.ts";
import { preview } from "../../base/preview.ts";
import { cursorOf, placeOf } from "../http/cursor.ts";
import type { AuthorizedRequest, Handlers } from "../http/handler.ts";
import { done, type RouteParts } from "./route-parts.ts";
import { checkGivenId, idOfKey } from "./start-instance.ts";

type OperationRoutes = Pick<
  Handlers,
  | "patchContext"
  | "pauseInstance"
  | "resumeInstance"
  | "terminateInstance"
  | "cancelInstance"
  | "retryInstance"
  | "rerunInstance"
  | "forkInstance"
  | "raiseEvent"
  | "queryInstance"
  | "updateInstance"
  | "getNode"
  | "listMapItems"
  | "stopNode"
  | "completeTask"
  | "failTask"
  | "retryNode"
  | "skipNode"
  | "succeedNode"
  | "changeNodeParams"
>;

/** Operations that change instances and their nodes. */
export function operationRoutes(parts: RouteParts): OperationRoutes {
  const { engine } = parts;
  return {
    patchContext: async ({ params, body }) => {
      await engine.updateContext(params.id, body);
      return done;
    },
    pauseInstance: async ({ params, body, caller }) => {
      const { reason } = body;
      await engine.pauseWorkflowInstance(params.id, { by: caller.name, ...(reason !== undefined && { reason }) });
      return done;
    },
    resumeInstance: async ({ params }) => {
      await engine.resumeWorkflowInstance(params.id);
      return done;
    },
    terminateInstance: async ({ params, body, caller }) => {
      await engine.terminateWorkflowInstance(params.id, body.reason ?? `terminated by ${caller.name}`);
      return done;
    },
    cancelInstance: async ({ params, body, caller }) => {
      await cancel(parts, params.id, body.reason ?? `canceled by ${caller.name}`);
      return done;
    },
    retryInstance: async ({ params }) => {
      await engine.retryWorkflowInstance(params.id);
      return done;
    },
    rerunInstance: async ({ params, body }) => {
      await engine.rerunWorkflowInstance(params.id, await nodeName(parts, params.id, body.task), {
        ...(body.params !== undefined && { params: body.params }),
      });
      return done;
    },
    forkInstance: (asked) => fork(parts, asked),
    raiseEvent: async ({ params, body }) => {
      await engine.raiseEvent(params.id, params.name, body);
      return done;
    },
    queryInstance: ({ params, body }) => engine.queryWorkflowInstance(params.id, params.name, body),
    updateInstance: async ({ params, body }) => {
      await refuseBlocked(parts, params.id);
      return await engine.updateWorkflowInstance(params.id, params.name, body);
    },
    completeTask: async ({ params, body }) => ({ ...(await engine.completeTask(params.token, body.output)) }),
    failTask: async ({ params, body }) => ({ ...(await engine.failTask(params.token, body)) }),
    ...nodeRoutes(parts),
  };
}

type NodeRoutes = Pick<
  Handlers,
  "getNode" | "listMapItems" | "stopNode" | "retryNode" | "skipNode" | "succeedNode" | "changeNodeParams"
>;

function nodeRoutes(parts: RouteParts): NodeRoutes {
  const { engine } = parts;
  return {
    getNode: async ({ params }) => {
      const details = await engine.getTask(params.id, await taskGiven(parts, params.id, params.nodeId));
      return { ...details, subTasks: { ...details.subTasks } };
    },
    listMapItems: async ({ params, query }) => {
      const { status, limit, cursor } = query;
      const [from] = placeOf<[number]>(cursor, ["number"]) ?? [0];
      const task = await nodeName(parts, params.id, params.nodeId);
      const page = await engine.listMapItems(params.id, task, { from, limit, ...(status !== undefined && { status }) });
      return { ...page, next: page.next === undefined ? null : cursorOf([page.next]) };
    },
    stopNode: async ({ params, body, caller }) => {
      const reason = body.reason ?? `stopped by ${caller.name}`;
      await engine.stopTask(params.id, await taskGiven(parts, params.id, params.nodeId), { reason });
      return done;
    },
    retryNode: async ({ params }) => {
      await engine.rerunWorkflowInstance(params.id, await nodeName(parts, params.id, params.nodeId));
      return done;
    },
    skipNode: async ({ params }) => {
      await engine.skipTask(params.id, await nodeName(parts, params.id, params.nodeId));
      return done;
    },
    succeedNode: async ({ params, body }) => {
      await engine.succeedTask(params.id, await nodeName(parts, params.id, params.nodeId), body.output);
      return done;
    },
    changeNodeParams: async ({ params, body }) => {
      await engine.updateTaskParams(params.id, await nodeName(parts, params.id, params.nodeId), body.params);
      return done;
    },
  };
}

/** Refuses an update of stopped code with the reason: it would be answered only after a resume. */
async function refuseBlocked({ engine }: RouteParts, instanceId: string): Promise<void> {
  const { status, attention } = await engine.getWorkflowInstanceStatus(instanceId);
  const reason = status === "Paused" ? "it is paused: resume it first" : attention;
  if (reason === undefined) return;
  throw new EngineError("INSTANCE_STATE", `instance ${preview(instanceId)} takes no update now: ${reason}`);
}

/** The name of a node, given by name or by id; a name takes precedence. */
async function nodeName({ engine }: RouteParts, instanceId: string, idOrName: string): Promise<string> {
  const { tasks } = await engine.getWorkflowInstanceStatus(instanceId);
  const isName = tasks.some(({ name }) => name === idOrName);
  return isName ? idOrName : (tasks.find(({ nodeId }) => String(nodeId) === idOrName)?.name ?? idOrName);
}

/**
 * Resolves a task given as `nodeName`; a task of code, whose name may not be unique, also by its number in the
 * instance.
 */
async function taskGiven(parts: RouteParts, instanceId: string, given: string): Promise<string | number> {
  const { kind, tasks } = await parts.engine.getWorkflowInstanceStatus(instanceId);
  if (kind === "dag") return await nodeName(parts, instanceId, given);
  const isNumber = /^\d{1,9}$/.test(given) && !tasks.some(({ name }) => name === given);
  return isNumber ? Number(given) : given;
}

/** Cancels code, which runs its compensation; terminates a DAG. */
async function cancel({ engine }: RouteParts, instanceId: string, reason: string): Promise<void> {
  const { kind } = await engine.getWorkflowInstanceStatus(instanceId);
  if (kind === "code") await engine.cancelWorkflowInstance(instanceId, reason);
  else await engine.terminateWorkflowInstance(instanceId, reason);
}

async function fork(
  { engine }: RouteParts,
  { params, body, key, caller }: AuthorizedRequest<"forkInstance">,
): Promise<{ instanceId: string }> {
  checkGivenId(body.instanceId);
  const instanceId = body.instanceId ?? (key === undefined ? undefined : idOfKey(`fork ${params.id}`, { caller, key }));
  try {
    const handle = await engine.forkWorkflowInstance(params.id, {
      fromTask: body.task ?? 0,
      ...(instanceId !== undefined && { instanceId }),
    });
    return { instanceId: handle.instanceId };
  } catch (error) {
    // A retry after a lost answer: an id derived from the key belongs to the same request.
    const isDone = key !== undefined && body.instanceId === undefined && hasCode(error, "INSTANCE_EXISTS");
    if (!isDone || instanceId === undefined) throw error;
    return { instanceId };
  }
}
