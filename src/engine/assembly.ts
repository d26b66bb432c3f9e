import { CodeRegistry } from "../authoring/code-registry.ts";
import { JobRegistry } from "../authoring/job-registry.ts";
import { Workflow } from "../authoring/workflow.ts";
import { messageOf } from "../base/error.ts";
import { CodeWatch } from "../code/watch-code.ts";
import { CodeHosts } from "../dispatch/code-hosts.ts";
import { Dispatcher, type DispatcherOptions } from "../dispatch/dispatcher.ts";
import type { SessionCode } from "../dispatch/session-turns.ts";
import type { OnWorkerEvent, WorkerEvent } from "../dispatch/worker-event.ts";
import { qualifyDomain } from "../dispatch/domain-pools.ts";
import type { TaskProgress } from "../dispatch/task-progress.ts";
import type { TaskRun } from "../dispatch/task-run.ts";
import { Expressions } from "../expressions/expression.ts";
import type { MachineLimits } from "../kernel/machine.ts";
import { defaultTimings } from "../cluster/timings.ts";
import { ClusterMember } from "../member/cluster-member.ts";
import { LoneWorkers } from "../member/lone-workers.ts";
import type { WorkerServices } from "../member/remote-workers.ts";
import { CallClient } from "../runtime/call-client.ts";
import { CallHandler } from "../runtime/call-handler.ts";
import { CompletionTokens } from "../runtime/completion-tokens.ts";
import { DefinitionSaver } from "../runtime/definition-saver.ts";
import { Definitions } from "../runtime/definitions.ts";
import { Region } from "../runtime/region.ts";
import { StoreProbe } from "../runtime/store-probe.ts";
import { scheduleWorkflow } from "../schedules/schedule-workflow.ts";
import { RollbackDetector } from "../stores/rollback-detector.ts";
import type { DomainRow } from "../stores/store.ts";
import { EmbeddedWorker } from "../worker/embedded-worker.ts";
import { ProcessWorker } from "../worker/process-worker.ts";
import { ThreadWorker } from "../worker/thread-worker.ts";
import { AttemptDesk } from "./attempt-desk.ts";
import { EngineState } from "./engine-state.ts";
import { Executor, ExecutorState } from "./executor.ts";
import { JobAnnouncements } from "./job-announcements.ts";
import type { JobSyncParts } from "./job-sync.ts";
import { LifeCycle } from "./life-cycle.ts";
import { Maintenance } from "./maintenance.ts";
import { answerMember } from "./member-requests.ts";
import type { NamespaceParts } from "./namespace-parts.ts";
import { Namespaces } from "./namespaces.ts";
import type { ResolvedOptions } from "./options.ts";
import { OutageDeadline } from "./outage-deadline.ts";
import { ownVersion } from "./own-version.ts";
import { ProcessCode } from "./process-code.ts";
import { Registration } from "./registration.ts";
import { Relay } from "./relay.ts";
import { Submission } from "./submission.ts";
import { WorkflowAnnouncements } from "./workflow-announcements.ts";
import { WorkerFinder } from "./worker-finder.ts";
import { Watchdog } from "./watchdog.ts";
import type { WorkerListeners } from "./worker-listeners.ts";
import { namespaceOf } from "../base/namespace.ts";

/**
 * The parts of one engine, joined: a store, a pool of workers, and the instances between them. Parts that need each other
 * are joined by functions, which are called only after all of them are made.
 */
