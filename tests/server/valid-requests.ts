import type { RouteName } from "../../src/api/paths.ts";
import type { Sent } from "./rig.ts";
import { twoNodes } from "./sample-app.ts";

/** What the requests are about. */
export interface Subjects {
  readonly instance: string;
  readonly workflow: string;
  readonly schedule: string;
  readonly token: string;
  /** Makes the names of new things new ones. */
  readonly serial?: number;
}

const dayMs = 86_400_000;

/** A request of every operation that fits its contract; whether it is possible depends on what there is. */
export function validRequests({
  instance,
  workflow,
  schedule,
  token,
  serial,
}: Subjects): Readonly<Record<RouteName, Sent>> {
  const fresh = serial === undefined ? "new" : `new-${serial}`;
  const ofInstance = { params: { id: instance } };
  const ofNode = { params: { id: instance, nodeId: "1" } };
  const ofWorkflow = { params: { id: workflow } };
  const ofSchedule = { params: { id: schedule } };
  const every = { cron: "0 0 3 * * ?", timeZone: "UTC" };
  return {
    listWorkflows: {},
    createWorkflow: { body: { name: `${workflow}-${fresh}`, dagSpec: twoNodes } },
    checkWorkflow: { body: { name: workflow, dagSpec: twoNodes } },
    getWorkflow: ofWorkflow,
    updateWorkflow: { ...ofWorkflow, body: { dagSpec: twoNodes } },
    deleteWorkflow: ofWorkflow,
    scheduleWorkflow: { ...ofWorkflow, body: { enable: true, cronExpr: "0 0 3 * * ?" } },
    triggerWorkflow: { ...ofWorkflow, body: {} },
    listWorkflowVersions: ofWorkflow,
    diffWorkflow: { ...ofWorkflow, query: { from: "1" } },
    rollBackWorkflow: { ...ofWorkflow, body: { version: "1" } },
    monitorInstance: { params: { instanceId: instance } },
    monitorTopology: { params: { instanceId: instance } },
    countQueuedNodes: {},
    listWaitingNodes: {},
    listRunningNodes: {},
    listStuckInstances: { query: { minutes: 30 } },
    getStats: { query: { hours: 1, buckets: 4 } },
    listInstances: {},
    countBulk: { body: { operation: "pause", filter: { idPrefix: "nobody" } } },
    bulkInstances: { body: { operation: "pause", filter: { idPrefix: "nobody" } } },
    getInstance: ofInstance,
    deleteInstance: ofInstance,
    getResult: { ...ofInstance, query: { waitMs: 100 } },
    getHistory: ofInstance,
    listAttempts: ofInstance,
    getBreakpoint: ofInstance,
    getContext: ofInstance,
    patchContext: { ...ofInstance, body: { note: "changed" } },
    getLogs: ofInstance,
    pauseInstance: ofInstance,
    resumeInstance: ofInstance,
    terminateInstance: { ...ofInstance, body: { reason: "enough" } },
    cancelInstance: { ...ofInstance, body: { reason: "enough" } },
    retryInstance: ofInstance,
    rerunInstance: { ...ofInstance, body: { task: "greet" } },
    forkInstance: { ...ofInstance, body: {} },
    raiseEvent: { params: { id: instance, name: "go" }, body: 1 },
    queryInstance: { params: { id: instance, name: "words" }, body: null },
    updateInstance: { params: { id: instance, name: "add" }, body: 1 },
    getNode: ofNode,
    listMapItems: { ...ofNode, query: { status: "Failed", ...page } },
    completeTask: { params: { token: "hct_none" }, body: { output: 1 } },
    failTask: { params: { token: "hct_none" }, body: { message: "declined", type: "Declined", retryable: false } },
    stopNode: { ...ofNode, body: { reason: "enough" } },
    retryNode: ofNode,
    skipNode: ofNode,
    succeedNode: { ...ofNode, body: { output: 1 } },
    changeNodeParams: { ...ofNode, body: { params: "x" } },
    getCluster: {},
    listWorkers: {},
    getClusterTopology: {},
    drain: { body: { worker: "nobody" } },
    countOwnTasks: {},
    listJobs: {},
    runJob: { params: { name: "say" }, body: "hi" },
    getExecutor: {},
    resizePool: { body: { poolSize: 8 } },
    listDomains: {},
    resizeDomain: { params: { name: "default" }, body: { size: 5 } },
    listSchedules: {},
    createSchedule: { body: { scheduleId: `${schedule}-${fresh}`, workflow, every } },
    previewSchedule: { body: { every } },
    getSchedule: ofSchedule,
    changeSchedule: { ...ofSchedule, body: { workflow, every } },
    deleteSchedule: ofSchedule,
    pauseSchedule: ofSchedule,
    resumeSchedule: ofSchedule,
    triggerSchedule: ofSchedule,
    backfillSchedule: { ...ofSchedule, body: { from: Date.now() - 3 * dayMs, to: Date.now(), parallelism: 1 } },
    listNamespaces: {},
    listAudit: {},
    listTokens: {},
    createToken: { body: { name: `${token}-${fresh}`, role: "viewer" } },
    deleteToken: { params: { name: token } },
  };
}

