import type { ClusterTimings } from "../cluster/timings.ts";
import type { EngineOptions } from "../engine/options.ts";
import type { Store } from "../stores/store.ts";
import type { ServerConfig } from "./config/server-config.ts";

const dayMs = 86_400_000;

/** Upper limit of the pool size. */
const poolSizeMax = 10_000;

/** Servers have no bus: a call to another member takes two polls of mailboxes. */
const ownTimings = { pollWithoutBusMs: 100 };

/** The engine's options from the configuration. */
export function engineOptionsOf(config: ServerConfig, store: Store): Omit<EngineOptions, "storage"> {
  const { Success, Failed, Terminated } = config.retentionDays;
  const { enabled, name, shards, remoteWorkers } = config.cluster;
  const timings = { ...ownTimings, ...config.cluster.timings } as Partial<ClusterTimings>;
  const isMember = enabled || store.clusters === "always";
  return {
    poolSize: config.poolSize,
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
    ...(isMember && { cluster: { shards, remoteWorkers, timings, ...(name !== undefined && { name }) } }),
  };
}