export class Assembly {
  readonly options: ResolvedOptions;
  readonly state = new EngineState();
  readonly namespaces = new Namespaces((namespace) => this.#makeNamespace(namespace));
  readonly dispatcher: Dispatcher;
  /** Undefined for an engine alone on its store. */
  readonly member: ClusterMember | undefined;
  /** The remote workers of an engine alone; undefined in a cluster, and if none may connect. */
  readonly loneWorkers: LoneWorkers | undefined;
  readonly announcements: JobAnnouncements;
  readonly workflowAnnouncements: WorkflowAnnouncements;
  /** Hosts of code workflows; undefined if none may connect. */
  readonly codeHosts: CodeHosts | undefined;
  readonly definitions: Definitions;
  readonly region: Region;
  readonly calls: CallClient;
  readonly maintenance: Maintenance;
  readonly outage: OutageDeadline;
  /** Undefined for an engine alone on its store. */
  readonly relay: Relay | undefined;
  readonly lifeCycle: LifeCycle;
  readonly completionTokens = new CompletionTokens();
  readonly #saver: DefinitionSaver;
  readonly #executorState = new ExecutorState();
  readonly #expressions = new Expressions();
  readonly #watchdog: Watchdog | undefined;
  readonly #processCode: ProcessCode;
  readonly #attemptDesk: AttemptDesk;

  /** `POOL_SIZE_INVALID`, `JOB_DUPLICATE`, `WORKFLOW_DUPLICATE`, `WORKFLOW_INVALID`. */
  constructor(given: ResolvedOptions) {
    const rollbacks = new RollbackDetector(given.storage, (error) => this.lifeCycle.onRolledBack(error));
    const options = (this.options = { ...given, storage: rollbacks.store });
    const { storage: store, clock, logger, jobs, workflows, watchCode } = options;
    this.#watchdog = this.#makeWatchdog();
    const watch = watchCode ? new CodeWatch(logger) : undefined;
    if (options.cluster?.remoteWorkers === true || options.loneWorkers !== undefined)
      this.codeHosts = this.#makeCodeHosts();
    this.#processCode = this.#makeProcessCode(watch);
    this.dispatcher = this.#makeDispatcher();
    this.announcements = this.#makeAnnouncements();
    this.workflowAnnouncements = this.#makeWorkflowAnnouncements();
    this.member = this.#makeMember();
    this.loneWorkers = this.#makeLoneWorkers();
    this.definitions = new Definitions(store);
    this.#saver = new DefinitionSaver({ clock, definitions: this.definitions, dispatcher: this.dispatcher });
    this.region = this.#makeRegion(watch);
    const { member, region } = this;
    const { random } = options;
    const { workers, progress } = this.#executorState;
    this.relay = member && new Relay({ member, region, workers, progress, clock, random, logger });
    this.calls = this.#makeCalls();
    this.#attemptDesk = new AttemptDesk({ clock, store, calls: this.calls, isOver: () => this.dispatcher.isShutDown });
    const { registry, code } = this.own;
    for (const job of jobs) registry.register(job);
    for (const workflow of workflows) if (!(workflow instanceof Workflow)) code.register(workflow);
    this.maintenance = new Maintenance({ region: this.region, calls: this.calls, store, clock, logger, options });
    this.outage = new OutageDeadline(clock);
    this.lifeCycle = this.#makeLifeCycle();
  }

  /** What happens to the remote workers of this process. */
  get workerEvents(): WorkerListeners {
    return this.#executorState.workers;
  }

  /** The parts of the engine's own namespace. */
  get own(): NamespaceParts {
    return this.namespaces.get(this.options.namespace);
  }

  /** The name under which this process owns shards and runs jobs. */
  get address(): string {
    return this.member?.id ?? this.state.ownAddress;
  }

  #makeWatchdog(): Watchdog | undefined {
    const { watchdog, logger, cluster, storage } = this.options;
    const source = storage.leaseConnection;
    const lease = cluster && source && { source, timings: cluster.timings };
    return watchdog && new Watchdog(watchdog, logger, lease);
  }

