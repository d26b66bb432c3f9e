import { availableParallelism } from "node:os";
import { didYouMean } from "../base/closest-name.ts";
import { type CodeWorkflow, isCodeWorkflow } from "../authoring/code-workflow.ts";
import { findJobProblem, type Job } from "../authoring/job.ts";
import { preview } from "../base/preview.ts";
import { Workflow } from "../authoring/workflow.ts";
import type { Clock } from "../base/clock.ts";
import { EngineError } from "../base/error.ts";
import type { Logger } from "../base/logger.ts";
import type { Random } from "../base/random.ts";
import { durationSecondsMax } from "../base/time-limits.ts";
import { defaultNamespace, hasMark, isNamespace, markProblem } from "../base/namespace.ts";
import { defaultPoolSizeMax } from "../dispatch/dispatcher.ts";
import { qualifyDomain } from "../dispatch/domain-pools.ts";
import type { DomainOptions } from "../dispatch/domain-pool.ts";
import { findTagsProblem } from "../dispatch/worker-tags.ts";
import type { OnTaskLog } from "../dispatch/task-log.ts";
import { defaultLimits, subTasksCeiling } from "../kernel/machine.ts";
import type { EndStatus } from "../kernel/status.ts";
import { type DeclaredSchedule, isDeclaredSchedule } from "../schedules/declared-schedule.ts";
import type { Store } from "../stores/store.ts";
import type { AroundJob } from "../worker/job-call.ts";
import type { WorkerTimings } from "../cluster/timings.ts";
import {
  type ClusterOptions,
  type ResolvedClusterOptions,
  resolveClusterOptions,
  resolveLoneWorkers,
} from "../member/cluster-options.ts";
import { stderrLogger } from "./stderr-logger.ts";
import { systemClock } from "./system-clock.ts";
import { SystemRandom } from "./system-random.ts";
import type { ResolvedWatchdogOptions, WatchdogOptions } from "./watchdog.ts";

/** Options of an engine. Only `storage` is required. */
export interface EngineOptions {
  /** `sqlite("./heddle.db")` from `heddle/sqlite`, `postgres(url)` from `heddle/postgres`, `mysql(url)` from `heddle/mysql`. */
  readonly storage: Store;
  readonly jobs?: readonly Job[];
  /** Code workflows that this process runs, and DAGs that can be started or nested by name. */
  readonly workflows?: readonly (Workflow | CodeWorkflow)[];
  /** Schedules that `start` creates, or changes if they differ: `defineSchedule` declares them. */
  readonly schedules?: readonly DeclaredSchedule[];
  /** True if jobs run in this process. Default true; if false, tasks wait for remote workers. */
  readonly runsJobs?: boolean;
  /** Slots of the embedded worker. Default 10. */
  readonly poolSize?: number;
  /** Tags of the embedded worker, which tasks may require. Default none. */
  readonly workerTags?: readonly string[];
  /** The maximum for `executor.setPoolSize`. Default: the greater of 10 and twice the cores. */
  readonly poolSizeMax?: number;
  /** Named parts of the pool with a reserved number of slots; the rest is domain `default`. */
  readonly domains?: Readonly<Record<string, DomainOptions>>;
  /** Limit of concurrent tasks per DAG instance, unless its start, context or definition sets one. Default 5. */
  readonly maxConcurrentTasks?: number;
  /** Limit of concurrent activities per code instance, unless its workflow sets one. Default 0: no limit. */
  readonly maxConcurrentActivities?: number;
  /**
   * Timeout of an attempt whose task sets none. Without this option it is 30 seconds for tasks of builders, and 3600 for
   * nodes of a dag-spec file and activities of code.
   */
  readonly defaultTimeoutSeconds?: number;
  /** Limit of generated sub-tasks per task, at most 10,000. Default 1000. */
  readonly maxSubTasks?: number;
  /** Limit of steps of a workflow's code before it has to continue as new. Default 250,000. */
  readonly maxSteps?: number;
  /** Times an attempt may be lost with its process before it fails. Default 3. */
  readonly maxInterruptions?: number;
  /** Time after which idle instances are evicted from memory. Default 30 minutes. */
  readonly idleMs?: number;
  /** Limit of idle instances in memory; the least recently used leave first. Default 10,000. */
  readonly idleMax?: number;
  /** Time without progress after which an instance is reported as stuck. Default 60 minutes. */
  readonly stuckMs?: number;
  /** Retention of ended instances, by status; 0 means for ever. Default 7 days. */
  readonly retentionMs?: Partial<Readonly<Record<EndStatus, number>>>;
  /**
   * Time `stop()` waits for jobs after it aborted their signals; in a cluster, then as long for other members to take the
   * results that they have to know. Default 5 seconds, in a cluster 3.
   */
  readonly stopGraceMs?: number;
  /** Makes the engine a member of a cluster on the same store. On a database server it always is one. */
  readonly cluster?: ClusterOptions;
  /**
   * True if workers in processes of their own may connect (`heddle/worker`): `engine.acceptWorker` takes their connections,
   * and a server has an endpoint for them. An object sets the interval of their heartbeats, and the time without one after
   * which a worker is lost. Default false.
   */
  readonly remoteWorkers?: boolean | Partial<WorkerTimings>;
  /** True to warn when the code of a workflow is not deterministic: reads the clock, random numbers or the outside world. Default: unless NODE_ENV is `production`. */
  readonly watchCode?: boolean;
  /**
   * Starts a thread that reports on standard error which code blocks the event loop, and may end the process if it stays
   * blocked. A member of a cluster on a database server has it renew its lease meanwhile, for up to
   * `cluster.timings.stallMs`. Default: such a member has the thread for its lease alone, any other engine has none.
   */
  readonly watchdog?: boolean | WatchdogOptions;
  /** Default: writes warnings and errors as JSON lines to standard error. */
  readonly logger?: Logger;
  /** Called with the log lines of jobs, including those on remote workers. Must not throw. */
  readonly onTaskLog?: OnTaskLog;
  /** Wraps each call of a job in this process, for example in a span. */
  readonly aroundJob?: AroundJob;
  /** The namespace of its jobs, workflows, domains and instances; `engine.inNamespace()` gives others. Default `default`. */
  readonly namespace?: string;
  /** The application that new instances belong to, inside the namespace; lists can be filtered by it. */
  readonly app?: string;
  /** Sources of time and random numbers, for tests. */
  readonly clock?: Clock;
  readonly random?: Random;
}

