import type { DataOf } from "../../../src/api/routes.ts";

/** The shapes of the interface that the console shows, by the names the screens use. */
export type InstanceView = DataOf<"getInstance">;
export type TaskView = InstanceView["tasks"][number];
export type InstanceSummary = DataOf<"listInstances">["items"][number];
export type Topology = DataOf<"monitorTopology">;
export type HistoryTurn = DataOf<"getHistory">["items"][number];
export type LogLine = DataOf<"getLogs">["items"][number];
export type QueuedNode = DataOf<"listWaitingNodes">[number];
export type WorkflowSummary = DataOf<"listWorkflows">["items"][number];
export type WorkflowDetail = DataOf<"getWorkflow">;
export type ScheduleView = DataOf<"listSchedules">["items"][number];
export type DomainView = DataOf<"listDomains">["items"][number];
export type WorkerView = DataOf<"listWorkers">[number];
export type JobView = DataOf<"listJobs">["items"][number];
