import type { DataOf } from "../../api/routes.ts";
import type { QueuedTask } from "../../engine/overview.ts";
import type { InstanceView } from "../../views/instance-view.ts";
import type { DagSpec } from "../../kernel/dag/dag-spec.ts";
import type { NodeId, NodeSpec } from "../../kernel/node-spec.ts";
import type { TaskStatus } from "../../kernel/status.ts";
import type { Tally } from "../../engine/queue.ts";
import { cursorOf, placeOf } from "../http/cursor.ts";
import type { AnswerNotes, AuthorizedRequest, Handlers } from "../http/handler.ts";
import { EndedInstances } from "./ended-instances.ts";
import { instanceWords, nodeTypeWords, nodeWords } from "./monitor-words.ts";
import type { RouteParts } from "./route-parts.ts";
import { qualify } from "../../base/namespace.ts";

type MonitorRoutes = Pick<
  Handlers,
  | "monitorInstance"
  | "monitorTopology"
  | "countQueuedNodes"
  | "listWaitingNodes"
  | "listRunningNodes"
  | "listStuckInstances"
>;

interface MonitorParts extends RouteParts {
  readonly ended: EndedInstances;
}

/** The monitor: graphs of instances and the queues of the cluster, in the words of PowerJob and TIS. */
export function monitorRoutes(routeParts: RouteParts): MonitorRoutes {
  const parts = { ...routeParts, ended: new EndedInstances(routeParts) };
  const { engine, deadlines } = parts;
  return {
    monitorInstance: ({ params }) => deadlines.query(monitorInstance(parts, params.instanceId)),
    monitorTopology: ({ params }) => deadlines.query(monitorTopology(parts, params.instanceId)),
    countQueuedNodes: ({ notes }) => deadlines.query(countQueued(parts, notes)),
    listWaitingNodes: (asked) => deadlines.query(listQueued(parts, "waiting", asked)),
    listRunningNodes: (asked) => deadlines.query(listQueued(parts, "running", asked)),
    listStuckInstances: async ({ query: { minutes }, notes }) => {
      const forMs = minutes === undefined ? {} : { forMs: minutes * 60_000 };
      const { instances, unanswered } = await engine.cluster.listStuckInstances(forMs);
      notes.unanswered = unanswered;
      return { items: [...instances] };
    },
  };
}

function listed(tally: Tally): { name: string; count: number }[] {
  return tally.map(({ name, count }) => ({ name, count }));
}

async function countQueued({ engine }: RouteParts, notes: AnswerNotes): Promise<DataOf<"countQueuedNodes">> {
  const { waiting, running, unanswered } = await engine.cluster.countQueuedTasks();
  notes.unanswered = unanswered;
  return {
    waiting: {
      total: waiting.total,
      byReason: listed(waiting.byReason),
      byWorkflow: listed(waiting.byWorkflow),
      byJob: listed(waiting.byJob),
    },
    running: {
      total: running.total,
      byWorkflow: listed(running.byWorkflow),
      byJob: listed(running.byJob),
      byWorker: listed(running.byWorker),
    },
  };
}

async function listQueued(
  { engine, clock }: RouteParts,
  state: QueuedTask["state"],
  { query, notes }: Pick<AuthorizedRequest<"listWaitingNodes">, "query" | "notes">,
): Promise<DataOf<"listWaitingNodes">> {
  const place = placeOf<[string, string]>(query.cursor, ["string", "string"]);
  const after = place && { instanceId: place[0], task: Number(place[1]) };
  const { tasks, next, unanswered } = await engine.cluster.listQueuedTasks({ state, limit: query.limit, after });
  notes.next = next && cursorOf([next.instanceId, String(next.task)]);
  notes.unanswered = unanswered;
  return tasks.map((task) => queuedNode(task, clock.now()));
}

async function monitorInstance(parts: MonitorParts, instanceId: string): Promise<DataOf<"monitorInstance">> {
  const view = await parts.ended.view(instanceId);
  const spec = await specOf(parts, view);
  const results = await parts.ended.results(view, spec);
  const nodeOf = nodesById(spec);
  const count = (...statuses: readonly TaskStatus[]): number =>
    view.tasks.filter(({ status }) => statuses.includes(status)).length;
  const startTime = view.startedAt ?? null;
  const endTime = view.endedAt ?? null;
  return {
    instanceId,
    workflowName: view.workflowName,
    status: instanceWords[view.status],
    statusText: view.status,
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
      nodeType: nodeTypeWords[task.kind],
      status: nodeWords[task.status],
      statusText: task.status,
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

async function monitorTopology(parts: MonitorParts, instanceId: string): Promise<DataOf<"monitorTopology">> {
  const view = await parts.ended.view(instanceId);
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
      status: nodeWords[status],
      statusText: status,
      type: nodeTypeWords[kind],
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
async function specOf({ namespace, store }: RouteParts, view: InstanceView): Promise<DagSpec | undefined> {
  if (view.kind === "code") return undefined;
  const row = await store.findDefinition(qualify(namespace, view.workflowName), view.workflowVersion);
  return row === undefined ? undefined : (JSON.parse(row.spec) as DagSpec);
}

function nodesById(spec: DagSpec | undefined): (nodeId: NodeId) => NodeSpec | undefined {
  const nodes = new Map(spec?.nodes.map((node) => [node.nodeId, node]));
  return (nodeId) => nodes.get(nodeId);
}

function queuedNode(task: QueuedTask, now: number): DataOf<"listWaitingNodes">[number] {
  const { instanceId, workflowName, nodeId, taskName, kind, attempt, job, domain, skipWhenFailed } = task;
  const { since, worker, wait, retryAt } = task;
  const startedAt = task.state === "running" ? since : undefined;
  const statusText: TaskStatus = task.state === "running" ? "Running" : "Pending";
  return {
    instanceId,
    workflowName,
    nodeId: nodeId ?? null,
    nodeName: taskName ?? null,
    nodeType: kind === undefined ? null : nodeTypeWords[kind],
    status: nodeWords[statusText],
    statusText,
    result: null,
    startTime: startedAt ?? null,
    finishedTime: null,
    duration: durationOf({ startedAt, endedAt: undefined }, now),
    skipWhenFailed,
    workerAddress: worker ?? null,
    attempt,
    job: job ?? null,
    domain,
    since: since ?? null,
    wait: wait ?? null,
    retryAt: retryAt ?? null,
    progress: task.progress ?? null,
  };
}
