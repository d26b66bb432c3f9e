import type { DataOf } from "../../api/routes.ts";
import type { QueuedTask } from "../../engine/overview.ts";
import type { InstanceView } from "../../views/instance-view.ts";
import type { DagSpec } from "../../kernel/dag/dag-spec.ts";
import type { NodeId, NodeSpec } from "../../kernel/node-spec.ts";
import type { TaskStatus } from "../../kernel/status.ts";
import { nodeTypes } from "../../kernel/task-definition.ts";
import type { Handlers } from "../http/handler.ts";
import { nodeResults } from "./node-results.ts";
import type { RouteParts } from "./route-parts.ts";

type MonitorRoutes = Pick<
  Handlers,
  "monitorInstance" | "monitorTopology" | "listWaitingNodes" | "listRunningNodes" | "listStuckInstances"
>;

/** The monitor: graphs of instances, with PowerJob's names. */
export function monitorRoutes(parts: RouteParts): MonitorRoutes {
  const { engine, deadlines } = parts;
  const queued = async (state: QueuedTask["state"], limit: number): Promise<DataOf<"listWaitingNodes">> => {
    const tasks = await engine.listQueuedTasks({ state, limit });
    const { waitingTasks, runningTasks } = engine.health;
    return { items: tasks.map(queuedNode), total: state === "waiting" ? waitingTasks : runningTasks };
  };
  return {
    monitorInstance: ({ params }) => deadlines.query(monitorInstance(parts, params.instanceId)),
    monitorTopology: ({ params }) => deadlines.query(monitorTopology(parts, params.instanceId)),
    listWaitingNodes: ({ query }) => deadlines.query(queued("waiting", query.limit)),
    listRunningNodes: ({ query }) => deadlines.query(queued("running", query.limit)),
    listStuckInstances: ({ query: { minutes } }) => {
      return { items: engine.listStuckInstances(minutes === undefined ? {} : { forMs: minutes * 60_000 }) };
    },
  };
}

async function monitorInstance(parts: RouteParts, instanceId: string): Promise<DataOf<"monitorInstance">> {
  const view = await parts.engine.getWorkflowInstanceStatus(instanceId);
  const spec = await specOf(parts, view);
  const results = await nodeResults(parts, view, spec);
  const nodeOf = nodesById(spec);
  const count = (...statuses: readonly TaskStatus[]): number =>
    view.tasks.filter(({ status }) => statuses.includes(status)).length;
  const startTime = view.startedAt ?? null;
  const endTime = view.endedAt ?? null;
  return {
    instanceId,
    workflowName: view.workflowName,
    status: view.status,
    startTime,
    endTime,
    duration: durationOf(view, parts.clock.now()),
    totalNodes: view.tasks.length,
    waitingNodes: count("Pending"),
    runningNodes: count("Running"),
    completedNodes: count("Success", "Skipped", "Canceled"),
    failedNodes: count("Failed", "TimeoutFailed", "Stopped"),
    nodes: view.tasks.map((task) => ({
      nodeId: task.nodeId,
      nodeName: task.name,
      nodeType: nodeTypes[task.kind],
      status: task.status,
      result: results.get(task.nodeId) ?? null,
      startTime: task.startedAt ?? null,
      finishedTime: task.endedAt ?? null,
      duration: durationOf(task, parts.clock.now()),
      skipWhenFailed: nodeOf(task.nodeId)?.skipWhenFailed ?? false,
      workerAddress: task.worker ?? null,
    })),
  };
}

/** The duration; of a running node, until now. */
function durationOf(
  { startedAt, endedAt }: { readonly startedAt: number | undefined; readonly endedAt: number | undefined },
  now: number,
): number | null {
  return startedAt === undefined ? null : Math.max(0, (endedAt ?? now) - startedAt);
}

async function monitorTopology(parts: RouteParts, instanceId: string): Promise<DataOf<"monitorTopology">> {
  const view = await parts.engine.getWorkflowInstanceStatus(instanceId);
  const spec = await specOf(parts, view);
  const nodeOf = nodesById(spec);
  const idOf = new Map(view.tasks.map(({ name, nodeId }) => [name, nodeId]));
  const ofSubTasks = view.tasks.flatMap(({ nodeId, parentTask }) => {
    const from = parentTask === undefined ? undefined : idOf.get(parentTask);
    return from === undefined ? [] : [{ from, to: nodeId, property: null, enable: true }];
  });
  return {
    nodes: view.tasks.map(({ nodeId, name, status, kind }) => ({
      id: nodeId,
      name,
      status,
      type: nodeTypes[kind],
      skipWhenFailed: nodeOf(nodeId)?.skipWhenFailed ?? false,
    })),
    edges: [
      ...(spec?.edges ?? []).map(({ from, to, property, enable }) => {
        return { from, to, property: property ?? null, enable: enable ?? true };
      }),
      ...ofSubTasks,
    ],
  };
}

/** The definition with which the instance was started; undefined for code. */
async function specOf({ store }: RouteParts, view: InstanceView): Promise<DagSpec | undefined> {
  if (view.kind === "code") return undefined;
  const row = await store.findDefinition(view.workflowName, view.workflowVersion);
  return row === undefined ? undefined : (JSON.parse(row.spec) as DagSpec);
}

function nodesById(spec: DagSpec | undefined): (nodeId: NodeId) => NodeSpec | undefined {
  const nodes = new Map(spec?.nodes.map((node) => [node.nodeId, node]));
  return (nodeId) => nodes.get(nodeId);
}

function queuedNode(task: QueuedTask): DataOf<"listWaitingNodes">["items"][number] {
  const { instanceId, workflowName, nodeId, taskName, attempt, job, domain } = task;
  const { since, worker, reason, waitingFor, retryAt } = task;
  return {
    instanceId,
    workflowName,
    nodeId: nodeId ?? null,
    nodeName: taskName ?? null,
    attempt,
    job: job ?? null,
    domain,
    since: since ?? null,
    workerAddress: worker ?? null,
    reason: reason ?? null,
    waitingFor: waitingFor ?? null,
    retryAt: retryAt ?? null,
  };
}
