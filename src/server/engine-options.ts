import { EngineError } from "../base/error.ts";
import type { Bus } from "../cluster/bus.ts";
import type { ClusterTimings, WorkerTimings } from "../cluster/timings.ts";
import type { EngineOptions } from "../engine/options.ts";
import type { Store } from "../stores/store.ts";
import type { ServerConfig } from "./config/server-config.ts";

const dayMs = 86_400_000;

/** Upper limit of the pool size. */
const poolSizeMax = 10_000;

/** Without a bus, a call to another member takes two polls of mailboxes. */
const ownTimings = { pollWithoutBusMs: 100 };

/** The engine's options from the configuration. */
export function engineOptionsOf(config: ServerConfig, store: Store, bus?: Bus): Omit<EngineOptions, "storage"> {
  const { Success, Failed, Terminated } = config.retentionDays;
  const { enabled, name, shards, remoteWorkers } = config.cluster;
  const timings = { ...ownTimings, ...config.cluster.timings } as Partial<ClusterTimings>;
  const isMember = enabled || store.clusters === "always";
  const chosen = busOf(config, { isMember, bus });
  const ownsShards = config.roles.includes("server");
  if (!isMember && !ownsShards) {
    throw new EngineError(
      "OPTION_INVALID",
      'the setting "roles" without server needs a cluster: nobody else owns instances',
    );
  }
  return {
    poolSize: config.poolSize,
    workerTags: config.workerTags,
    poolSizeMax,
    maxConcurrentTasks: config.maxConcurrentTasks,
    maxConcurrentActivities: config.maxConcurrentActivities,
    ...(config.defaultTimeoutSeconds !== undefined && { defaultTimeoutSeconds: config.defaultTimeoutSeconds }),
    maxSubTasks: config.maxSubTasks,
    maxSteps: config.maxSteps,
    maxInterruptions: config.maxInterruptions,
    idleMs: config.idleSeconds * 1000,
    idleMax: config.idleMax,
    stuckMs: config.stuckSeconds * 1000,
    domains: config.domains as NonNullable<EngineOptions["domains"]>,
    retentionMs: { Success: Success * dayMs, Failed: Failed * dayMs, Terminated: Terminated * dayMs },
    remoteWorkers: remoteWorkers && workerTimingsOf(config),
    ...(isMember && {
      cluster: {
        shards,
        ownsShards,
        timings,
        ...(name !== undefined && { name }),
        ...(chosen !== undefined && { bus: chosen }),
      },
    }),
  };
}

/** A server alone has no other timings than these two. */
function workerTimingsOf({ cluster }: ServerConfig): Partial<WorkerTimings> {
  const { workerBeatMs, workerLostMs } = (cluster.timings ?? {}) as Partial<ClusterTimings>;
  return { ...(workerBeatMs !== undefined && { workerBeatMs }), ...(workerLostMs !== undefined && { workerLostMs }) };
}

/** The setting chooses, except that only the program can make a bus of an address. `OPTION_INVALID`. */
function busOf(
  { cluster }: ServerConfig,
  given: { isMember: boolean; bus: Bus | undefined },
): Bus | "notify" | "poll" | undefined {
  const { bus } = cluster;
  if (!given.isMember) {
    if (bus === undefined || bus === "poll") return undefined;
    throw new EngineError(
      "OPTION_INVALID",
      "cluster.bus connects the members of a cluster, and this server is alone: set cluster.enabled, use a database server as storage, or leave cluster.bus out",
    );
  }
  if (bus === undefined || bus === "notify" || bus === "poll") return given.bus ?? bus;
  if (given.bus !== undefined) return given.bus;
  throw new EngineError(
    "OPTION_INVALID",
    'cluster.bus is the address of a NATS server: give Server.start the part bus: nats(config.cluster.bus, config.cluster.nats), with nats of "heddle/nats"',
  );
}