export type ResolvedOptions = Required<
  Omit<
    EngineOptions,
    | "retentionMs"
    | "cluster"
    | "remoteWorkers"
    | "watchdog"
    | "onTaskLog"
    | "aroundJob"
    | "defaultTimeoutSeconds"
    | "app"
  >
> & {
  readonly defaultTimeoutSeconds: number | undefined;
  readonly app: string | undefined;
  readonly onTaskLog?: OnTaskLog | undefined;
  readonly aroundJob?: AroundJob | undefined;
  readonly retentionMs: Readonly<Record<EndStatus, number>>;
  readonly cluster: ResolvedClusterOptions | undefined;
  /** The timings of workers of an engine alone; undefined in a cluster, and if none may connect. */
  readonly loneWorkers: WorkerTimings | undefined;
  readonly watchdog: ResolvedWatchdogOptions | undefined;
};

const minuteMs = 60_000;
const sevenDaysMs = 7 * 24 * 60 * minuteMs;

/** `OPTION_INVALID` with the name of the setting. */
export function resolveOptions(options: EngineOptions): ResolvedOptions {
  checkNames(options);
  // An option that is undefined counts as not given.
  const {
    retentionMs,
    cluster,
    remoteWorkers = false,
    watchdog,
    ...given
  } = Object.fromEntries(
    Object.entries(options).filter(([, value]) => value !== undefined),
  ) as unknown as EngineOptions;
  const clusterOptions = cluster === undefined && given.storage?.clusters === "always" ? {} : cluster;
  const resolved: ResolvedOptions = {
    jobs: [],
    workflows: [],
    schedules: [],
    runsJobs: true,
    poolSize: 10,
    workerTags: [],
    poolSizeMax: defaultPoolSizeMax(availableParallelism()),
    domains: {},
    maxConcurrentTasks: defaultLimits.concurrentTasks,
    maxConcurrentActivities: defaultLimits.concurrentActivities,
    defaultTimeoutSeconds: undefined,
    maxSubTasks: defaultLimits.subTasksMax,
    maxSteps: defaultLimits.stepsMax,
    maxInterruptions: defaultLimits.interruptionsMax,
    idleMs: 30 * minuteMs,
    idleMax: 10_000,
    stuckMs: 60 * minuteMs,
    stopGraceMs: clusterOptions === undefined ? 5000 : 3000,
    watchCode: process.env["NODE_ENV"] !== "production",
    logger: stderrLogger,
    namespace: defaultNamespace,
    app: undefined,
    clock: systemClock,
    random: new SystemRandom(),
    ...given,
    cluster:
      clusterOptions === undefined ? undefined : resolveClusterOptions(clusterOptions, given.storage, remoteWorkers),
    loneWorkers: clusterOptions === undefined ? resolveLoneWorkers(remoteWorkers) : undefined,
    watchdog: watchdog === undefined ? defaultWatchdog(given) : resolveWatchdog(watchdog),
    retentionMs: { Success: sevenDaysMs, Failed: sevenDaysMs, Terminated: sevenDaysMs, ...retentionMs },
  };
  checkOptions(resolved);
  return { ...resolved, domains: qualifiedDomains(resolved) };
}

