import type { AnnouncedJob } from "../authoring/announced-job.ts";
import type { JobRegistry } from "../authoring/job-registry.ts";
import type { Dispatcher, DomainOverview } from "../dispatch/dispatcher.ts";
import { defaultDomain } from "../dispatch/domain-pools.ts";
import type { HostedWorkflow } from "../dispatch/code-host.ts";
import type { ConnectedOverview } from "../dispatch/worker.ts";
import type { TaskProgress } from "../dispatch/task-progress.ts";
import type { TaskRun } from "../dispatch/task-run.ts";
import type { TaskWait } from "../dispatch/wait-reason.ts";
import type { TaskIdentity } from "../runtime/waiting-task.ts";
import type { JobRow } from "../stores/store.ts";
import { localName, namespaceOf } from "../base/namespace.ts";

/**
 * A task of this process that runs or waits for anything but its predecessors, or an instance that waits as a whole and has
 * no task yet.
 */
export interface QueuedTask extends TaskIdentity {
  readonly state: "waiting" | "running";
  /** Epoch ms: when it was queued, was started, or failed last; undefined if none of these has happened. */
  readonly since: number | undefined;
  readonly worker: string | undefined;
  /** The wait of a waiting task. */
  readonly wait: TaskWait | undefined;
  /** Time at which the next attempt is due. */
  readonly retryAt: number | undefined;
  /** The progress that its running job reports; absent if it reports none. */
  readonly progress?: TaskProgress;
}

/** Which tasks that run or wait in this process are listed. */
export interface QueueFilter {
  readonly state?: QueuedTask["state"];
  /** Maximum of tasks of each state. Default 1000. */
  readonly limit?: number;
}

/** A worker of this process: its embedded pool, or a remote worker that is connected to it. */
export interface WorkerView {
  readonly address: string;
  readonly isRemote: boolean;
  readonly slots: number;
  readonly runningTasks: number;
  /** True while the worker takes no new tasks. */
  readonly isDraining: boolean;
  /**
   * False for a remote worker that missed a heartbeat or lost its connection: it gets no tasks until its next message.
   */
  readonly isReachable: boolean;
  /** Epoch ms of its last message; undefined for the pool of this process. */
  readonly lastHeardAt: number | undefined;
  /** The ids of the jobs that it can run. */
  readonly jobs: readonly string[];
  /** Its tags, which tasks may require. */
  readonly tags: readonly string[];
  /** The workflows whose code a remote worker has; none for the pool of a process, which has its own. */
  readonly workflows: readonly HostedWorkflow[];
}

/** An instance that has something under way and makes no progress. */
export interface StuckInstance {
  readonly instanceId: string;
  readonly workflowName: string;
  /** Epoch ms of its last turn. */
  readonly updatedAt: number;
}

/** A job that can be run: registered in this process, or announced by a worker. */
export interface JobView {
  readonly id: string;
  readonly name: string;
  readonly signature: string;
  /** The types of the parameters by name. */
  readonly parameters: unknown;
  /** `module#export`, if it is known. */
  readonly codePath: string | undefined;
  /** A hash of the function's source text; it changes with the code. */
  readonly sourceHash: string;
  readonly description: string | undefined;
  /** `worker` if no process on this store has registered it: workers have announced it. */
  readonly origin: "server" | "worker";
  /** True if this process has the job's function. */
  readonly isHere: boolean;
  /** No process on this store had its function at its last start. */
  readonly missing: boolean;
  readonly createdAt: number;
  readonly updatedAt: number;
}

/** A workflow that this process can start by its name. */
export interface WorkflowView {
  readonly name: string;
  /** Undefined for a workflow that cannot run here. */
  readonly version: string | undefined;
  readonly kind: "dag" | "code";
  /** False for code that only workers have. */
  readonly isHere: boolean;
}

