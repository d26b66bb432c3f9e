import { messageOf } from "../base/error.ts";
import type { Dispatcher } from "../dispatch/dispatcher.ts";
import type { ClusterMember } from "../member/cluster-member.ts";
import type { LoneWorkers } from "../member/lone-workers.ts";
import type { Region } from "../runtime/region.ts";
import type { EngineState } from "./engine-state.ts";

/** Status of an engine, and the amount of work under way in its process. */
export interface Health {
  readonly status: "new" | "up" | "degraded" | "draining" | "stopped";
  /** The reason why no new work is taken. */
  readonly problem: string | undefined;
  readonly unfinishedInstances: number;
  readonly instancesInMemory: number;
  readonly quarantinedInstances: number;
  /** Ids of instances of all namespaces that have made no progress for the option `stuckMs`; outside `default` as `@namespace/id`. */
  readonly stuckInstances: readonly string[];
  /** Tasks that wait for anything but their predecessors, and instances that wait as a whole. */
  readonly waitingTasks: number;
  readonly runningTasks: number;
  /** Start time of the task that has run longest. */
  readonly oldestRunningAt: number | undefined;
  /** Messages to instances of this process that no turn has taken yet. */
  readonly unreadMessages: number;
  /** Reports of older attempts or ended instances, which were dropped. */
  readonly droppedReports: number;
  /** Workers of this process: its own pool, and the remote workers of all namespaces that are connected to it. */
  readonly workers: number;
  /** Messages of remote workers that broke the protocol; each closed the worker's connection. */
  readonly refusedWorkerMessages: number;
  /** The bus between members, and whether it is there; undefined without one. While it is away, members poll the store. */
  readonly bus: { readonly kind: string; readonly isConnected: boolean } | undefined;
}

export function viewHealth(parts: {
  readonly state: EngineState;
  readonly region: Region;
  readonly dispatcher: Dispatcher;
  readonly member: ClusterMember | undefined;
  readonly loneWorkers: LoneWorkers | undefined;
  readonly options: { readonly runsJobs: boolean };
}): Health {
  const { state, region, dispatcher, member, loneWorkers, options } = parts;
  const { unfinished, inMemory, quarantined, unread, droppedReports, stuck } = region.counts;
  const problem = state.whyDegraded ?? (state.isUp ? member?.problem : undefined);
  return {
    status: statusOf(state, problem, dispatcher),
    problem: problem === undefined ? undefined : messageOf(problem),
    unfinishedInstances: unfinished,
    instancesInMemory: inMemory,
    quarantinedInstances: quarantined,
    stuckInstances: stuck,
    // Reservations stand for tasks that wait on other members.
    waitingTasks:
      dispatcher.status.waitingCount + region.waitingCount - (member?.sharing.slots.queuedReservations ?? 0),
    runningTasks: dispatcher.status.runningCount,
    oldestRunningAt: dispatcher.status.oldestRunningAt,
    unreadMessages: unread,
    droppedReports: droppedReports + dispatcher.status.lateReports,
    workers: dispatcher.status.listConnected().length + (options.runsJobs ? 1 : 0),
    refusedWorkerMessages: (member?.refusedWorkerMessages ?? 0) + (loneWorkers?.refusedMessages ?? 0),
    bus: member?.bus,
  };
}

function statusOf(state: EngineState, problem: unknown, { isDraining }: Dispatcher): Health["status"] {
  if (!state.isUp) return state.stage === "new" ? "new" : "stopped";
  if (problem !== undefined) return "degraded";
  return isDraining ? "draining" : "up";
}
