import { hostname } from "node:os";
import { didYouMean } from "../base/closest-name.ts";
import type { Bus } from "../cluster/bus.ts";
import { type ClusterTimings, defaultTimings } from "../cluster/timings.ts";
import { EngineError } from "../base/error.ts";
import { preview } from "../base/preview.ts";
import type { ProcessTable } from "../cluster/process-table.ts";

/** Options of one of several engines on the same store. */
export interface ClusterOptions {
  /** Carries messages between members. Without one they find each other through the store alone, which is slower. */
  readonly bus?: Bus;
  /** Name of members and workers in histories and events. Default: host name and process id. */
  readonly name?: string;
  /** Number of shards that divide the instances. Fixed with the store's first member. Default 128. */
  readonly shards?: number;
  readonly timings?: Partial<ClusterTimings>;
  /**
   * True if workers in processes of their own may connect. They outlive a member that dies, so slots of shared domains
   * are then kept for a while. Default false.
   */
  readonly remoteWorkers?: boolean;
  /** The processes of this machine, for tests. Default: the system's, where members can be processes. */
  readonly processTable?: ProcessTable;
}

export interface ResolvedClusterOptions {
  readonly bus: Bus | undefined;
  readonly name: string;
  readonly shards: number;
  readonly timings: ClusterTimings;
  readonly remoteWorkers: boolean;
  readonly processTable: ProcessTable | undefined;
}

const shardsMax = 8192;

const names: Readonly<Record<keyof ClusterOptions, true>> = {
  bus: true,
  name: true,
  shards: true,
  timings: true,
  remoteWorkers: true,
  processTable: true,
};

/** `OPTION_INVALID` with the name of the setting. */
export function resolveClusterOptions(options: ClusterOptions): ResolvedClusterOptions {
  const { timings, ...given } = givenOf("cluster", options, names);
  const resolved: ResolvedClusterOptions = {
    bus: undefined,
    name: `${hostname()}:${process.pid}`,
    shards: 128,
    remoteWorkers: false,
    processTable: undefined,
    ...given,
    timings: { ...defaultTimings, ...givenOf("cluster.timings", timings ?? {}, defaultTimings) },
  };
  checkParts(resolved);
  checkTimings(resolved.timings);
  return resolved;
}

/** A misspelt setting would otherwise be a default in disguise; one that is there but undefined is not given. */
function givenOf<Settings extends object>(where: string, settings: Settings, known: object): Settings {
  if (typeof settings !== "object" || settings === null || Array.isArray(settings)) {
    throw invalid(where, `must be an object, got ${preview(settings)}`);
  }
  const unknown = Object.keys(settings).find((name) => !Object.hasOwn(known, name));
  if (unknown !== undefined) {
    throw invalid(`${where}.${unknown}`, `does not exist${didYouMean(unknown, Object.keys(known))}`);
  }
  return Object.fromEntries(Object.entries(settings).filter(([, value]) => value !== undefined)) as Settings;
}

function checkParts({ bus, name, shards, remoteWorkers, processTable }: ResolvedClusterOptions): void {
  if (bus !== undefined && typeof bus?.connect !== "function") {
    throw invalid("cluster.bus", `must be a bus, such as inProcessBus() makes, got ${preview(bus)}`);
  }
  if (typeof name !== "string" || name.trim() === "" || name.includes("/")) {
    throw invalid("cluster.name", `must be a name without a slash, got ${preview(name)}`);
  }
  if (!Number.isInteger(shards) || shards < 1 || shards > shardsMax) {
    throw invalid("cluster.shards", `must be a whole number from 1 to ${shardsMax}, got ${preview(shards)}`);
  }
  if (typeof remoteWorkers !== "boolean") {
    throw invalid("cluster.remoteWorkers", `must be true or false, got ${preview(remoteWorkers)}`);
  }
  if (processTable !== undefined && typeof processTable?.probe !== "function") {
    throw invalid("cluster.processTable", `must be a process table, got ${preview(processTable)}`);
  }
}

function checkTimings(timings: ClusterTimings): void {
  for (const [name, ms] of Object.entries(timings) as [string, unknown][]) {
    if (typeof ms === "number" && ms > 0 && ms < Infinity) continue;
    throw invalid(`cluster.timings.${name}`, `must be a number of milliseconds above 0, got ${preview(ms)}`);
  }
  if (timings.beatMs * 2 > timings.suspectMs) {
    throw invalid(
      "cluster.timings.beatMs",
      "must be at most half of timings.suspectMs, or members suspect each other for nothing",
    );
  }
  if (timings.workerBeatMs * 2 > timings.workerLostMs) {
    throw invalid(
      "cluster.timings.workerBeatMs",
      "must be at most half of timings.workerLostMs, or attempts are taken for lost that run",
    );
  }
}

function invalid(name: string, problem: string): EngineError {
  return new EngineError("OPTION_INVALID", `engine option "${name}" ${problem}`);
}
