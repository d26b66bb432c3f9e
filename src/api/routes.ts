import { z } from "zod";
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

/** Most operations look at something, and take nothing but their path. */
function look<Data extends z.ZodType>(summary: string, data: Data) {
  return { summary, role: "viewer" as Role, params: nothing, query: nothing, body: nothing, data };
}

/** Something is done to it. */
function act(summary: string) {
  return { ...look(summary, done), role: "operator" as Role, params: ofId };
}

/** What goes into each operation, what comes out, and who may ask for it. The server, its document and the client are made of this. */
export const routes = {
  listWorkflows: {
    ...look("The workflows that can be started here.", page(workflow.workflowSummary)),
    query: paging.extend({ search: z.string().max(200).optional() }),
  },
  createWorkflow: {
    ...look("Saves a workflow under a new name.", workflow.savedWorkflow),
    role: "operator",
    body: workflow.newWorkflow,
    status: 201,
    isCreate: true,
  },
  getWorkflow: { ...look("One workflow, with its points and lines.", workflow.workflowDetail), params: ofId },
  updateWorkflow: { ...act("Saves a new version."), body: workflow.changedWorkflow, data: workflow.savedWorkflow },
  deleteWorkflow: act("Takes it out of the catalogue, with its schedule; its instances stay."),
  scheduleWorkflow: { ...act("When it starts by itself."), body: workflow.workflowSchedule },
  triggerWorkflow: {
    ...act("Starts an instance; the body is what it begins with."),
    query: workflow.startQuery,
    body: workflow.startRequest,
    data: workflow.started,
    status: 201,
    isCreate: true,
  },
  listWorkflowVersions: {
    ...look("Its saves, newest first.", page(workflow.workflowVersion)),
    params: ofId,
    query: paging,
  },
  diffWorkflow: {
    ...look("What changed between two versions.", workflow.workflowDiff),
    params: ofId,
    query: z.object({ from: z.string().max(200), to: z.string().max(200).optional() }),
  },
  rollBackWorkflow: {
    ...act("Makes an earlier version the current one again, as a new save."),
    body: z.object({ version: z.string().max(200) }),
    data: workflow.savedWorkflow,
  },

  monitorInstance: {
    ...look("How an instance stands, node by node.", monitor.monitoredInstance),
    params: monitor.ofInstance,
  },
  monitorTopology: { ...look("An instance as points and lines.", monitor.topology), params: monitor.ofInstance },
  listWaitingNodes: {
    ...look("Nodes that wait for anything but their predecessors, and why.", monitor.queue),
    query: monitor.queueQuery,
  },
  listRunningNodes: { ...look("Nodes that run.", monitor.queue), query: monitor.queueQuery },
  listStuckInstances: {
    ...look("Instances that have something under way and make no progress.", monitor.stuckInstances),
    query: monitor.stuckQuery,
  },

  listInstances: {
    ...look("Instances, newest first.", page(instance.instanceSummary)),
    query: instance.instanceFilter,
  },
  getInstance: { ...look("How an instance stands.", instance.instanceView), params: ofId },
  deleteInstance: act("Removes every trace of an ended instance and of its children."),
  getResult: {
    ...look("What an instance gave, once it has ended.", instance.result),
    params: ofId,
    query: instance.resultQuery,
  },
  getHistory: { ...look("Its turns, oldest first.", instance.history), params: ofId, query: instance.historyQuery },
  getBreakpoint: {
    ...look("Where it stands: done, running, the DAG, the context.", instance.breakpoint),
    params: ofId,
  },
  getContext: { ...look("Its context.", instance.context), params: ofId },
  patchContext: { ...act("Changes its context."), body: instance.contextPatch },
  getLogs: { ...look("What its tasks logged.", page(instance.logLine)), params: ofId, query: instance.logQuery },
  pauseInstance: act("Starts nothing new; what runs finishes."),
  resumeInstance: act("Goes on."),
  terminateInstance: { ...act("Ends it now."), body: instance.reason },
  cancelInstance: { ...act("Asks a code workflow to end in its own way; ends a DAG."), body: instance.reason },
  retryInstance: act("Runs again what failed."),
  rerunInstance: { ...act("Runs again from one task on."), body: instance.rerun },
  forkInstance: {
    ...act("Starts another instance of a code workflow that has what this one did before a step."),
    body: instance.fork,
    data: workflow.started,
    status: 201,
    isCreate: true,
  },
  raiseEvent: { ...act("Raises an event; the body is its data."), params: instance.ofNamed, body: json },
  queryInstance: {
    ...look("Asks the code; the body is the question's input.", json),
    params: instance.ofNamed,
    body: json,
  },
  updateInstance: {
    ...act("Has the code do something, and gives back its answer."),
    params: instance.ofNamed,
    body: json,
    data: json,
  },
  getNode: { ...look("How one task stands.", instance.taskDetails), params: instance.ofNode },
  stopNode: {
    ...act("Stops one task that has not ended; it counts as failed."),
    params: instance.ofNode,
    body: instance.reason,
  },
  retryNode: { ...act("Runs a task again, and what comes after it."), params: instance.ofNode },
  skipNode: { ...act("Passes over a failed task."), params: instance.ofNode },
  succeedNode: { ...act("Takes a failed task for done."), params: instance.ofNode, body: instance.nodeOutput },
  changeNodeParams: {
    ...act("Changes the parameters of a task that has not started."),
    params: instance.ofNode,
    body: instance.nodeParams,
  },

  getCluster: look("The members.", cluster.clusterStatus),
  listWorkers: look("The workers.", z.object({ items: z.array(cluster.worker) })),
  getClusterTopology: look("Members and workers as a graph.", cluster.clusterTopology),
  drain: { ...look("Takes nothing new, finishes what runs.", done), role: "admin", body: cluster.drainRequest },
  countOwnTasks: look("How many tasks run on this member.", cluster.taskCount),

  listJobs: look("The jobs that are known.", z.object({ items: z.array(cluster.job) })),
  runJob: {
    ...act("Runs a job by itself, as an instance of one task; the body is its parameters."),
    params: cluster.ofName,
    query: cluster.jobRunQuery,
    body: json,
    data: workflow.started,
    status: 201,
    isCreate: true,
  },
  getExecutor: look("The pool of the member that answers.", cluster.executor),
  resizePool: {
    ...look("Changes how many tasks run at once in the member that answers, until it stops.", done),
    role: "operator",
    body: cluster.poolSize,
  },
  listDomains: look("Parts of the pool, and how busy they are.", z.object({ items: z.array(cluster.domain) })),
  resizeDomain: {
    ...look("Declares a domain, or changes how many of its tasks run at once.", done),
    role: "operator",
    params: cluster.ofNewName,
    body: cluster.domainSize,
  },

  listSchedules: look("The schedules.", z.object({ items: z.array(schedule.scheduleView) })),
  createSchedule: {
    ...look("Makes a schedule.", z.object({ scheduleId: z.string() })),
    role: "operator",
    body: schedule.newSchedule,
    status: 201,
    isCreate: true,
  },
  previewSchedule: { ...look("When a schedule would be due.", schedule.fireTimes), body: schedule.previewRequest },
  getSchedule: { ...look("One schedule, with its next times.", schedule.scheduleView), params: ofId },
  changeSchedule: { ...act("Changes a schedule from now on."), body: schedule.scheduleSpec },
  deleteSchedule: act("Deletes a schedule; what runs goes on."),
  pauseSchedule: act("Nothing is due until it is resumed."),
  resumeSchedule: act("Goes on from now."),
  triggerSchedule: { ...act("Starts a run now."), data: workflow.started, status: 201, isCreate: true },
  backfillSchedule: {
    ...act("Runs what was due in a range of time."),
    body: schedule.backfillRequest,
    data: schedule.backfilled,
  },

  listAudit: {
    ...look("Who changed what, newest first.", page(security.auditLine)),
    role: "admin",
    query: security.auditQuery,
  },
  listTokens: {
    ...look("The tokens, without their secrets.", z.object({ items: z.array(security.tokenView) })),
    role: "admin",
  },
  createToken: {
    ...look("Makes a token.", security.madeToken),
    role: "admin",
    body: security.newToken,
    status: 201,
    isCreate: true,
  },
  deleteToken: {
    ...look("The token is no longer let in.", done),
    role: "admin",
    params: cluster.ofName,
    query: security.tokenDeletion,
  },
} as const satisfies Record<RouteName, Route>;

export type Routes = typeof routes;

/** What a caller gives: the path's parts, the query, the body. Before defaults are filled in. */
export interface RequestOf<N extends RouteName> {
  readonly params: z.input<Routes[N]["params"]>;
  readonly query: z.input<Routes[N]["query"]>;
  readonly body: z.input<Routes[N]["body"]>;
}

/** What a handler gets: checked, with defaults. */
export interface CheckedRequest<N extends RouteName> {
  readonly params: z.output<Routes[N]["params"]>;
  readonly query: z.output<Routes[N]["query"]>;
  readonly body: z.output<Routes[N]["body"]>;
}

/** Nobody changes what was asked for: neither the engine's own lists on their way out, nor an answer. */
type Immutable<T> = T extends readonly (infer Item)[]
  ? readonly Immutable<Item>[]
  : T extends object
    ? { readonly [K in keyof T]: Immutable<T[K]> }
    : T;

export type DataOf<N extends RouteName> = Immutable<z.output<Routes[N]["data"]>>;