/** Domains of the options belong to the engine's namespace. */
function qualifiedDomains({ namespace, domains }: ResolvedOptions): ResolvedOptions["domains"] {
  const entries = Object.entries(domains);
  return Object.fromEntries(entries.map(([name, domain]) => [qualifyDomain(namespace, name), domain]));
}

/** A shorter limit would take the time between two heartbeats for a stall. */
const watchdogMsMin = 1000;
const watchdogDefaults: ResolvedWatchdogOptions = { warnAfterMs: 2000, endAfterMs: 0, format: "json" };

/** Time that a test controls means nothing to a thread. */
function defaultWatchdog({ storage, clock }: Pick<EngineOptions, "storage" | "clock">): ResolvedOptions["watchdog"] {
  const needsThread = storage?.leaseConnection !== undefined && clock === undefined;
  return needsThread ? { ...watchdogDefaults, warnAfterMs: 0 } : undefined;
}

function resolveWatchdog(given: boolean | WatchdogOptions): ResolvedWatchdogOptions | undefined {
  if (typeof given === "boolean") return given ? watchdogDefaults : undefined;
  if (typeof given !== "object" || given === null) {
    throw invalid("watchdog", `must be true, false or { warnAfterMs, endAfterMs, format }, got ${preview(given)}`);
  }
  const known = Object.keys(watchdogDefaults);
  const unknown = Object.keys(given).find((name) => !known.includes(name));
  if (unknown !== undefined) throw invalid(`watchdog.${unknown}`, `does not exist${didYouMean(unknown, known)}`);
  const { warnAfterMs, endAfterMs, format } = watchdogDefaults;
  const resolved: ResolvedWatchdogOptions = {
    warnAfterMs: given.warnAfterMs ?? warnAfterMs,
    endAfterMs: given.endAfterMs ?? endAfterMs,
    format: given.format ?? format,
  };
  for (const name of ["warnAfterMs", "endAfterMs"] as const) {
    const ms = resolved[name];
    if (ms === 0 || ms >= watchdogMsMin) continue;
    throw invalid(
      `watchdog.${name}`,
      `must be at least ${watchdogMsMin} milliseconds, or 0 for never, got ${preview(ms)}`,
    );
  }
  if (!["json", "pino", "words"].includes(resolved.format))
    throw invalid("watchdog.format", `must be "json", "pino" or "words", got ${preview(resolved.format)}`);
  return resolved;
}

const names: Readonly<Record<keyof EngineOptions, true>> = {
  storage: true,
  jobs: true,
  workflows: true,
  schedules: true,
  runsJobs: true,
  poolSize: true,
  workerTags: true,
  poolSizeMax: true,
  domains: true,
  maxConcurrentTasks: true,
  maxConcurrentActivities: true,
  defaultTimeoutSeconds: true,
  maxSubTasks: true,
  maxSteps: true,
  maxInterruptions: true,
  idleMs: true,
  idleMax: true,
  stuckMs: true,
  retentionMs: true,
  stopGraceMs: true,
  cluster: true,
  remoteWorkers: true,
  watchCode: true,
  watchdog: true,
  logger: true,
  onTaskLog: true,
  aroundJob: true,
  namespace: true,
  app: true,
  clock: true,
  random: true,
};

/** Refuses misspelt options, which would otherwise silently have their defaults. */
function checkNames(options: unknown): void {
  if (typeof options !== "object" || options === null) {
    throw new EngineError(
      "OPTION_INVALID",
      `new Engine takes an object of options, such as { storage, jobs }, got ${preview(options)}`,
    );
  }
  const unknown = Object.keys(options).find((name) => !Object.hasOwn(names, name));
  if (unknown !== undefined) throw invalid(unknown, `does not exist${didYouMean(unknown, Object.keys(names))}`);
}