/** The jobs of a namespace: those on record, and those that workers have announced. */
export function jobViews(rows: readonly JobRow[], registry: JobRegistry, namespace: string): JobView[] {
  const recorded = rows.filter(({ id }) => namespaceOf(id) === namespace).map((row) => jobView(row, registry));
  const ids = new Set(recorded.map(({ id }) => id));
  return [...recorded, ...registry.announced.all.filter(({ id }) => !ids.has(id)).map(announcedJobView)];
}

function jobView(
  { id: qualifiedId, name, signature, parameters, codePath, sourceHash, missing, createdAt, updatedAt }: JobRow,
  registry: JobRegistry,
): JobView {
  const id = localName(qualifiedId);
  const isHere = registry.find(id) !== undefined;
  return {
    id,
    name: localName(name),
    signature,
    parameters: JSON.parse(parameters) as unknown,
    codePath: codePath ?? undefined,
    sourceHash,
    description: registry.get(id)?.job.description ?? registry.announced.get(id)?.description,
    origin: "server",
    isHere,
    missing,
    createdAt,
    updatedAt,
  };
}

/** A job that is known only from workers. */
function announcedJobView(job: AnnouncedJob): JobView {
  const { id, name, signature, parameters, sourceHash, description, announcedAt } = job;
  return {
    id,
    name,
    signature,
    parameters: JSON.parse(parameters) as unknown,
    codePath: undefined,
    sourceHash,
    description,
    origin: "worker",
    isHere: false,
    missing: false,
    createdAt: announcedAt,
    updatedAt: announcedAt,
  };
}

/** The embedded pool of this process, unless it runs no jobs, and the remote workers that are connected to it. */
export function workerViews(parts: {
  readonly dispatcher: Dispatcher;
  readonly registry: JobRegistry;
  readonly options: { readonly runsJobs: boolean; readonly workerTags: readonly string[] };
  readonly address: string;
  readonly namespace: string;
}): WorkerView[] {
  const { dispatcher, registry, options, address: ownAddress, namespace } = parts;
  const connected = dispatcher.status.listConnected();
  const remote = connected.filter(({ worker }) => worker.namespace === namespace).map(remoteView);
  if (!options.runsJobs) return remote;
  const slots = connected.reduce((sum, { worker }) => sum + worker.slots, 0);
  const running = dispatcher.status.listRunning().filter(({ run }) => namespaceOf(run.instanceId) === namespace).length;
  const runningTasks = running - remote.reduce((sum, worker) => sum + worker.runningTasks, 0);
  const own: WorkerView = {
    address: ownAddress,
    isRemote: false,
    slots: dispatcher.status.poolSize - slots,
    runningTasks,
    isDraining: dispatcher.isDraining,
    isReachable: true,
    lastHeardAt: undefined,
    jobs: registry.ids,
    tags: [...options.workerTags],
    workflows: [],
  };
  return [own, ...remote];
}

function remoteView({ worker, runningTasks }: ConnectedOverview): WorkerView {
  const { address, slots, isDraining, isReachable, lastHeardAt, workflows } = worker;
  const jobs = worker.jobs.map(localName);
  const tags = [...worker.tags];
  return { address, isRemote: true, slots, runningTasks, isDraining, isReachable, lastHeardAt, jobs, tags, workflows };
}

/**
 * The domains of a namespace, and `default`, which all share: of that one, the counts are those of the namespace's own
 * tasks.
 */
export function domainViews(dispatcher: Dispatcher, namespace: string): DomainOverview[] {
  return dispatcher.status.listDomains().flatMap((overview): DomainOverview[] => {
    const { domain } = overview;
    if (domain === defaultDomain) return [{ ...overview, ...countIn(dispatcher, namespace, domain) }];
    return namespaceOf(domain) === namespace ? [{ ...overview, domain: localName(domain) }] : [];
  });
}

function countIn(dispatcher: Dispatcher, namespace: string, domain: string): { running: number; waiting: number } {
  const isOwn = ({ run }: { readonly run: TaskRun }): boolean =>
    run.domain === domain && namespaceOf(run.instanceId) === namespace;
  return {
    running: dispatcher.status.listRunning().filter(isOwn).length,
    waiting: dispatcher.status.listWaiting().filter(isOwn).length,
  };
}
