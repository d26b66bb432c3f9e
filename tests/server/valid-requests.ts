import type { RouteName } from "../../src/api/paths.ts";
import type { Sent } from "./rig.ts";
import { twoNodes } from "./sample-app.ts";

/** What the requests are about. */
export interface Subjects {
  readonly instance: string;
  readonly workflow: string;
  readonly schedule: string;
  readonly token: string;
}

/** A request of every operation that fits its contract; whether it is possible depends on what there is. */
export function validRequests({ instance, workflow, schedule, token }: Subjects): Readonly<Record<RouteName, Sent>> {
  const ofInstance = { params: { id: instance } };
  const ofNode = { params: { id: instance, nodeId: "1" } };
  const ofWorkflow = { params: { id: workflow } };
  const ofSchedule = { params: { id: schedule } };
  const every = { cron: "0 0 3 * * ?", timeZone: "UTC" };
  return {
    listWorkflows: {},
    createWorkflow: { body: { name: `${workflow}-new`, dagSpec: twoNodes } },
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
    listWaitingNodes: {},
    listRunningNodes: {},
    listStuckInstances: { query: { minutes: 30 } },
    listInstances: {},
    getInstance: ofInstance,
    deleteInstance: ofInstance,
    getResult: { ...ofInstance, query: { waitMs: 100 } },
    getHistory: ofInstance,
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
    createSchedule: { body: { scheduleId: `${schedule}-new`, workflow, every } },
    previewSchedule: { body: { every } },
    getSchedule: ofSchedule,
    changeSchedule: { ...ofSchedule, body: { workflow, every } },
    deleteSchedule: ofSchedule,
    pauseSchedule: ofSchedule,
    resumeSchedule: ofSchedule,
    triggerSchedule: ofSchedule,
    backfillSchedule: { ...ofSchedule, body: { from: 0, to: 1, parallelism: 1 } },
    listAudit: {},
    listTokens: {},
    createToken: { body: { name: `${token}-new`, role: "viewer" } },
    deleteToken: { params: { name: token } },
  };
}
