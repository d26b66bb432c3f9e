import { hostname } from "node:os";
import { didYouMean } from "../base/closest-name.ts";
import type { Bus } from "../cluster/bus.ts";
import { type ClusterTimings, defaultTimings, type WorkerTimings } from "../cluster/timings.ts";
import { EngineError } from "../base/error.ts";
import { preview } from "../base/preview.ts";
import type { ProcessTable } from "../cluster/process-table.ts";
import type { LeaseThread } from "../cluster/shared-lease.ts";
import { NotifyBus } from "../cluster/notify/notify-bus.ts";
import type { Store } from "../stores/store.ts";

/** Options of one of several engines on the same store. */
export interface ClusterOptions {
  /**
   * Carries messages between members: `nats(url)` from `heddle/nats`, or `inProcessBus()`. `notify` is LISTEN and NOTIFY of a
   * PostgreSQL store, `poll` is no bus: members then look into the store every half second. Default: `notify` where the
   * store has it, otherwise `poll`.
   */
  readonly bus?: Bus | "notify" | "poll";
  /** Name of members and workers in histories and events. Default: host name and process id. */
  readonly name?: string;
  /** Number of shards that divide the instances. Fixed with the store's first member. Default 128. */
  readonly shards?: number;
  /** True if instances may live on this member. Default true; if false, it only runs tasks of other members. */
  readonly ownsShards?: boolean;
  readonly timings?: Partial<ClusterTimings>;
  /** The processes of this machine, for tests. Default: the system's, where members can be processes. */
  readonly processTable?: ProcessTable;
  /** The lease thread, which renews the lease while the event loop is blocked; replaced by tests. Default: the thread of the option `watchdog`. */
  readonly leaseThread?: LeaseThread;
}

export interface ResolvedClusterOptions {
  readonly bus: Bus | undefined;
  readonly name: string;
  readonly shards: number;
  readonly ownsShards: boolean;
  readonly timings: ClusterTimings;
  /** Workers outlive a member that dies, so slots of shared domains are then kept for a while. */
  readonly remoteWorkers: boolean;
  readonly processTable: ProcessTable | undefined;
  readonly leaseThread: LeaseThread | undefined;
}

const shardsMax = 8192;

const names: Readonly<Record<keyof ClusterOptions, true>> = {
  bus: true,
  name: true,
  shards: true,
  ownsShards: true,
  timings: true,
  processTable: true,
  leaseThread: true,
};

/** `OPTION_INVALID` with the name of the setting. */
export function resolveClusterOptions(
  options: ClusterOptions,
  store?: Pick<Store, "openNotifier">,
  remoteWorkers: boolean | Partial<WorkerTimings> = false,
): ResolvedClusterOptions {
  const { timings, bus, ...given } = givenOf("cluster", options, names);
  const resolved: ResolvedClusterOptions = {
    bus: busOf(bus, store),
    name: `${hostname()}:${process.pid}`,
    shards: 128,
    ownsShards: true,
    remoteWorkers: remoteWorkers !== false,
    processTable: undefined,
    leaseThread: undefined,
    ...given,
    timings: {
      ...defaultTimings,
      ...givenOf("cluster.timings", timings ?? {}, defaultTimings),
      ...resolveGivenWorkers(remoteWorkers),
    },
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

function busOf(bus: ClusterOptions["bus"], store: Pick<Store, "openNotifier"> | undefined): Bus | undefined {
  if (bus === "poll") return undefined;
  if (bus === undefined || bus === "notify") {
    const openNotifier = store?.openNotifier?.bind(store);
    if (openNotifier !== undefined) return new NotifyBus(openNotifier);
    if (bus === undefined) return undefined;
    throw invalid(
      "cluster.bus",
      'cannot be "notify" on this store: only PostgreSQL notifies; use nats(url) from heddle/nats, or "poll"',
    );
  }
  if (typeof bus === "string" && /^(nats|tls):/.test(bus)) {
    throw invalid("cluster.bus", 'takes an address as nats("nats://…"), with nats from "heddle/nats"');
  }
  if (typeof bus?.connect !== "function") {
    throw invalid(
      "cluster.bus",
      `must be nats(url) of heddle/nats, inProcessBus(), "notify" or "poll", got ${preview(bus)}`,
    );
  }
  return bus;
}

function checkParts({ name, shards, ownsShards, processTable }: ResolvedClusterOptions): void {
  if (typeof name !== "string" || name.trim() === "" || name.includes("/")) {
    throw invalid("cluster.name", `must be a name without a slash, got ${preview(name)}`);
  }
  if (!Number.isInteger(shards) || shards < 1 || shards > shardsMax) {
    throw invalid("cluster.shards", `must be a whole number from 1 to ${shardsMax}, got ${preview(shards)}`);
  }
  if (typeof ownsShards !== "boolean")
    throw invalid("cluster.ownsShards", `must be true or false, got ${preview(ownsShards)}`);
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
  checkWorkerTimings("cluster.timings", timings);
}

/** The timings of workers that connect to an engine alone; undefined if none may. `OPTION_INVALID`. */
export function resolveLoneWorkers(given: boolean | Partial<WorkerTimings>): WorkerTimings | undefined {
  if (given === false) return undefined;
  const { workerBeatMs, workerLostMs } = defaultTimings;
  const timings = { workerBeatMs, workerLostMs, ...resolveGivenWorkers(given) };
  checkWorkerTimings("remoteWorkers", timings);
  return timings;
}

function resolveGivenWorkers(given: boolean | Partial<WorkerTimings>): Partial<WorkerTimings> {
  if (typeof given === "boolean") return {};
  return givenOf("remoteWorkers", given, { workerBeatMs: true, workerLostMs: true });
}

function checkWorkerTimings(where: string, { workerBeatMs, workerLostMs }: WorkerTimings): void {
  for (const [name, ms] of Object.entries({ workerBeatMs, workerLostMs })) {
    if (!(typeof ms === "number" && ms > 0 && ms < Infinity))
      throw invalid(`${where}.${name}`, `must be a number of milliseconds above 0, got ${preview(ms)}`);
  }
  if (workerBeatMs * 2 > workerLostMs) {
    throw invalid(
      `${where}.workerBeatMs`,
      "must be at most half of workerLostMs, or attempts are taken for lost that run",
    );
  }
}

function invalid(name: string, problem: string): EngineError {
  return new EngineError("OPTION_INVALID", `engine option "${name}" ${problem}`);
}
