import type { DataOf } from "../../api/routes.ts";
import type { MemberView } from "../../cluster/member-view.ts";
import type { WorkerView } from "../../engine/overview.ts";
import { ownVersion } from "../../engine/own-version.ts";
import { messageOf } from "../../base/error.ts";
import type { AnswerNotes, Handlers } from "../http/handler.ts";
import { done, type RouteParts } from "./route-parts.ts";
import { startJob } from "./start-instance.ts";

type ClusterRoutes = Pick<
  Handlers,
  | "getCluster"
  | "listWorkers"
  | "getClusterTopology"
  | "drain"
  | "countOwnTasks"
  | "listJobs"
  | "runJob"
  | "getExecutor"
  | "resizePool"
  | "listDomains"
  | "resizeDomain"
>;

export function clusterRoutes(parts: RouteParts): ClusterRoutes {
  const { engine } = parts;
  return {
    getCluster: ({ notes }) => clusterStatus(parts, notes),
    listWorkers: ({ notes }) => workersOf(parts, notes),
    getClusterTopology: ({ notes }) => topologyOf(parts, notes),
    drain: async ({ body }) => {
      await beginDraining(parts, body.worker);
      return done;
    },
    countOwnTasks: () => ({ count: engine.countTasks().running }),
    listJobs: async () => ({ items: await engine.listJobs() }),
    runJob: async (asked) => ({ instanceId: await startJob(parts, asked) }),
    getExecutor: () => {
      const { poolSize, workerSlots } = engine.executor;
      const { running: runningTasks, waiting: waitingTasks } = engine.countTasks();
      return { poolSize, workerSlots, runningTasks, waitingTasks };
    },
    resizePool: ({ body }) => {
      engine.executor.setPoolSize(body.poolSize);
      return done;
    },
    listDomains: async ({ notes }) => {
      const { domains, unanswered } = await engine.cluster.listDomains();
      notes.unanswered = unanswered;
      return { items: [...domains] };
    },
    resizeDomain: async ({ params, body }) => {
      const { size, priority } = body;
      await engine.executor.declareDomain(params.name, { size, ...(priority !== undefined && { priority }) });
      return done;
    },
  };
}

type ClusterParts = Pick<RouteParts, "engine" | "process">;

type Member = DataOf<"getCluster">["members"][number];

interface Members {
  readonly self: string;
  readonly leader: string | null;
  readonly members: readonly Member[];
}

/** The members; a single engine is the only one. */
function membersOf({ engine, process }: ClusterParts): Members {
  const views = engine.members();
  const [own] = engine.listWorkers();
  const self = views.find(({ isSelf }) => isSelf)?.id ?? own?.address ?? "";
  if (views.length === 0) {
    const roles = own?.isRemote === false ? ["server", "worker"] : ["server"];
    const alone = { address: self, status: process.health.status, roles, version: ownVersion(), isLeader: true };
    return { self, leader: self, members: [alone] };
  }
  const leader = views.find(({ isOldest }) => isOldest)?.id ?? null;
  const members = views.map((view) => {
    const { id, roles, version } = view;
    return { address: id, status: statusOf(view), roles: [...roles], version, isLeader: id === leader };
  });
  return { self, leader, members };
}

function statusOf({ isSuspected, isDraining }: MemberView): string {
  if (isSuspected) return "unreachable";
  return isDraining ? "draining" : "up";
}

async function clusterStatus(parts: ClusterParts, notes: AnswerNotes): Promise<DataOf<"getCluster">> {
  const { workers, unanswered } = await parts.engine.cluster.listWorkers();
  const { self, leader, members } = membersOf(parts);
  notes.unanswered = unanswered;
  return {
    selfAddress: self,
    leader,
    totalMembers: members.length,
    upMembers: members.filter(({ status }) => status === "up").length,
    workerCount: workers.length,
    members: [...members],
  };
}

async function workersOf(parts: ClusterParts, notes: AnswerNotes): Promise<DataOf<"listWorkers">> {
  const { workers, unanswered } = await parts.engine.cluster.listWorkers();
  const { leader } = membersOf(parts);
  notes.unanswered = unanswered;
  return workers.map((worker) => {
    const { address, member, runningTasks, slots, lastHeardAt = null, jobs, tags, workflows } = worker;
    const about = { address, status: workerStatus(worker), isLeader: address === leader, member };
    const work = { jobs: [...jobs], tags: [...tags], workflows: [...workflows] };
    return { ...about, runningTasks, slots, lastHeardAt, ...work };
  });
}

function workerStatus({ isReachable, isDraining }: WorkerView): string {
  if (!isReachable) return "unreachable";
  return isDraining ? "draining" : "up";
}

/** Every member knows every other; drawn are the links of the oldest, and those of remote workers to their members. */
async function topologyOf(parts: ClusterParts, notes: AnswerNotes): Promise<DataOf<"getClusterTopology">> {
  const { workers, unanswered } = await parts.engine.cluster.listWorkers();
  const { self, leader, members } = membersOf(parts);
  notes.unanswered = unanswered;
  const center = leader ?? self;
  const remote = workers.filter(({ isRemote }) => isRemote);
  const poolOf = (member: string) => workers.find(({ isRemote, address }) => !isRemote && address === member);
  return {
    leader,
    nodes: [
      ...members.map(({ address, status }) => {
        return { id: address, status, kind: "server" as const, runningTasks: poolOf(address)?.runningTasks ?? 0 };
      }),
      ...remote.map((worker) => {
        const { address: id, runningTasks } = worker;
        return { id, status: workerStatus(worker), kind: "worker" as const, runningTasks };
      }),
    ],
    links: [
      ...members.filter(({ address }) => address !== center).map(({ address }) => ({ from: center, to: address })),
      ...remote.map(({ address, member }) => ({ from: member, to: address })),
    ],
  };
}

/** Begins a drain and does not wait for its end, which may take hours. `WORKER_UNKNOWN`. */
async function beginDraining({ engine, process, logger }: RouteParts, address: string | undefined): Promise<void> {
  if (address !== undefined) return await engine.cluster.drain(address);
  process.drain().catch((error: unknown) => logger.debug({ error: messageOf(error) }, "draining failed"));
}