function checkOptions(options: ResolvedOptions): void {
  checkNamespaceOptions(options);
  if (typeof options.storage?.commit !== "function") {
    throw invalid("storage", 'must be a store, such as sqlite("./heddle.db") from "heddle/sqlite"');
  }
  if (options.cluster !== undefined && options.storage.clusters === "never") {
    throw invalid("cluster", "needs a store that several members can open; an embedded one belongs to one process");
  }
  checkParts(options);
  for (const name of ["maxSubTasks", "maxSteps", "maxInterruptions", "maxConcurrentActivities", "idleMax"] as const) {
    if (!Number.isSafeInteger(options[name]) || options[name] < 0)
      throw invalid(name, "must be a whole number, at least 0");
  }
  if (options.maxSubTasks > subTasksCeiling) throw invalid("maxSubTasks", `must be at most ${subTasksCeiling}`);
  if (!Number.isSafeInteger(options.maxConcurrentTasks) || options.maxConcurrentTasks < 1)
    throw invalid("maxConcurrentTasks", "must be a whole number, at least 1");
  const { defaultTimeoutSeconds = 1 } = options;
  if (!(defaultTimeoutSeconds > 0 && defaultTimeoutSeconds <= durationSecondsMax))
    throw invalid("defaultTimeoutSeconds", `must be a number of seconds above 0, at most ${durationSecondsMax}`);
  for (const name of ["idleMs", "stuckMs"] as const) {
    if (!(options[name] > 0)) throw invalid(name, "must be a number of milliseconds above 0");
  }
  for (const name of ["onTaskLog", "aroundJob"] as const) {
    if (options[name] !== undefined && typeof options[name] !== "function") throw invalid(name, "must be a function");
  }
  for (const name of ["runsJobs", "watchCode"] as const) {
    if (typeof options[name] !== "boolean") throw invalid(name, "must be true or false");
  }
  if (options.cluster?.ownsShards === false && !options.runsJobs)
    throw invalid("cluster.ownsShards", "can be false only if runsJobs is true: the member would do nothing");
  if (!(options.stopGraceMs >= 0)) throw invalid("stopGraceMs", "must be a number of milliseconds, at least 0");
  const kept = Object.entries(options.retentionMs).find(([, ms]) => !(ms >= 0));
  if (kept !== undefined) throw invalid(`retentionMs.${kept[0]}`, "must be a number of milliseconds, or 0 for ever");
}

function checkNamespaceOptions({ namespace, app, domains }: ResolvedOptions): void {
  if (!isNamespace(namespace))
    throw invalid(
      "namespace",
      `must be 1 to 63 lower-case letters, digits and hyphens, with no hyphen at either end, got ${preview(namespace)}`,
    );
  if (app !== undefined && (typeof app !== "string" || app === ""))
    throw invalid("app", `must be text, not empty, got ${preview(app)}`);
  const marked = Object.keys(domains ?? {}).find(hasMark);
  if (marked !== undefined) throw invalid("domains", `: ${markProblem("a domain", marked)}`);
}

function checkParts({ jobs, workflows, schedules, domains, logger, workerTags }: ResolvedOptions): void {
  const tags = findTagsProblem(workerTags);
  if (tags !== undefined) throw invalid("workerTags", tags);
  if (!Array.isArray(jobs)) throw invalid("jobs", `must be a list of jobs, got ${preview(jobs)}`);
  for (const job of jobs as readonly unknown[]) {
    const problem = findJobProblem(job);
    if (problem !== undefined) throw invalid("jobs", problem);
  }
  if (!Array.isArray(workflows)) throw invalid("workflows", `must be a list of workflows, got ${preview(workflows)}`);
  for (const workflow of workflows as readonly unknown[]) {
    if (workflow instanceof Workflow || isCodeWorkflow(workflow)) continue;
    throw invalid(
      "workflows",
      `must hold what defineWorkflow(), WorkflowBuilder.build() or Workflow.fromJSON() gave, got ${preview(workflow)}`,
    );
  }
  checkSchedules(schedules);
  for (const [name, domain] of Object.entries(domains as Record<string, unknown>)) {
    if (typeof domain !== "object" || domain === null)
      throw invalid(`domains.${name}`, `must be { size, priority }, got ${preview(domain)}`);
  }
  const level = (["debug", "info", "warn", "error"] as const).find((each) => typeof logger[each] !== "function");
  if (level !== undefined)
    throw invalid("logger", `must have the methods debug, info, warn and error, but has no ${level}`);
}

function checkSchedules(schedules: readonly unknown[]): void {
  if (!Array.isArray(schedules)) throw invalid("schedules", `must be a list of schedules, got ${preview(schedules)}`);
  const ids = new Set<string>();
  for (const each of schedules as readonly unknown[]) {
    if (!isDeclaredSchedule(each))
      throw invalid("schedules", `must hold what defineSchedule gave, got ${preview(each)}`);
    if (ids.has(each.scheduleId)) throw invalid("schedules", `has ${preview(each.scheduleId)} twice`);
    ids.add(each.scheduleId);
  }
}

function invalid(name: string, problem: string): EngineError {
  return new EngineError("OPTION_INVALID", `engine option "${name}" ${problem}`);
}