  #makeCodeHosts(): CodeHosts {
    return new CodeHosts(
      (host) => {
        this.region.onCodeHosted(host);
        if (this.codeHosts?.connections === 1) this.member?.announceChange();
      },
      () => this.member?.sharing.code?.onWaiting(),
    );
  }

  #makeProcessCode(watch: CodeWatch | undefined): ProcessCode {
    const { clock, logger } = this.options;
    return new ProcessCode({
      find: (workflow, version) => this.namespaces.findCode(workflow, version),
      clock,
      logger,
      versionOf: (workflow, wanted) => this.namespaces.versionOf(workflow, wanted),
      hasDomain: (domain) => this.dispatcher.status.hasDomain(domain),
      watch,
      loopWatch: this.#watchdog?.loopWatch,
      hosts: this.codeHosts,
      ...(this.options.cluster !== undefined && { learn: () => this.#learnWorkflows() }),
    });
  }

  #makeDispatcher(): Dispatcher {
    const { clock, logger, poolSize, poolSizeMax, domains, stopGraceMs: graceMs, cluster, runsJobs } = this.options;
    const alone: DispatcherOptions = {
      clock,
      logger,
      poolSize,
      poolSizeMax,
      domains,
      graceMs,
      onProgress: (run, progress) => {
        // The owner of a hosted attempt tells its listeners, and members that follow the instance.
        if (this.member?.hostedAttempts.tellProgress(run.attemptId, progress) !== true) this.#onProgress(run, progress);
      },
      onWorkerDrained: (worker) => this.#onWorkerEvent("drained", worker),
      ...(runsJobs && { worker: this.#makeWorker() }),
    };
    if (cluster === undefined) {
      return new Dispatcher({ ...alone, onDetached: (run, gone) => this.loneWorkers?.onDetached(run, gone) });
    }
    return new Dispatcher({
      ...alone,
      sharedDomains: true,
      mayStart: () => this.#isLeaseValid(),
      onDemand: (domain) => this.member?.onDemand(domain),
      onBacklog: () => this.member?.sharing.slots.onBacklog(),
      hasElsewhere: (selector) => this.member?.sharing.slots.hasElsewhere(selector) ?? false,
      onDetached: (run, gone) => this.member?.onDetached(run, gone),
    });
  }

  #makeWorker(): EmbeddedWorker {
    const { clock, logger, maxSubTasks, cluster, onTaskLog, aroundJob, workerTags } = this.options;
    return new EmbeddedWorker({
      ...(cluster !== undefined && { mayStart: () => this.#isLeaseValid() }),
      jobs: { get: (id) => this.namespaces.findJob(id) },
      clock,
      logger,
      threads: new ThreadWorker({ clock, logger }),
      processes: new ProcessWorker({ clock, logger }),
      address: () => this.address,
      tags: workerTags,
      maxSubTasks,
      checkSubTasks: (subTasks, parent) => this.namespaces.checkSubTasks(subTasks, parent),
      onTaskLog,
      onReport: (id, report) => this.dispatcher.noteReport(id, report),
      onSilent: (id, error) => this.dispatcher.timeOut(id, error),
      ask: (attempt, question) => this.#attemptDesk.ask(attempt, question),
      aroundJob,
      loopWatch: this.#watchdog?.loopWatch,
    });
  }

  #isLeaseValid(): boolean {
    return this.member?.isLeaseValid() ?? false;
  }

  #makeMember(): ClusterMember | undefined {
    const { storage: store, clock, random, logger, cluster, domains, runsJobs, stopGraceMs, onTaskLog } = this.options;
    if (cluster === undefined) return undefined;
    return new ClusterMember({
      options: cluster,
      store,
      clock,
      random,
      logger,
      dispatcher: this.dispatcher,
      domains,
      runsJobs,
      version: ownVersion(),
      stopGraceMs,
      leaseThread: cluster.leaseThread ?? this.#watchdog?.leaseThread,
      onTaskLog,
      onJobs: (details, namespace) => void this.announcements.announce(namespace, details),
      onWorkerEvent: (type, worker) => this.#onWorkerEvent(type, worker),
      onProgress: (run, progress) => this.#onProgress(run, progress),
      code: this.#sessionCode(),
    });
  }

  #onProgress(run: TaskRun, progress: TaskProgress): void {
    this.#executorState.progress.report(run, progress, this.options.logger);
  }

  #onWorkerEvent(type: WorkerEvent["type"], { address, namespace }: Parameters<OnWorkerEvent>[1]): void {
    const { clock, logger } = this.options;
    const event = { type, worker: address, member: this.address, at: clock.now() };
    this.workerEvents.notify(event, namespace, logger);
  }

  #makeAnnouncements(): JobAnnouncements {
    const { storage: store, clock, logger } = this.options;
    return new JobAnnouncements({
      store,
      clock,
      logger,
      registryOf: (namespace) => this.namespaces.get(namespace).registry,
      onAdded: (namespace) => this.namespaces.get(namespace).registration.onJobsAnnounced(),
    });
  }

  #makeWorkflowAnnouncements(): WorkflowAnnouncements {
    const { storage: store, clock, logger } = this.options;
    return new WorkflowAnnouncements({
      store,
      clock,
      logger,
      codeOf: (namespace) => this.namespaces.get(namespace).code,
      add: (namespace, workflow) => this.namespaces.get(namespace).registration.announceWorkflow(workflow),
      onLearned: (workflow, version) => this.region.onWorkflowRegistered(workflow, version),
    });
  }

  async #learnWorkflows(): Promise<void> {
    try {
      await this.workflowAnnouncements.learn();
    } catch (error) {
      const fields = { error: messageOf(error) };
      this.options.logger.warn(fields, "the workflows that other members know could not be read");
    }
  }

  #sessionCode(): SessionCode | undefined {
    const { codeHosts: hosts, workflowAnnouncements: announcements } = this;
    return (
      hosts && {
        hosts,
        announce: (workflows, namespace) => announcements.announce(workflows, namespace),
        learn: () => announcements.learn(),
      }
    );
  }

  #makeLoneWorkers(): LoneWorkers | undefined {
    const { storage: store, clock, logger, loneWorkers: timings, onTaskLog } = this.options;
    const { dispatcher, state } = this;
    if (timings === undefined) return undefined;
    return new LoneWorkers({
      store,
      clock,
      logger,
      timings,
      dispatcher,
      onJobs: (details, namespace) => void this.announcements.announce(namespace, details),
      onWorkerEvent: (type, worker) => this.#onWorkerEvent(type, worker),
      code: this.#sessionCode(),
      address: this.state.ownAddress,
      mayServe: () => !state.isFenced,
      onTaskLog,
    });
  }

  #makeNamespace(namespace: string): NamespaceParts {
    const registry = new JobRegistry();
    const code = new CodeRegistry();
    code.registerOwn(scheduleWorkflow);
    const submission = this.#makeSubmission({ namespace, registry, code });
    const registration = this.#makeRegistration({ namespace, registry, code, submission });
    return { namespace, registry, code, submission, registration, executor: this.#makeExecutor(namespace, registry) };
  }

  #makeExecutor(namespace: string, registry: JobRegistry): Executor {
    const { clock, random, defaultTimeoutSeconds } = this.options;
    return new Executor({
      namespace,
      shared: this.#executorState,
      dispatcher: this.dispatcher,
      registry,
      clock,
      random,
      defaultTimeoutSeconds,
      refuseUnlessStarted: () => this.state.refuseUnlessStarted(),
      domains: { isShared: this.member !== undefined, setDomain: (domain) => this.#setDomain(domain) },
    });
  }

  /**
   * The options of an engine alone are in force again at its next start; in a cluster the stored size takes precedence.
   */
  async #setDomain(domain: DomainRow): Promise<void> {
    if (this.member !== undefined) return await this.member.setDomain(domain);
    if (!Object.hasOwn(this.options.domains, domain.name)) await this.calls.setDomain(domain);
  }

  #makeRegion(watch: CodeWatch | undefined): Region {
    const { storage: store, clock, random, logger, cluster, idleMax } = this.options;
    return new Region({
      shardCount: cluster?.shards ?? 1,
      laneCount: store.lanes,
      idleMax,
      ...(this.member !== undefined && { cluster: this.member }),
      ...(this.loneWorkers !== undefined && { hosting: this.loneWorkers.hosting }),
      store,
      clock,
      random,
      // The code of workflows logs through it too.
      logger: watch?.logger ?? logger,
      dispatcher: this.dispatcher,
      definitions: this.definitions,
      expressions: this.#expressions,
      code: this.#processCode,
      limits: limitsOf(this.options),
      completionTokens: this.completionTokens,
      workers: new WorkerFinder(this, {
        clock,
        lookMs: (cluster?.timings ?? this.options.loneWorkers ?? defaultTimings).workerBeatMs,
        isOver: () => this.dispatcher.isShutDown,
      }),
      owner: () => this.address,
      resolveJob: (instanceId, definition, params) => this.namespaces.resolveJob(instanceId, definition, params),
      onHealth: (problem) => this.lifeCycle.onHealth(problem),
      onFenced: (shard, error) => this.lifeCycle.onFenced(shard, error),
    });
  }

  /** Creates both sides of calls to instances; a member of a cluster carries calls between them. */
  #makeCalls(): CallClient {
    const { storage: store, clock, random } = this.options;
    const { member, region, dispatcher, definitions } = this;
    const handler = new CallHandler({
      store,
      clock,
      definitions,
      registryOf: (instanceId) => this.namespaces.view(namespaceOf(instanceId)).registry,
      dispatcher,
      region,
      allocators: member?.allocators,
      isLeaseValid: () => member?.isLeaseValid() ?? true,
    });
    const client = new CallClient({ clock, random, region, handler, definitions: this.#saver, transport: member });
    const answer = (body: unknown): Promise<unknown> => answerMember(body, this);
    const services: WorkerServices = {
      checkOutcome: (outcome, task) => this.namespaces.checkOutcome(outcome, task),
      ask: (attempt, question) => this.#attemptDesk.ask(attempt, question),
    };
    member?.attach({ region, client, handler, answer, record: () => this.#recordAll() }, services);
    this.loneWorkers?.attach({ region, client }, services);
    return client;
  }

  /** Calls under way refer to definitions of workflows that nobody has registered. */
  async #recordAll(): Promise<void> {
    await this.#saver.save(this.definitions.all);
    await this.#record();
  }

  async #record(): Promise<void> {
    const { storage, clock } = this.options;
    await this.completionTokens.load(storage, clock);
    await this.announcements.learn();
    await this.workflowAnnouncements.learn();
    return await this.namespaces.record(this.#jobSync(), this.options.clock);
  }

  #makeSubmission(parts: Pick<NamespaceParts, "namespace" | "registry" | "code">): Submission {
    const { namespace, workflows } = this.options;
    const dags = workflows.filter((workflow) => workflow instanceof Workflow);
    return new Submission({
      ...parts,
      definitions: this.definitions,
      expressions: this.#expressions,
      hasDomain: (domain) => this.dispatcher.status.hasDomain(qualifyDomain(parts.namespace, domain)),
      learnJobs: async () => (this.member === undefined ? undefined : await this.announcements.learn()),
      workflows: parts.namespace === namespace ? dags : [],
    });
  }

  #makeRegistration(parts: Pick<NamespaceParts, "namespace" | "registry" | "code" | "submission">): Registration {
    const { clock } = this.options;
    const { state, region, dispatcher } = this;
    return new Registration({
      ...parts,
      ...this.#jobSync(),
      clock,
      definitions: this.#saver,
      state,
      region,
      dispatcher,
    });
  }

  #jobSync(): JobSyncParts {
    const { storage: store, logger } = this.options;
    return { store, logger, isShared: this.member !== undefined };
  }

  #makeLifeCycle(): LifeCycle {
    const { options, state, dispatcher, region, member, maintenance, outage, relay } = this;
    const { storage: store, clock, logger } = options;
    return new LifeCycle({
      options,
      state,
      dispatcher,
      executor: this.own.executor,
      region,
      member,
      loneWorkers: this.loneWorkers,
      record: () => this.#record(),
      maintenance,
      outage,
      relay,
      processCode: this.#processCode,
      watchdog: this.#watchdog,
      storeProbe: new StoreProbe({
        store,
        clock,
        logger,
        view: () => store.heartbeat(this.address),
        onHealth: (problem) => region.reportProblem(problem),
      }),
      address: () => this.address,
    });
  }
}

function limitsOf(options: ResolvedOptions): MachineLimits {
  const { maxSubTasks, maxInterruptions, maxSteps, defaultTimeoutSeconds } = options;
  return {
    subTasksMax: maxSubTasks,
    interruptionsMax: maxInterruptions,
    stepsMax: maxSteps,
    concurrentTasks: options.maxConcurrentTasks,
    concurrentActivities: options.maxConcurrentActivities,
    timeoutMs: defaultTimeoutSeconds === undefined ? undefined : defaultTimeoutSeconds * 1000,
  };
}
