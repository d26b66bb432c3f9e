import { z } from "zod";
import * as bulk from "./bulk-schemas.ts";
import * as cluster from "./cluster-schemas.ts";
import { cursor, done, json, limit, nothing, ofId, page } from "./common-schemas.ts";
import * as instance from "./instance-schemas.ts";
import * as monitor from "./monitor-schemas.ts";
import type { RouteName } from "./paths.ts";
import type { Role, Route } from "./route.ts";
import * as schedule from "./schedule-schemas.ts";
import * as security from "./security-schemas.ts";
import * as workflow from "./workflow-schemas.ts";

const paging = z.object({ cursor, limit });

/** A read operation, for viewers, without parameters. */
function look<Data extends z.ZodType>(summary: string, data: Data) {
  return { summary, role: "viewer" as Role, params: nothing, query: nothing, body: nothing, data };
}

/** An operation on the resource of the path, for operators. */
function act(summary: string) {
  return { ...look(summary, done), role: "operator" as Role, params: ofId };
}

/** The contract of each operation: request, response and required role. The server, the OpenAPI document and the client are derived from it. */
export const routes = {
  listWorkflows: {
    ...look(
      "List the workflows that can be started: saved ones and those of the server's modules.",
      page(workflow.workflowSummary),
    ),
    query: paging.extend({ search: z.string().max(200).optional() }),
  },
  createWorkflow: {
    ...look("Save a workflow under a new name.", workflow.savedWorkflow),
    role: "operator",
    body: workflow.newWorkflow,
    status: 201,
    isCreate: true,
  },
  checkWorkflow: {
    ...look("Check a definition as a save would, and list everything that is wrong with it.", workflow.checkedWorkflow),
    body: workflow.workflowToCheck,
  },
  getWorkflow: { ...look("Get a workflow, with its nodes and edges.", workflow.workflowDetail), params: ofId },
  updateWorkflow: {
    ...act("Save a new version of a workflow."),
    body: workflow.changedWorkflow,
    data: workflow.savedWorkflow,
  },
  deleteWorkflow: act("Delete a saved workflow and its schedule; its instances are kept."),
  scheduleWorkflow: { ...act("Set or disable the schedule of a workflow."), body: workflow.workflowSchedule },
  triggerWorkflow: {
    ...act("Start an instance; the body is its input."),
    query: workflow.startQuery,
    body: workflow.startRequest,
    data: workflow.started,
    status: 201,
    isCreate: true,
  },
  listWorkflowVersions: {
    ...look("List the saved versions of a workflow, newest first.", page(workflow.workflowVersion)),
    params: ofId,
    query: paging,
  },
  diffWorkflow: {
    ...look("Compare two versions of a workflow.", workflow.workflowDiff),
    params: ofId,
    query: z.object({ from: z.string().max(200), to: z.string().max(200).optional() }),
  },
  rollBackWorkflow: {
    ...act("Roll back to an earlier version, saved as a new one."),
    body: z.object({ version: z.string().max(200) }),
    data: workflow.savedWorkflow,
  },

  monitorInstance: {
    ...look("Get the state of an instance, node by node.", monitor.monitoredInstance),
    params: monitor.ofInstance,
  },
  monitorTopology: {
    ...look("Get the graph of an instance: nodes and edges.", monitor.topology),
    params: monitor.ofInstance,
  },
  countQueuedNodes: {
    ...look(
      "Count the waiting and running nodes of the cluster by workflow, job, worker and reason.",
      monitor.queueCounts,
    ),
    isOfCluster: true,
  },
  listWaitingNodes: {
    ...look(
      "List the waiting nodes of the cluster whose predecessors have ended, each with its reason.",
      monitor.queue,
    ),
    query: monitor.queueQuery,
    isOfCluster: true,
  },
  listRunningNodes: {
    ...look("List the running nodes of the cluster.", monitor.queue),
    query: monitor.queueQuery,
    isOfCluster: true,
  },
  listStuckInstances: {
    ...look("List stuck instances of the cluster: active work, but no progress.", monitor.stuckInstances),
    query: monitor.stuckQuery,
    isOfCluster: true,
  },
  getStats: {
    ...look("Count the instances that were created and ended in a period, over time.", monitor.stats),
    query: monitor.statsQuery,
  },

  listInstances: {
    ...look("List instances, newest first.", page(instance.instanceSummary)),
    query: instance.instanceFilter,
  },
  countBulk: {
    ...look("Count the instances that an operation on all matches of a filter would concern.", bulk.bulkCount),
    body: bulk.bulkPreview,
  },
  bulkInstances: {
    ...look("Carry out an operation on the instances that match a filter, page by page.", bulk.bulkResult),
    role: "operator",
    body: bulk.bulkRequest,
    isCreate: true,
  },
  getInstance: { ...look("Get the state of an instance.", instance.instanceView), params: ofId },
  deleteInstance: act("Delete an ended instance with its history, and its children."),
  getResult: {
    ...look("Get the result of an instance that has ended.", instance.result),
    params: ofId,
    query: instance.resultQuery,
  },
  getHistory: {
    ...look("Get the event history of an instance by turns, oldest first.", instance.history),
    params: ofId,
    query: instance.historyQuery,
  },
  listAttempts: {
    ...look("List every attempt of the tasks of an instance.", instance.attempts),
    params: ofId,
  },
  getBreakpoint: {
    ...look("Get completed and running tasks, the DAG and the context of an instance.", instance.breakpoint),
    params: ofId,
  },
  getContext: { ...look("Get the context of an instance.", instance.context), params: ofId },
  patchContext: { ...act("Patch the context of an instance."), body: instance.contextPatch },
  getLogs: {
    ...look("Get the task logs of an instance.", page(instance.logLine)),
    params: ofId,
    query: instance.logQuery,
  },
  pauseInstance: { ...act("Pause an instance: no new task starts, running tasks finish."), body: instance.reason },
  resumeInstance: act("Resume a paused or quarantined instance."),
  terminateInstance: { ...act("Terminate an instance now; no compensation runs."), body: instance.reason },
  cancelInstance: {
    ...act("Cancel an instance: code workflows run their compensation, DAGs end."),
    body: instance.reason,
  },
  retryInstance: act("Retry the failed tasks of an instance."),
  rerunInstance: { ...act("Re-run a task and everything after it."), body: instance.rerun },
  forkInstance: {
    ...act("Fork a code instance: start another one that replays its history up to a step."),
    body: instance.fork,
    data: workflow.started,
    status: 201,
    isCreate: true,
  },
  raiseEvent: { ...act("Raise an event; the body is its data."), params: instance.ofNamed, body: json },
  queryInstance: {
    ...look("Query the code of an instance without changing it; the body is the query's input.", json),
    params: instance.ofNamed,
    body: json,
  },
  updateInstance: {
    ...act("Send an update to the code of an instance and return its answer."),
    params: instance.ofNamed,
    body: json,
    data: json,
  },
  getNode: { ...look("Get one task.", instance.taskDetails), params: instance.ofNode },
  listMapItems: {
    ...look("List the items of a map, in order, with their results.", instance.mapItems),
    params: instance.ofNode,
    query: instance.mapItemsQuery,
  },
  stopNode: {
    ...act("Abort a task that has not ended; it counts as failed."),
    params: instance.ofNode,
    body: instance.reason,
  },
  retryNode: { ...act("Retry a task and everything after it."), params: instance.ofNode },
  skipNode: { ...act("Skip a failed task."), params: instance.ofNode },
  succeedNode: { ...act("Mark a failed task as succeeded."), params: instance.ofNode, body: instance.nodeOutput },
  changeNodeParams: {
    ...act("Change the parameters of a task that has not started."),
    params: instance.ofNode,
    body: instance.nodeParams,
  },

  completeTask: {
    ...act("Complete a task from outside, by the token that its job got from completeLater."),
    params: instance.ofTaskToken,
    data: instance.completedTask,
    body: instance.nodeOutput,
  },
  failTask: {
    ...act("Fail a task from outside, by the token that its job got from completeLater."),
    params: instance.ofTaskToken,
    data: instance.completedTask,
    body: instance.outsideFailure,
  },

  getCluster: { ...look("Get the cluster members and their status.", cluster.clusterStatus), isOfCluster: true },
  listWorkers: { ...look("List the workers of the cluster.", z.array(cluster.worker)), isOfCluster: true },
  getClusterTopology: { ...look("Get members and workers as a graph.", cluster.clusterTopology), isOfCluster: true },
  drain: {
    ...look("Drain a member or worker: running tasks finish, no new ones start.", done),
    role: "admin",
    isShared: true,
    body: cluster.drainRequest,
  },
  countOwnTasks: look("Count the tasks that run on the member that answers.", cluster.taskCount),

  listJobs: look("List the registered jobs.", z.object({ items: z.array(cluster.job) })),
  runJob: {
    ...act("Run a job without a workflow, as an instance with one task; the body is its parameters."),
    params: cluster.ofName,
    query: cluster.jobRunQuery,
    body: json,
    data: workflow.started,
    status: 201,
    isCreate: true,
  },
  getExecutor: look("Get the pool of the member that answers.", cluster.executor),
  resizePool: {
    ...look("Set the pool size of the member that answers, until it stops.", done),
    role: "operator",
    isShared: true,
    body: cluster.poolSize,
  },
  listDomains: {
    ...look(
      "List the domains, with their running and waiting tasks in the cluster.",
      z.object({ items: z.array(cluster.domain) }),
    ),
    isOfCluster: true,
  },
  resizeDomain: {
    ...look("Declare a domain, or change its size: the concurrency limit of its tasks.", done),
    role: "operator",
    isShared: true,
    params: cluster.ofNewName,
    body: cluster.domainSize,
  },

  listSchedules: look("List the schedules.", z.object({ items: z.array(schedule.scheduleView) })),
  createSchedule: {
    ...look("Create a schedule.", z.object({ scheduleId: z.string() })),
    role: "operator",
    body: schedule.newSchedule,
    status: 201,
    isCreate: true,
  },
  previewSchedule: {
    ...look("Preview the due times of a schedule.", schedule.fireTimes),
    body: schedule.previewRequest,
  },
  getSchedule: { ...look("Get a schedule, with its next due times.", schedule.scheduleDetail), params: ofId },
  changeSchedule: { ...act("Change a schedule from now on."), body: schedule.scheduleSpec },
  deleteSchedule: act("Delete a schedule; runs that were started continue."),
  pauseSchedule: act("Pause a schedule."),
  resumeSchedule: act("Resume a paused schedule from now on."),
  triggerSchedule: { ...act("Start a run now."), data: workflow.started, status: 201, isCreate: true },
  backfillSchedule: {
    ...act("Backfill: run the due times of a past range."),
    body: schedule.backfillRequest,
    data: schedule.backfilled,
  },

  listNamespaces: look(
    "List the namespaces that are configured or have saved workflows; a token that is bound to one sees that one.",
    security.namespaces,
  ),
  listAudit: {
    ...look("List the audit log, newest first.", page(security.auditLine)),
    role: "admin",
    query: security.auditQuery,
  },
  listTokens: {
    ...look("List the API tokens, without their secrets.", z.object({ items: z.array(security.tokenView) })),
    role: "admin",
    isShared: true,
  },
  createToken: {
    ...look("Create an API token; its secret is returned once.", security.madeToken),
    role: "admin",
    isShared: true,
    body: security.newToken,
    status: 201,
    isCreate: true,
  },
  deleteToken: {
    ...look("Delete an API token.", done),
    role: "admin",
    isShared: true,
    params: cluster.ofName,
    query: security.tokenDeletion,
  },
} as const satisfies Record<RouteName, Route>;

export type Routes = typeof routes;

/** A request as the caller writes it, before defaults are filled in. */
export interface RequestOf<N extends RouteName> {
  readonly params: z.input<Routes[N]["params"]>;
  readonly query: z.input<Routes[N]["query"]>;
  readonly body: z.input<Routes[N]["body"]>;
}

/** A request as the handler receives it: validated, with defaults. */
export interface CheckedRequest<N extends RouteName> {
  readonly params: z.output<Routes[N]["params"]>;
  readonly query: z.output<Routes[N]["query"]>;
  readonly body: z.output<Routes[N]["body"]>;
}

/** Makes a response deeply read-only: responses may hold the engine's own lists, which nobody may change. */
export type Immutable<T> = T extends readonly (infer Item)[]
  ? readonly Immutable<Item>[]
  : T extends object
    ? { readonly [K in keyof T]: Immutable<T[K]> }
    : T;

export type DataOf<N extends RouteName> = Immutable<z.output<Routes[N]["data"]>>;
