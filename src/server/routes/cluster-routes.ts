import type { DataOf } from "../../api/routes.ts";
import type { Engine } from "../../engine/engine.ts";
import type { MemberView } from "../../cluster/member-view.ts";
import type { WorkerView } from "../../engine/overview.ts";
import { messageOf } from "../../base/error.ts";
import type { Handlers } from "../http/handler.ts";
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
    getCluster: () => clusterStatus(engine),
    listWorkers: () => ({ items: workersOf(engine) }),
    getClusterTopology: () => topologyOf(engine),
    drain: async ({ body }) => {
      await beginDraining(parts, body.worker);
      return done;
    },
    countOwnTasks: () => ({ count: engine.health.runningTasks }),
    listJobs: async () => ({ items: await engine.listJobs() }),
    runJob: async (asked) => ({ instanceId: await startJob(parts, asked) }),
    getExecutor: () => {
      const { poolSize, workerSlots } = engine.executor;
      const { runningTasks, waitingTasks } = engine.health;
      return { poolSize, workerSlots, runningTasks, waitingTasks };
    },
    resizePool: ({ body }) => {
      engine.executor.setPoolSize(body.poolSize);
      return done;
    },
    listDomains: () => ({ items: engine.listDomains() }),
    resizeDomain: async ({ params, body }) => {
      const { size, priority } = body;
      await engine.executor.declareDomain(params.name, { size, ...(priority !== undefined && { priority }) });
      return done;
    },
  };
}

type Member = DataOf<"getCluster">["members"][number];

interface Members {
  readonly self: string;
  readonly leader: string | null;
  readonly members: readonly Member[];
}

/** The members; a single engine is the only one. */
function membersOf(engine: Engine): Members {
  const views = engine.members();
  const [own] = engine.listWorkers();
  const self = views.find(({ isSelf }) => isSelf)?.id ?? own?.address ?? "";
  if (views.length === 0) {
    const roles = own?.isRemote === false ? ["server", "worker"] : ["server"];
    return { self, leader: self, members: [{ address: self, status: engine.health.status, roles, isLeader: true }] };
  }
  const leader = views.find(({ isOldest }) => isOldest)?.id ?? null;
  const members = views.map((view) => {
    return { address: view.id, status: statusOf(view), roles: [...view.roles], isLeader: view.id === leader };
  });
  return { self, leader, members };
}

function statusOf({ isSuspected, isDraining }: MemberView): string {
  if (isSuspected) return "unreachable";
  return isDraining ? "draining" : "up";
}

function clusterStatus(engine: Engine): DataOf<"getCluster"> {
  const { self, leader, members } = membersOf(engine);
  return {
    selfAddress: self,
    leader,
    totalMembers: members.length,
    upMembers: members.filter(({ status }) => status === "up").length,
    workerCount: engine.listWorkers().length,
    members,
  };
}

function workersOf(engine: Engine): DataOf<"listWorkers">["items"] {
  const { leader } = membersOf(engine);
  return engine.listWorkers().map((worker) => {
    const { address, runningTasks, slots, lastHeardAt = null, jobs } = worker;
    const status = workerStatus(worker);
    return { address, status, isLeader: address === leader, runningTasks, slots, lastHeardAt, jobs: [...jobs] };
  });
}

function workerStatus({ isReachable, isDraining }: WorkerView): string {
  if (!isReachable) return "unreachable";
  return isDraining ? "draining" : "up";
}

/** Members are connected with each other, remote workers with one member. */
function topologyOf(engine: Engine): DataOf<"getClusterTopology"> {
  const { self, leader, members } = membersOf(engine);
  const remote = engine.listWorkers().filter(({ isRemote }) => isRemote);
  const own = engine.health.runningTasks - remote.reduce((sum, { runningTasks }) => sum + runningTasks, 0);
  return {
    leader,
    nodes: [
      ...members.map(({ address, status }) => {
        return { id: address, status, kind: "server" as const, runningTasks: address === self ? own : 0 };
      }),
      ...remote.map((worker) => {
        const { address: id, runningTasks } = worker;
        return { id, status: workerStatus(worker), kind: "worker" as const, runningTasks };
      }),
    ],
    links: [
      ...members.filter(({ address }) => address !== self).map(({ address }) => ({ from: self, to: address })),
      ...remote.map(({ address }) => ({ from: self, to: address })),
    ],
  };
}

/** Begins a drain and does not wait for its end, which may take hours. `WORKER_UNKNOWN`. */
async function beginDraining({ engine, logger }: RouteParts, worker: string | undefined): Promise<void> {
  const drained = engine.drain(worker);
  // A refusal rejects at once; later errors are only logged.
  drained.catch((error: unknown) => logger.debug({ worker, error: messageOf(error) }, "draining failed"));
  await Promise.race([drained, new Promise((resolve) => setImmediate(resolve))]);
}
