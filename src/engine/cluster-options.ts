import { hostname } from "node:os";
import type { Bus } from "../cluster/bus.ts";
import { type ClusterTimings, defaultTimings } from "../cluster/timings.ts";
import { EngineError } from "../base/error.ts";
import { shown } from "../base/shown.ts";

/** What makes an engine one of several on the same store. */
export interface ClusterOptions {
  /** Carries messages between members. Without one they find each other through the store alone, which is slower. */
  readonly bus?: Bus;
  /** How members and workers are called in histories and events. Default: host name and process id. */
  readonly name?: string;
  /** How many parts the instances are divided into. Fixed with the store's first member. Default 128. */
  readonly shards?: number;
  readonly timings?: Partial<ClusterTimings>;
  /**
   * Whether workers in processes of their own may connect. They outlive a member that dies, so slots of shared domains
   * are then kept for a while. Default false.
   */
  readonly remoteWorkers?: boolean;
}

export interface ResolvedClusterOptions {
  readonly bus: Bus | undefined;
  readonly name: string;
  readonly shards: number;
  readonly timings: ClusterTimings;
  readonly remoteWorkers: boolean;
}

const shardsMax = 8192;

/** `OPTION_INVALID` with the name of the setting. */
export function resolveClusterOptions(options: ClusterOptions): ResolvedClusterOptions {
  if (typeof options !== "object" || options === null) throw invalid("", `must be an object, got ${shown(options)}`);
  const resolved: ResolvedClusterOptions = {
    bus: options.bus,
    name: options.name ?? `${hostname()}:${process.pid}`,
    shards: options.shards ?? 128,
    timings: { ...defaultTimings, ...options.timings },
    remoteWorkers: options.remoteWorkers ?? false,
  };
  const { name, shards, timings } = resolved;
  if (name === "" || name.includes("/")) throw invalid("name", `must be a name without a slash, got ${shown(name)}`);
  if (!Number.isInteger(shards) || shards < 1 || shards > shardsMax) {
    throw invalid("shards", `must be a whole number from 1 to ${shardsMax}, got ${shown(shards)}`);
  }
  const wrong = Object.entries(timings).find(([, ms]) => !(ms > 0));
  if (wrong !== undefined) throw invalid(`timings.${wrong[0]}`, "must be a number of milliseconds above 0");
  if (timings.beatMs * 2 > timings.suspectMs) {
    throw invalid(
      "timings.beatMs",
      "must be at most half of timings.suspectMs, or members suspect each other for nothing",
    );
  }
  return resolved;
}

function invalid(name: string, problem: string): EngineError {
  return new EngineError("OPTION_INVALID", `engine option "cluster${name === "" ? "" : `.${name}`}" ${problem}`);
}