const page = { cursor: "x", limit: 5 };
const times = { startAt: 1_000, endAt: 8 * dayMs };
const scheduleFields = { timeZone: "Europe/Berlin", overlap: "skip", misfire: "once" };
const scheduleSpec = {
  ...times,
  input: 1,
  job: "say",
  params: "hi",
  whenBusy: "skip",
  whenMissed: "once",
  jitterMs: 10,
  retryCount: 1,
  retryPolicy: { initialMs: 1 },
};

/** What else an operation takes, beside its valid request. */
export const optionalFields: { readonly [K in RouteName]?: Pick<Sent, "query"> & { readonly body?: object } } = {
  listWorkflows: { query: { ...page, search: "t" } },
  createWorkflow: { body: { ...scheduleFields, cronExpr: "0 0 3 * * ?", enableSchedule: true } },
  updateWorkflow: { body: { ...scheduleFields, cronExpr: "0 0 3 * * ?", enableSchedule: true, ifVersion: "1" } },
  scheduleWorkflow: { body: scheduleFields },
  triggerWorkflow: { query: { instanceId: "own", maxConcurrentTasks: 2, app: "shop" } },
  listWorkflowVersions: { query: page },
  diffWorkflow: { query: { to: "2" } },
  getStats: { query: { hours: 24, buckets: 10, workflow: "two" } },
  listWaitingNodes: { query: page },
  listRunningNodes: { query: page },
  listInstances: {
    query: {
      ...page,
      status: "Running",
      workflow: "two",
      idPrefix: "a",
      app: "shop",
      createdFrom: 0,
      createdTo: 1_000,
      waits: true,
    },
  },
  bulkInstances: { body: { reason: "inventory", ...page } },
  getResult: { query: { task: "greet" } },
  getHistory: { query: { afterTurn: 1, limit: 5 } },
  getLogs: { query: { after: "1", last: 5, task: "greet", level: "info", search: "hi", limit: 5 } },
  pauseInstance: { body: { reason: "inventory" } },
  rerunInstance: { body: { params: "x" } },
  forkInstance: { body: { task: 0, instanceId: "forked", input: 1 } },
  runJob: { query: { instanceId: "own-job", app: "shop" } },
  resizeDomain: { body: { priority: 1 } },
  createSchedule: { body: scheduleSpec },
  changeSchedule: { body: scheduleSpec },
  previewSchedule: { body: { ...times, from: 1_000, count: 5 } },
  listAudit: { query: { ...page, who: "root", operation: "createToken", target: "own", since: 0 } },
  createToken: { body: { expiresAt: 9_000_000_000_000, namespace: "acme" } },
  deleteToken: { query: { force: true } },
};
