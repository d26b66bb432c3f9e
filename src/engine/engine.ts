import { hostname } from "node:os";
import { CodeRegistry } from "../authoring/code-registry.ts";
import type { CodeWorkflow } from "../authoring/code-workflow.ts";
import type { ParamsArgument } from "../authoring/task-builder.ts";
import { checkName } from "../code/step-check.ts";
import { parsed, textOf } from "../code/values.ts";
import { StepFailed } from "../code/step-failed.ts";
import { CodeWatch } from "../code/watch-code.ts";
import { defineJob, type Job, type JobFunction, type JobOptions, type JobOptionsWithInput } from "../authoring/job.ts";
import { JobRegistry } from "../authoring/job-registry.ts";
import { preview } from "../base/preview.ts";
import type { Task } from "../authoring/task.ts";
import { toJsonText } from "../base/json-text.ts";
import type { Jsonified } from "../authoring/jsonified.ts";
import { Workflow } from "../authoring/workflow.ts";
import { assert } from "../base/assert.ts";
import { EngineError, hasCode, messageOf } from "../base/error.ts";
import type { MemberEvent } from "../cluster/member-event.ts";
import { Dispatcher, type DispatcherOptions, type DomainOverview } from "../dispatch/dispatcher.ts";
import type { Link, LinkListener } from "../dispatch/link.ts";
import type { NodeSpec } from "../kernel/node-spec.ts";
import type { TaskDefinition } from "../kernel/task-definition.ts";
import type { Event } from "../kernel/event.ts";
import type { Outcome } from "../kernel/input.ts";
import type { EndStatus } from "../kernel/status.ts";
import { type Definition, Definitions } from "../runtime/definitions.ts";
import { Expressions } from "../expressions/expression.ts";
import type { CallOf, InputCallType, InstanceCallType, ResultOf } from "../runtime/call.ts";
import { CallClient } from "../runtime/call-client.ts";
import { CallHandler } from "../runtime/call-handler.ts";
import type { InstanceEnd } from "../runtime/instance-query.ts";
import { type RecordedHistory, recordHistory } from "../runtime/recorded-history.ts";
import { Region } from "../runtime/region.ts";
import { StoreProbe } from "../runtime/store-probe.ts";
import type { Reuse } from "../runtime/instance-starter.ts";
import {
  parseTexts,
  type Payloads,
  readText,
  readTexts,
  refuseLargeJoin,
  textsAtHand,
} from "../runtime/task-inputs.ts";
import type { DomainRow, InstanceFilter, InstanceSummary } from "../stores/store.ts";
import { refuseHalfImported } from "../stores/transfer-mark.ts";
import { admitted } from "../worker/call-job.ts";
import { EmbeddedWorker } from "../worker/embedded-worker.ts";
import { subTaskNode } from "../worker/sub-task-node.ts";
import { ThreadWorker } from "../worker/thread-worker.ts";
import {
  checkFilter,
  checkFork,
  checkInstanceId,
  checkListener,
  checkPage,
  checkPatch,
  checkPurge,
  checkRerun,
  checkSubscription,
  checkQueueFilter,
  checkReason,
  checkRunJobOptions,
  checkStopOptions,
  checkTask,
  checkSignal,
  checkStartOptions,
  checkSubmitOptions,
  checkUpdateId,
  checkUpdateOptions,
} from "./argument-check.ts";
import type { Breakpoint } from "../views/breakpoint.ts";
import { Admission } from "./admission.ts";
import { Maintenance } from "./maintenance.ts";
import { OutageDeadline } from "./outage-deadline.ts";
import { CodeStarts, type RaisedData } from "./code-starts.ts";
import type { MemberView } from "../cluster/member-view.ts";
import { ClusterMember } from "../member/cluster-member.ts";
import { Executor } from "./executor.ts";
import { forkPoint } from "./forked-events.ts";
import { changeOf, type InstanceChange } from "./instance-change.ts";
import { JobRuns } from "./job-runs.ts";
import type { InstanceView, TaskDetails } from "../views/instance-view.ts";
import { syncJobs } from "./job-sync.ts";
import type { JobTaskOptions } from "./job-workflow.ts";
import { type EngineOptions, type ResolvedOptions, resolveOptions } from "./options.ts";
import {
  type JobView,
  jobView,
  type QueuedTask,
  type StuckInstance,
  type QueueFilter,
  queuedTasks,
  type WorkerView,
  type WorkflowView,
} from "./overview.ts";
import { ProcessCode } from "./process-code.ts";
import { Purging } from "./purging.ts";
import { scheduleWorkflow } from "../schedules/schedule-workflow.ts";
import { Schedules } from "./schedules.ts";
import { jsonTexts, startContext, Submission } from "./submission.ts";
import { Watchdog } from "./watchdog.ts";
import { WorkflowController } from "./workflow-controller.ts";
import { WorkflowFailed, WorkflowTerminated } from "./workflow-ended.ts";
import { WorkflowHandle } from "./workflow-handle.ts";

export interface SubmitOptions {
  /** Default: a new UUID. One that is active is refused. */
  readonly instanceId?: string;
  /** A finished instance of that id may be followed by a new one. */
  readonly reuse?: boolean;
  /** Become the context; what is not an object becomes `{initParams}`. */
  readonly params?: unknown;
  /** Tasks that run at a time; before the context's `maxConcurrentTasks`, the definition's and the engine's. */
  readonly maxConcurrentTasks?: number;
  /** W3C trace context: what runs is part of that trace. */
  readonly traceparent?: string;
}

export interface RunJobOptions extends JobTaskOptions {
  /** Default: a new UUID. One that is active is refused. */
  readonly instanceId?: string;
  /** A finished instance of that id may be followed by a new one. */
  readonly reuse?: boolean;
  /** What the job finds in `ctx.context`. */
  readonly context?: Readonly<Record<string, unknown>>;
  /** W3C trace context: what runs is part of that trace. */
  readonly traceparent?: string;
}

export interface StartOptions {
  /** Default: a new UUID. */
  readonly instanceId?: string;
  /** A finished instance of that id may be followed by a new one; or only one that did not succeed. Default false. */
  readonly reuse?: Reuse;
  /**
   * If one of that id is active: it is refused (the default), is the one that is given back, or is terminated first, which
   * is allowed to be followed by the new one.
   */
  readonly whenActive?: "refuse" | "use" | "terminate";
  /** W3C trace context: what runs is part of that trace. */
  readonly traceparent?: string;
}

export interface Health {
  readonly status: "new" | "up" | "degraded" | "draining" | "stopped";
  /** Why no new work is taken. */
  readonly problem: string | undefined;
  readonly unfinishedInstances: number;
  readonly instancesInMemory: number;
  readonly quarantinedInstances: number;
  readonly stuckInstances: readonly string[];
  /** Tasks that wait for anything but their predecessors, and instances that wait as a whole. */
  readonly waitingTasks: number;
  readonly runningTasks: number;
  /** When the task that runs longest was started. */
  readonly oldestRunningAt: number | undefined;
  /** Messages to instances of this process that no turn has taken yet. */
  readonly unreadMessages: number;
  /** Reports of older attempts or ended instances: dropped. */
  readonly droppedReports: number;
  /** Messages of remote workers that broke the protocol: each closed the worker's link. */
  readonly refusedWorkerMessages: number;
}

/** One turn of an instance as history keeps it. */
export interface HistoryEntry {
  readonly turn: number;
  readonly at: number;
  readonly firstEvent: number;
  readonly events: readonly Event[];
}

type Stage = "new" | "starting" | "up" | "stopping" | "stopped";

const startRefusals: Readonly<Record<Exclude<Stage, "new">, string>> = {
  starting: "it is already starting",
  up: "it is already started",
  stopping: "it is being stopped; make a new Engine on the same storage once it has stopped",
  stopped: "it was stopped; make a new Engine on the same storage to go on",
};

const stopRefusals: Readonly<Record<Exclude<Stage, "up">, string>> = {
  new: "it has not been started",
  starting: "it is still starting",
  stopping: "it is already being stopped",
  stopped: "it was stopped already",
};

/** Where the parts are joined: a store, a pool of workers, and the instances between them. */
export class Engine {
  readonly executor: Executor;
  readonly schedules: Schedules;
  readonly #ownAddress = `${hostname()}:${process.pid}`;
  readonly #options: ResolvedOptions;
  readonly #registry = new JobRegistry();
  readonly #code = new CodeRegistry();
  readonly #dispatcher: Dispatcher;
  readonly #definitions: Definitions;
  readonly #region: Region;
  readonly #calls: CallClient;
  readonly #submission: Submission;
  readonly #maintenance: Maintenance;
  readonly #member: ClusterMember | undefined;
  readonly #watch: CodeWatch | undefined;
  readonly #watchdog: Watchdog | undefined;
  readonly #processCode: ProcessCode;
  readonly #codeStarts: CodeStarts;
  readonly #jobRuns: JobRuns;
  readonly #purging: Purging;
  #stage: Stage = "new";
  #problem: unknown;
  readonly #fenced = Promise.withResolvers<EngineError>();
  /** Another engine has taken over. This is for ever. */
  #fencedBy: EngineError | undefined;
  readonly #storeProbe: StoreProbe;
  readonly #outage: OutageDeadline;
  readonly #admission: Admission;

  /** `OPTION_INVALID`, `POOL_SIZE_INVALID`, `JOB_DUPLICATE`. */
  constructor(options: EngineOptions) {
    this.#options = resolveOptions(options);
    const { storage: store, clock, random, logger, cluster, domains, jobs, workflows, watchCode } = this.#options;
    const { onTaskLog, runsJobs, watchdog } = this.#options;
    this.#watchdog = watchdog && new Watchdog(watchdog, logger);
    this.#watch = watchCode ? new CodeWatch(logger) : undefined;
    this.#processCode = this.#makeProcessCode();
    for (const job of jobs) this.#registry.register(job);
    this.#code.registerOwn(scheduleWorkflow);
    for (const workflow of workflows) if (!(workflow instanceof Workflow)) this.#code.register(workflow);
    this.#dispatcher = this.#makeDispatcher();
    const dispatcher = this.#dispatcher;
    this.#member =
      cluster &&
      new ClusterMember({ options: cluster, store, clock, random, logger, dispatcher, domains, runsJobs, onTaskLog });
    this.executor = new Executor({
      dispatcher,
      registry: this.#registry,
      clock,
      random,
      defaultTimeoutSeconds: this.#options.defaultTimeoutSeconds,
      refuseUnlessStarted: () => this.#refuseIfNew(),
      domains: {
        isShared: this.#member !== undefined,
        setDomain: (domain) => this.#setDomain(domain),
      },
    });
    const expressions = new Expressions();
    this.#definitions = new Definitions(store);
    this.#region = this.#makeRegion(expressions);
    const handler = this.#makeHandler();
    this.#calls = new CallClient({ clock, random, region: this.#region, handler, transport: this.#member });
    const runtime = { region: this.#region, client: this.#calls, handler };
    this.#member?.attach(runtime, (outcome, taskName) => this.#admitOutcome(outcome, taskName));
    this.#submission = new Submission({
      definitions: this.#definitions,
      registry: this.#registry,
      expressions,
      hasDomain: (domain) => dispatcher.hasDomain(domain),
      workflows: workflows.filter((workflow) => workflow instanceof Workflow),
      code: this.#code,
    });
    this.#jobRuns = this.#makeJobRuns();
    this.schedules = new Schedules({
      engine: this,
      clock,
      versionOf: (workflow) => this.#versionOf(workflow),
      checkInput: (workflow, input) => this.#submission.checkInput(workflow, input),
      jobs: this.#jobRuns,
    });
    this.#maintenance = new Maintenance({
      region: this.#region,
      calls: this.#calls,
      store,
      clock,
      logger,
      options: this.#options,
    });
    this.#outage = new OutageDeadline(clock);
    this.#admission = new Admission(clock);
    const onStoreProblem = (problem: unknown): void => this.#region.reportProblem(problem);
    this.#storeProbe = new StoreProbe({ store, clock, logger, onHealth: onStoreProblem });
    this.#codeStarts = this.#makeCodeStarts();
    this.#purging = this.#makePurging();
  }

  #makeProcessCode(): ProcessCode {
    const { clock, logger } = this.#options;
    const versionOf = (workflow: string): string | undefined => this.#versionOf(workflow);
    const hasDomain = (domain: string): boolean => this.#dispatcher.hasDomain(domain);
    const loopWatch = this.#watchdog?.loopWatch;
    return new ProcessCode({
      registry: this.#code,
      clock,
      logger,
      versionOf,
      hasDomain,
      watch: this.#watch,
      loopWatch,
    });
  }

  #versionOf(workflow: string): string | undefined {
    return this.#jobRuns.versionOf(workflow) ?? this.#submission.versionOf(workflow);
  }

  #makeCodeStarts(): CodeStarts {
    return new CodeStarts({
      code: this.#code,
      submission: this.#submission,
      calls: this.#calls,
      refuseUnlessReady: () => this.#refuseUnlessReady(),
      statusOf: async (id) => (await this.#call({ type: "GetIdentity", id })).status,
      raise: (id, { name, data }) => this.raiseEvent(id, name, data),
      terminate: (id, reason) => this.terminateWorkflowInstance(id, reason),
    });
  }

  #makeJobRuns(): JobRuns {
    return new JobRuns({
      registry: this.#registry,
      submission: this.#submission,
      saveDefinitions: (definitions) => this.#saveDefinitions(definitions),
      onRecorded: ({ name, version }) => this.#region.workflowCame(name, version),
    });
  }

  /** A start fails with the store; later on it is waited for. */
  #saveDefinitions(definitions: readonly Definition[]): Promise<void> {
    const isUp = this.#stage === "up";
    return isUp ? this.#region.saveDefinitionsPatiently(definitions) : this.#region.saveDefinitions(definitions);
  }

  #makePurging(): Purging {
    return new Purging({
      identityOf: (id) => this.#call({ type: "GetIdentity", id }),
      childrenOf: async (id) => {
        const { tasks } = await this.getWorkflowInstanceStatus(id);
        return tasks.flatMap(({ childInstanceId }) => childInstanceId ?? []);
      },
      remove: async (instance) => (await this.#calls.purge([instance])) > 0,
    });
  }

  #makeDispatcher(): Dispatcher {
    const { clock, logger, maxSubTasks, poolSize, poolSizeMax, domains, stopGraceMs, cluster } = this.#options;
    const { onTaskLog, aroundJob, runsJobs } = this.#options;
    const mayStart = (): boolean => this.#member?.isLeaseValid() ?? false;
    const worker = new EmbeddedWorker({
      ...(cluster !== undefined && { mayStart }),
      jobs: { get: (id) => this.#registry.find(id)?.job },
      logger,
      threads: new ThreadWorker({ clock, logger }),
      address: () => this.#address(),
      maxSubTasks,
      admitSubTasks: (subTasks, parentName) => this.#admitSubTasks(subTasks, parentName),
      onTaskLog,
      onProgress: (id, progress) => this.#dispatcher.noteProgress(id, progress),
      aroundJob,
      loopWatch: this.#watchdog?.loopWatch,
    });
    const shared: Partial<DispatcherOptions> | undefined = cluster && {
      sharedDomains: true,
      mayStart,
      onDemand: (domain) => this.#member?.wantsSlots(domain),
      onDetached: (run, gone) => this.#member?.onDetached(run, gone),
    };
    return new Dispatcher({
      clock,
      logger,
      ...(runsJobs && { worker }),
      poolSize,
      poolSizeMax,
      domains,
      graceMs: stopGraceMs,
      ...shared,
    });
  }

  #makeRegion(expressions: Expressions): Region {
    const { storage: store, clock, random, logger, maxSubTasks, maxInterruptions, maxSteps } = this.#options;
    const { cluster, idleMax, maxConcurrentTasks, maxConcurrentActivities, defaultTimeoutSeconds } = this.#options;
    return new Region({
      shardCount: cluster?.shards ?? 1,
      laneCount: store.lanes,
      idleMax,
      ...(this.#member !== undefined && { cluster: this.#member }),
      store,
      clock,
      random,
      // The code of workflows logs through it too.
      logger: this.#watch?.logger ?? logger,
      dispatcher: this.#dispatcher,
      definitions: this.#definitions,
      expressions,
      code: this.#processCode,
      limits: {
        subTasksMax: maxSubTasks,
        interruptionsMax: maxInterruptions,
        stepsMax: maxSteps,
        concurrentTasks: maxConcurrentTasks,
        concurrentActivities: maxConcurrentActivities,
        timeoutMs: defaultTimeoutSeconds === undefined ? undefined : defaultTimeoutSeconds * 1000,
      },
      owner: () => this.#address(),
      resolveJob: (definition, params) => this.#resolveJob(definition, params),
      onHealth: (problem) => this.#onHealth(problem),
      onFenced: (shard, error) => this.#onFenced(shard, error),
    });
  }

  #makeHandler(): CallHandler {
    const { storage: store, clock } = this.#options;
    const member = this.#member;
    return new CallHandler({
      store,
      clock,
      definitions: this.#definitions,
      registry: this.#registry,
      dispatcher: this.#dispatcher,
      region: this.#region,
      allocators: member?.allocators,
      isLeaseValid: () => member?.isLeaseValid() ?? true,
    });
  }

  /** As whom it owns shards and runs jobs. */
  #address(): string {
    return this.#member?.id ?? this.#ownAddress;
  }

  /** Unfinished instances of an earlier run go on by themselves. `ENGINE_STATE`, and the store's own errors. */
  async start(): Promise<void> {
    if (this.#stage !== "new")
      throw new EngineError("ENGINE_STATE", `the engine cannot be started: ${startRefusals[this.#stage]}`);
    this.#stage = "starting";
    const { storage: store, clock, logger } = this.#options;
    try {
      await store.open();
    } catch (error) {
      this.#stage = "new";
      throw error;
    }
    this.#watchdog?.start();
    try {
      await this.#settleShardCount();
      // Nobody's beat yet: it changes nothing, and shows how the shards are.
      refuseHalfImported((await store.beat(this.#address())).shards);
      await syncJobs({
        registry: this.#registry,
        store,
        logger,
        now: clock.now(),
        isShared: this.#member !== undefined,
      });
      if (this.#member === undefined) await this.#restoreDomains();
      await this.#region.saveDefinitions(await this.#prepareWorkflows());
      await this.#jobRuns.record();
      this.#processCode.start();
      await (this.#member ?? this.#region).open();
    } catch (error) {
      this.#processCode.stop();
      await this.#watchdog?.stop();
      // As long as nothing runs, the next start finds everything as this one did. A member joins once.
      const isIdle = this.#dispatcher.waitingCount + this.#dispatcher.runningCount === 0;
      this.#stage = isIdle && this.#member?.hasJoined !== true ? "new" : "stopped";
      if (this.#stage === "stopped") await this.executor.shutdown();
      await store.close();
      throw error;
    }
    this.#maintenance.start();
    this.#storeProbe.start();
    this.#stage = "up";
  }

  /** What this engine's options say of a domain is in force again at the next start; in a cluster the store has the last word. */
  async #setDomain(domain: DomainRow): Promise<void> {
    if (this.#member !== undefined) return await this.#member.setDomain(domain);
    if (!Object.hasOwn(this.#options.domains, domain.name)) await this.#calls.setDomain(domain);
  }

  async #restoreDomains(): Promise<void> {
    const { storage, domains, logger } = this.#options;
    const declared = (await storage.loadDomains()).filter(({ name }) => !Object.hasOwn(domains, name));
    for (const { domain, error } of this.executor.restoreDomains(declared)) {
      logger.warn({ domain, error: error.message }, "a domain that was declared at runtime does not fit into the pool");
    }
  }

  /** A workflow that could not run does not keep the others from it. */
  #prepareWorkflows(): Promise<Definition[]> {
    return this.#submission.prepareAll((workflow, error) => {
      this.#options.logger.warn({ workflow, error: error.message }, "a workflow of this engine cannot be started");
    });
  }

  /** Running tasks get the signal, state is kept, the store is closed. `ENGINE_STATE` unless it is running. */
  async stop(): Promise<void> {
    if (this.#stage !== "up")
      throw new EngineError("ENGINE_STATE", `the engine cannot be stopped: ${stopRefusals[this.#stage]}`);
    this.#stage = "stopping";
    this.#maintenance.stop();
    this.#storeProbe.stop();
    this.#outage.stop();
    if (!this.#dispatcher.isShutDown) await this.executor.shutdown();
    try {
      if (this.#problem !== undefined || this.#fencedBy !== undefined) this.#region.giveUp();
      await (this.#member ?? this.#region).close();
    } finally {
      this.#stage = "stopped";
      this.#processCode.stop();
      await this.#watchdog?.stop();
      await this.#options.storage.close();
    }
  }

  async #settleShardCount(): Promise<void> {
    const wanted = this.#options.cluster?.shards ?? 1;
    const settled = await this.#options.storage.settleShardCount(wanted);
    if (settled === wanted) return;
    throw new EngineError("OPTION_INVALID", shardCountProblem(settled, this.#options.cluster));
  }

  /** Takes what `defineJob` gave, or what it takes. Returns the job's id: its name and a hash of its parameters. `JOB_DUPLICATE`, `JOB_INVALID`. */
  registerJobFunction(job: Job): string;
  registerJobFunction<Params, Output, Input = Params>(
    name: string,
    fn: JobFunction<Params, Output>,
    options?: JobOptions | JobOptionsWithInput<Input, Params>,
  ): string;
  registerJobFunction(jobOrName: Job | string, fn?: JobFunction<unknown, unknown>, options: JobOptions = {}): string {
    const job = typeof jobOrName === "string" ? defineJob(jobOrName, options, fn as Job["fn"]) : jobOrName;
    const id = this.#registry.register(job);
    this.#dispatcher.onJobsChanged();
    if (this.#stage === "up") void this.#recordJobs();
    return id;
  }

  /** Accepted, which is to say durable, when it resolves. */
  async submitWorkflow(workflow: Workflow, options: SubmitOptions = {}): Promise<WorkflowController> {
    this.#refuseUnlessReady();
    checkSubmitOptions(options);
    const { clock, random } = this.#options;
    const id = options.instanceId ?? random.uuid(clock.now());
    await this.#admission.run(() => this.#outage.watch(`instance "${id}"`, this.#submit(id, workflow, options)));
    return this.#controller(id, workflow);
  }

  /**
   * Runs a registered job by itself: an instance of workflow `job:<name>` whose only task has the job's name. Accepted,
   * which is to say durable, when it resolves. `JOB_MISSING`, `PARAMS_INVALID`, `INSTANCE_EXISTS`.
   */
  async runJob(job: string, params?: unknown, options?: RunJobOptions): Promise<WorkflowController>;
  async runJob<Params, Output, Input>(
    job: Job<Params, Output, Input>,
    ...given: [...ParamsArgument<Input>, options?: RunJobOptions]
  ): Promise<WorkflowController>;
  async runJob(job: Job | string, params?: unknown, options: RunJobOptions = {}): Promise<WorkflowController> {
    this.#refuseUnlessReady();
    checkRunJobOptions(options);
    const { context, timeoutSeconds, retryCount, retryPolicy, domain, ...start } = options;
    const task = { timeoutSeconds, retryCount, retryPolicy, domain } as JobTaskOptions;
    const { workflow, taskParams } = await this.#jobRuns.prepare(job, params, task);
    const { clock, random } = this.#options;
    const id = options.instanceId ?? random.uuid(clock.now());
    const given = { ...start, ...(context !== undefined && { params: context }) };
    const submitted = (): Promise<void> =>
      this.#outage.watch(`instance "${id}"`, this.#submit(id, workflow, given, taskParams));
    await this.#admission.run(submitted);
    return this.#controller(id, workflow);
  }

  async #submit(id: string, workflow: Workflow, options: SubmitOptions, taskParams?: string): Promise<void> {
    this.#refuseUnlessReady();
    const { definition, all } = this.#submission.prepared(workflow) ?? (await this.#submission.prepare(workflow));
    const { instanceId, maxConcurrentTasks, traceparent } = options;
    await this.#calls.start({
      id,
      isGivenId: instanceId !== undefined,
      reuse: options.reuse ?? false,
      definition,
      definitions: all,
      input: {
        context: startContext(workflow, options.params),
        trigger: "api",
        ...(taskParams !== undefined && { taskParams }),
        ...(maxConcurrentTasks !== undefined && { maxConcurrentTasks }),
        ...(traceparent !== undefined && { traceparent }),
      },
    });
  }

  /**
   * Makes a workflow known, beside those given to the constructor. Instances that wait for its code go on; a DAG takes
   * the place of the one that had its name, also if it is refused because it could not run as it is.
   * `WORKFLOW_DUPLICATE`, `WORKFLOW_INVALID`, and for a DAG whatever submitting it would give.
   */
  async registerWorkflow(workflow: Workflow | CodeWorkflow): Promise<void> {
    if (workflow instanceof Workflow) {
      this.#submission.know(workflow);
      if (this.#stage !== "up") return;
      const { definition, all } = await this.#submission.prepare(workflow);
      await this.#region.saveDefinitionsPatiently(all);
      return this.#region.workflowCame(definition.name, definition.version);
    }
    this.#code.register(workflow);
    if (this.#stage !== "up") return;
    await this.#region.saveDefinitionsPatiently([this.#submission.defineCode(workflow)]);
    this.#region.workflowCame(workflow.name, workflow.version);
  }

  /**
   * Refuses what submitting it would, and keeps nothing of it: the workflow is not known afterwards. What only may be
   * missing for now (`JOB_MISSING`, `DOMAIN_UNKNOWN`, `WORKFLOW_UNKNOWN`) is told if nothing else is wrong.
   */
  async checkWorkflow(workflow: Workflow | CodeWorkflow): Promise<void> {
    this.#refuseUnlessUp();
    await this.#submission.check(workflow);
  }

  /** A DAG is not known by its name any more; what runs of it goes on. */
  forgetWorkflow(name: string): void {
    this.#submission.forget(name);
  }

  /** What this process can start under that name. */
  findWorkflow(name: string): Workflow | CodeWorkflow | undefined {
    return this.#submission.find(name);
  }

  /** What this process can start by name, but for workflows of the engine's own. */
  listWorkflows(): WorkflowView[] {
    return this.#submission.names.map((name) => ({
      name,
      version: this.#submission.versionOf(name),
      kind: this.#submission.find(name) instanceof Workflow ? "dag" : "code",
    }));
  }

  /** Accepted, which is to say durable, when it resolves. `INPUT_INVALID`, `INSTANCE_EXISTS`, `WORKFLOW_UNKNOWN`. */
  async startWorkflow<Params, Output, Input>(
    workflow: CodeWorkflow<Params, Output, Input>,
    ...[input, options]: [...ParamsArgument<Input>, options?: StartOptions]
  ): Promise<WorkflowHandle<Jsonified<Awaited<Output>>>> {
    const given = (options ?? {}) as StartOptions;
    checkStartOptions(given);
    const { instanceId, reuse = false, whenActive = "refuse", traceparent } = given;
    const id = instanceId ?? this.#options.random.uuid(this.#options.clock.now());
    if (instanceId !== undefined && whenActive !== "refuse") {
      await this.#codeStarts.startOverActive(workflow, input, { id, reuse, whenActive, traceparent });
      return new WorkflowHandle(this, id);
    }
    await this.#codeStarts.start(workflow, input, { id, isGivenId: instanceId !== undefined, reuse, traceparent });
    return new WorkflowHandle(this, id);
  }

  /**
   * Raises an event for the instance of that id; if there is none, or it has ended, starts one that has the event from
   * its beginning.
   */
  async signalWithStart<Params, Output, Input>(
    workflow: CodeWorkflow<Params, Output, Input>,
    options: { readonly instanceId: string; readonly input?: Input; readonly event: RaisedData },
  ): Promise<WorkflowHandle<Jsonified<Awaited<Output>>>> {
    checkSignal(options);
    const { instanceId: id, input, event } = options;
    await this.#codeStarts.startOrRaise(workflow, input, { id, event });
    return new WorkflowHandle(this, id);
  }

  /**
   * A new instance that goes on from what this one had come to when its code asked for that task, which is then asked for
   * again. Tasks are numbered from 0, in the order the code asked for them. `TASK_UNKNOWN`.
   */
  async forkWorkflowInstance<Output = unknown>(
    instanceId: string,
    options: { readonly fromTask: number; readonly instanceId?: string },
  ): Promise<WorkflowHandle<Output>> {
    checkFork(options);
    const { key, workflow, version } = await this.#call({ type: "GetIdentity", id: instanceId });
    const { clock, random, storage } = this.#options;
    const definition = await this.#definitions.load(workflow, version);
    if (definition.kind === "dag") {
      throw new EngineError("INSTANCE_STATE", `instance "${instanceId}" is a DAG: rerun it from one of its tasks`);
    }
    const { fork, input } = await forkPoint(storage, { id: instanceId, key }, options.fromTask);
    const id = options.instanceId ?? random.uuid(clock.now());
    await this.#calls.start({
      id,
      isGivenId: options.instanceId !== undefined,
      reuse: false,
      definition,
      definitions: [],
      input: { context: {}, trigger: "api", fork, ...(input !== undefined && { input }) },
    });
    return new WorkflowHandle(this, id);
  }

  /** Of an instance of code that was started before, by this engine or in an earlier run. `INSTANCE_UNKNOWN`. */
  async getWorkflowHandle<Output = unknown>(instanceId: string): Promise<WorkflowHandle<Output>> {
    await this.#call({ type: "GetIdentity", id: instanceId });
    return new WorkflowHandle(this, instanceId);
  }

  /** Kept until the code waits for it. Durable when it resolves. */
  async raiseEvent(instanceId: string, name: string, data?: unknown): Promise<void> {
    checkName("an event", name);
    const text = textOf(data, `the data of event "${name}"`);
    await this.#change({ type: "RaiseEvent", id: instanceId, name, ...(text !== undefined && { data: text }) });
  }

  /** What the code answers from its variables, also after its end. `HANDLER_UNKNOWN`, `HANDLER_FAILED`. */
  async queryWorkflowInstance<Answer = unknown>(instanceId: string, query: string, input?: unknown): Promise<Answer> {
    this.#refuseUnlessUp();
    checkInstanceId(instanceId);
    checkName("a query", query);
    const text = toJsonText(input, `the input of query "${query}"`);
    const given = text === undefined ? {} : { input: text };
    return parsed(await this.#calls.callInstance({ type: "QueryCode", id: instanceId, query, ...given })) as Answer;
  }

  /**
   * Lets the code do something, and gives back what it answers. `HANDLER_UNKNOWN`, and `INPUT_INVALID` if the code's own
   * check does not let it in. The same `updateId` again is the same update. Throws `StepFailed` if it failed.
   */
  async updateWorkflowInstance<Answer = unknown>(
    instanceId: string,
    name: string,
    input?: unknown,
    options: { readonly updateId?: string } = {},
  ): Promise<Answer> {
    checkUpdateOptions(options);
    const { clock, random, storage } = this.#options;
    const update = options.updateId ?? random.uuid(clock.now());
    checkName("an update", name);
    checkUpdateId(update);
    const data = textOf(input, `the input of update "${name}"`);
    await this.#change({ type: "RequestUpdate", id: instanceId, update, name, ...(data !== undefined && { data }) });
    const { key, answer } = await this.#calls.awaitUpdate(instanceId, update);
    if (answer.failure !== undefined) {
      throw new StepFailed(`update "${name}" failed: ${answer.failure.message}`, answer.failure);
    }
    return parsed(await readText(answer.output, (refs) => storage.readPayloads(key, refs))) as Answer;
  }

  /** Asks the code to end: what it waits for is called off, and what it did is undone. */
  async cancelWorkflowInstance(instanceId: string, reason = "canceled by user"): Promise<void> {
    checkReason(reason);
    await this.#change({ type: "CancelInstance", id: instanceId, reason });
  }

  /** The controller of an instance that was started before, by this engine or in an earlier run. `INSTANCE_UNKNOWN`. */
  async getWorkflowController(instanceId: string): Promise<WorkflowController> {
    this.#refuseUnlessUp();
    checkInstanceId(instanceId);
    const { workflow, version } = await this.#call({ type: "GetIdentity", id: instanceId });
    const { kind, name, spec } = await this.#definitions.load(workflow, version);
    if (kind === "dag") return this.#controller(instanceId, Workflow.fromJSON(spec, { name }));
    throw new EngineError(
      "INSTANCE_STATE",
      `instance "${instanceId}" is a code workflow: getWorkflowHandle gives what it can be asked`,
    );
  }

  #controller(instanceId: string, definition: Workflow): WorkflowController {
    return new WorkflowController({ engine: this, region: this.#region, instanceId, definition });
  }

  /**
   * What it gave, once it has ended: the outputs by task name of a DAG, or what code gave back. Throws `WorkflowFailed` or
   * `WorkflowTerminated` otherwise, and `RESULT_TOO_LARGE` if the outputs together pass 64 MB: `getTaskOutput` reads one.
   */
  async awaitWorkflowInstance<Result = Record<string, unknown>>(instanceId: string): Promise<Result> {
    this.#refuseUnlessUp();
    checkInstanceId(instanceId);
    const end = await this.#calls.awaitEnd(instanceId);
    const { status, reason, outputs, output } = end;
    if (status === "Failed") throw new WorkflowFailed(instanceId, reason, end.failedTasks ?? []);
    if (status === "Terminated") throw new WorkflowTerminated(instanceId, reason);
    if (outputs === undefined && typeof output !== "object") return parsed(output) as Result;
    if (outputs !== undefined) refuseLargeResult(instanceId, outputs);
    const texts = outputs && textsAtHand(outputs);
    return (texts === undefined ? await this.#readResult(end) : parseTexts(texts)) as Result;
  }

  async #readResult({ key, outputs, output }: InstanceEnd): Promise<unknown> {
    const read = (refs: readonly number[]): Promise<string[]> => this.#options.storage.readPayloads(key, refs);
    return outputs === undefined ? parsed(await readText(output, read)) : parseTexts(await readTexts(outputs, read));
  }

  /** What one task of a DAG gave, also while others run. `TASK_UNKNOWN` if no task of that name has succeeded with an output. */
  async getTaskOutput(instanceId: string, task: string): Promise<unknown> {
    const { key, outputs } = await this.#call({ type: "GetEnd", id: instanceId });
    const output = outputs !== undefined && Object.hasOwn(outputs, task) ? outputs[task] : undefined;
    if (output === undefined) {
      throw new EngineError("TASK_UNKNOWN", `instance "${instanceId}" has no output of a task ${preview(task)}`);
    }
    return parsed(await readText(output, (refs) => this.#options.storage.readPayloads(key, refs)));
  }

  /** `INSTANCE_UNKNOWN`. */
  getWorkflowInstanceStatus(instanceId: string): Promise<InstanceView> {
    return this.#call({ type: "GetStatus", id: instanceId });
  }

  /** Where an instance stands, readable at any time: completed and running tasks, the DAG, the context. */
  async getWorkflowInstanceBreakpoint(instanceId: string): Promise<Breakpoint> {
    const { key, context, ...view } = await this.#call({ type: "GetBreakpoint", id: instanceId });
    const texts = await readTexts(context, (refs) => this.#options.storage.readPayloads(key, refs));
    return { ...view, context: parseTexts(texts) };
  }

  /** The turns of an instance, oldest first. */
  async getWorkflowInstanceHistory(
    instanceId: string,
    page: { afterTurn?: number; limit?: number } = {},
  ): Promise<HistoryEntry[]> {
    checkPage(page);
    const { key } = await this.#call({ type: "GetIdentity", id: instanceId });
    const { afterTurn = -1, limit = 1000 } = page;
    const rows = await this.#options.storage.readHistory(key, { afterTurn, limit });
    return rows.map(({ turn, at, firstEvent, events }) => ({
      turn,
      at,
      firstEvent,
      events: JSON.parse(events) as Event[],
    }));
  }

  /** All that has happened to an instance of code, large values included, for `replayWorkflow` of `heddle/testing`. `INSTANCE_UNKNOWN`. */
  async exportWorkflowInstanceHistory(instanceId: string): Promise<RecordedHistory> {
    const { key } = await this.#call({ type: "GetIdentity", id: instanceId });
    return await recordHistory(this.#options.storage, { id: instanceId, key });
  }

  /** Newest first. */
  async listWorkflowInstances(filter: Partial<InstanceFilter> = {}): Promise<InstanceSummary[]> {
    this.#refuseUnlessUp();
    checkFilter(filter);
    return await this.#options.storage.listInstances({ limit: 100, ...filter });
  }

  /** `INSTANCE_STATE`, like all operations that the instance's state does not allow. */
  pauseWorkflowInstance(instanceId: string): Promise<void> {
    return this.#change({ type: "PauseInstance", id: instanceId });
  }

  /** Also brings a quarantined instance back into service. */
  resumeWorkflowInstance(instanceId: string): Promise<void> {
    return this.#change({ type: "ResumeInstance", id: instanceId });
  }

  async terminateWorkflowInstance(instanceId: string, reason = "terminated by user"): Promise<void> {
    checkReason(reason);
    await this.#change({ type: "TerminateInstance", id: instanceId, reason });
  }

  /** Failed, stopped and canceled tasks of an ended instance run again; successful ones stay. */
  retryWorkflowInstance(instanceId: string): Promise<void> {
    return this.#change({ type: "RetryInstance", id: instanceId });
  }

  /** The task and all that comes after it run again, with other parameters if given. */
  async rerunWorkflowInstance(instanceId: string, taskName: string, options: { params?: unknown } = {}): Promise<void> {
    checkRerun(options);
    const params = options.params === undefined ? {} : { params: textOfParams(taskName, options.params) };
    await this.#change({ type: "RerunInstance", id: instanceId, task: taskName, ...params });
  }

  /** A failed task counts as succeeded, with the given output; the instance goes on by itself. */
  async succeedTask(instanceId: string, taskName: string, output?: unknown): Promise<void> {
    const text = toJsonText(output, `the output for task "${taskName}"`);
    await this.#change({
      type: "SucceedTask",
      id: instanceId,
      task: taskName,
      ...(text !== undefined && { output: text }),
    });
  }

  /** A failed task counts as skipped; the instance goes on by itself. */
  skipTask(instanceId: string, taskName: string): Promise<void> {
    return this.#change({ type: "SkipTask", id: instanceId, task: taskName });
  }

  /**
   * Stops one task that runs, or waits for a slot or its retry: its signal aborts, a nested instance is terminated, the
   * task is `Stopped` and counts as failed. The code of a code workflow sees a failure of type `TASK_STOPPED`. A task is
   * given by its name or its number. `TASK_STATE`, `TASK_UNKNOWN`; `TASK_INVALID` if code runs several of that name.
   */
  async stopTask(instanceId: string, task: string | number, options: { reason?: string } = {}): Promise<void> {
    checkTask(task);
    checkStopOptions(options);
    await this.#change({ type: "StopTask", id: instanceId, task, reason: options.reason ?? "stopped by user" });
  }

  /** How one task stands, by its name or number: of several with that name, which only code has, the last. `TASK_UNKNOWN`. */
  async getTask(instanceId: string, task: string | number): Promise<TaskDetails> {
    this.#refuseUnlessUp();
    checkInstanceId(instanceId);
    checkTask(task);
    return await this.#calls.callInstance({ type: "GetTask", id: instanceId, task });
  }

  /** Top-level keys overwrite, null removes. `CONTEXT_TOO_LARGE`. */
  async updateContext(instanceId: string, patch: Readonly<Record<string, unknown>>): Promise<void> {
    checkPatch(patch);
    const removed = Object.keys(patch).filter((key) => patch[key] === null);
    const texts = { ...jsonTexts(patch, "the context"), ...Object.fromEntries(removed.map((key) => [key, null])) };
    await this.#change({ type: "UpdateContext", id: instanceId, patch: texts });
  }

  /** Only while the task is `Pending`: `TASK_STATE`. */
  async updateTaskParams(instanceId: string, taskName: string, params: unknown): Promise<void> {
    await this.#change({
      type: "UpdateParams",
      id: instanceId,
      task: taskName,
      params: textOfParams(taskName, params),
    });
  }

  /** A task joins a running instance: it waits for its parent, and what comes after the parent waits for it. */
  async addSubTask(instanceId: string, task: Task, parentName: string): Promise<void> {
    this.#refuseUnlessUp();
    const [node] = await this.#admitSubTasks([subTaskNode(task, parentName)], parentName);
    assert(node !== undefined, "a sub-task that is admitted is given back");
    await this.#change({ type: "AddSubTask", id: instanceId, parent: parentName, node });
  }

  /**
   * Removes ended instances and everything about them, all lives of an id; gives back how many. `onPurged` hears of each
   * id that is gone, also of those it started. `INSTANCE_STATE` for one that has not ended.
   */
  async purgeWorkflowInstances(
    which:
      | { instanceId: string; recursive?: boolean; onPurged?: (instanceId: string) => void }
      | { status: EndStatus; endedBefore: number },
  ): Promise<number> {
    this.#refuseUnlessUp();
    checkPurge(which);
    if ("status" in which) return await this.#maintenance.purgeEnded(which.status, which.endedBefore);
    const { instanceId, recursive = false, onPurged } = which;
    return await this.#purging.purge(instanceId, { recursive, onPurged });
  }

  /** Calls back after every durable change, of one instance or of all. Gives back how to stop it. */
  subscribe(listener: (change: InstanceChange) => void, options: { instanceId?: string } = {}): () => void {
    checkSubscription(listener, options);
    return this.#region.subscribe((turn) => {
      if (options.instanceId !== undefined && options.instanceId !== turn.instanceId) return;
      try {
        listener(changeOf(turn));
      } catch (error) {
        this.#options.logger.warn(
          { error: messageOf(error) },
          "a subscriber threw; it is called again for the next change",
        );
      }
    });
  }

  /** All members of the cluster, as this one sees them. Empty where there is none. */
  members(): MemberView[] {
    return this.#stage === "stopped" ? [] : (this.#member?.members() ?? []);
  }

  /**
   * A worker in a process of its own has connected; what comes in over the link goes to what is given back. `principal`
   * names whoever it was authenticated as: only workers of the same one can take over its id, or bring along what it ran.
   */
  acceptWorker(link: Link, options: { readonly principal?: string } = {}): LinkListener {
    this.#refuseUnlessUp();
    if (this.#member !== undefined) return this.#member.acceptWorker(link, options.principal);
    throw new EngineError("OPTION_INVALID", 'workers can connect only to an engine with the option "cluster"');
  }

  /**
   * What runs in this process, and what waits for anything but its predecessors: for a slot, a domain, its job, a place
   * within its instance's or workflow's limit, its next attempt, a resumption. At most `limit` of each, 1000 by default;
   * `health` has the whole numbers.
   */
  async listQueuedTasks(filter: QueueFilter = {}): Promise<QueuedTask[]> {
    this.#refuseUnlessUp();
    checkQueueFilter(filter);
    const { state, limit = 1000 } = filter;
    return await queuedTasks({ dispatcher: this.#dispatcher, region: this.#region }, { state, limit });
  }

  /**
   * Instances of this process that have something under way and have made no progress for so long; by default for the
   * option `stuckMs`. Those that wait for a time or an event are not among them.
   */
  listStuckInstances({ forMs = this.#options.stuckMs }: { forMs?: number } = {}): StuckInstance[] {
    this.#refuseUnlessUp();
    const before = this.#options.clock.now() - forMs;
    return this.#region.listStuck(before).map(({ id, workflow, lastTurnAt }) => {
      return { instanceId: id, workflowName: workflow, updatedAt: lastTurnAt };
    });
  }

  /** Those on record, whether or not this process has their functions. */
  async listJobs(): Promise<JobView[]> {
    this.#refuseUnlessUp();
    return (await this.#options.storage.loadJobs()).map((row) => jobView(row, this.#registry));
  }

  /** The highest priority first. */
  listDomains(): DomainOverview[] {
    return this.#dispatcher.listDomains();
  }

  /** Who runs tasks for this process: its own pool, and the workers that are connected to it. */
  listWorkers(): WorkerView[] {
    const connected = this.#dispatcher.listConnected();
    const remote = connected.map(({ worker, runningTasks }) => {
      const { address, slots, isDraining, isReachable, lastHeardAt, jobs } = worker;
      return { address, isRemote: true, slots, runningTasks, isDraining, isReachable, lastHeardAt, jobs };
    });
    if (!this.#options.runsJobs) return remote;
    const sum = (count: "slots" | "runningTasks"): number => remote.reduce((all, worker) => all + worker[count], 0);
    const own: WorkerView = {
      address: this.#address(),
      isRemote: false,
      slots: this.#dispatcher.poolSize - sum("slots"),
      runningTasks: this.#dispatcher.runningCount - sum("runningTasks"),
      isDraining: this.#dispatcher.isDraining,
      isReachable: true,
      lastHeardAt: undefined,
      jobs: this.#registry.ids,
    };
    return [own, ...remote];
  }

  /**
   * This process, or one of its remote workers, takes no new tasks. Resolves when what runs there has ended. What waits
   * goes on when the process is started again, or with another member. `WORKER_UNKNOWN`.
   */
  async drain(worker?: string): Promise<void> {
    this.#refuseUnlessUp();
    if (worker === undefined || worker === this.#address()) {
      const drained = this.#dispatcher.drain();
      this.#member?.announceChange();
      return await drained;
    }
    if (await this.#dispatcher.drainWorker(worker)) return;
    throw new EngineError("WORKER_UNKNOWN", `no worker ${preview(worker)} is connected to this process`);
  }

  /** Calls back when members come, go, are silent or take over. Gives back how to stop it. */
  onMemberEvent(listener: (event: MemberEvent) => void): () => void {
    checkListener("onMemberEvent", listener);
    return this.#member?.onEvent(listener) ?? (() => undefined);
  }

  get health(): Health {
    const { unfinished, inMemory, quarantined, unread, droppedReports, stuck } = this.#region.counts;
    const isUp = this.#stage === "up";
    const whileUp = this.#dispatcher.isDraining ? "draining" : "up";
    const problem = this.#fencedBy ?? this.#problem ?? (isUp ? this.#member?.problem : undefined);
    return {
      status: isUp ? (problem === undefined ? whileUp : "degraded") : this.#stage === "new" ? "new" : "stopped",
      problem: problem === undefined ? undefined : messageOf(problem),
      unfinishedInstances: unfinished,
      instancesInMemory: inMemory,
      quarantinedInstances: quarantined,
      stuckInstances: stuck,
      waitingTasks: this.#dispatcher.waitingCount + this.#region.waitingCount,
      runningTasks: this.#dispatcher.runningCount,
      oldestRunningAt: this.#dispatcher.oldestRunningAt,
      unreadMessages: unread,
      droppedReports: droppedReports + this.#dispatcher.lateReports,
      refusedWorkerMessages: this.#member?.refusedWorkerMessages ?? 0,
    };
  }

  /** Reads an instance. */
  async #call<T extends InstanceCallType>(call: CallOf<T>): Promise<ResultOf<T>> {
    this.#refuseUnlessUp();
    checkInstanceId(call.id);
    return await this.#calls.callInstance<T>(call);
  }

  /** Changes an instance: refused while the store takes no writes. */
  async #change(call: CallOf<InputCallType>): Promise<void> {
    this.#refuseUnlessUp();
    checkInstanceId(call.id);
    this.#refuseWithoutStore();
    await this.#outage.watch(`"${call.type}" of instance "${call.id}"`, this.#calls.callInstance(call));
  }

  /** What sub-tasks nest is durable before an instance refers to it. */
  async #admitSubTasks(subTasks: readonly NodeSpec[], parentName: string): Promise<readonly NodeSpec[]> {
    const { nodes, definitions } = await this.#submission.admit(subTasks, parentName);
    await this.#region.saveDefinitionsPatiently(definitions);
    return nodes;
  }

  #admitOutcome(outcome: Outcome, taskName: string): Outcome | Promise<Outcome> {
    return admitted(outcome, taskName, (subTasks, parentName) => this.#admitSubTasks(subTasks, parentName));
  }

  /** A job that is not here keeps its name: the task waits for it, visibly. */
  #resolveJob(definition: TaskDefinition, params: string | undefined): string {
    try {
      return this.#registry.resolve({ ...definition, params }).id;
    } catch (error) {
      if (error instanceof EngineError) return definition.jobName ?? String(definition.jobId);
      throw error;
    }
  }

  #refuseUnlessUp(): void {
    if (this.#stage === "up") return;
    this.#refuseIfNew();
    throw new EngineError(
      "ENGINE_STATE",
      `the engine is ${this.#stage}; a new Engine on the same storage goes on with its work`,
    );
  }

  /** For new work. */
  #refuseUnlessReady(): void {
    this.#refuseUnlessUp();
    this.#refuseWithoutStore();
  }

  /** `ENGINE_FENCED`, `STORE_GONE`, `STORE_UNAVAILABLE`. */
  #refuseWithoutStore(): void {
    if (this.#fencedBy !== undefined) throw this.#fencedBy;
    if (this.#problem === undefined) return;
    const code = hasCode(this.#problem, "STORE_GONE") ? "STORE_GONE" : "STORE_UNAVAILABLE";
    const message = `the store does not take writes, so no new work is taken: ${messageOf(this.#problem)}`;
    throw new EngineError(code, message, { cause: this.#problem });
  }

  /** Settles when another engine has taken over the data: this one never takes work again and is best ended. */
  get fenced(): Promise<EngineError> {
    return this.#fenced.promise;
  }

  #refuseIfNew(): void {
    if (this.#stage !== "new" && this.#stage !== "starting") return;
    throw new EngineError("ENGINE_STATE", "the engine has not been started: await engine.start() first");
  }

  #onHealth(problem: unknown): void {
    this.#problem = problem;
    this.#outage.onHealth(problem);
    if (problem === undefined) return this.#dispatcher.resumeDispatch();
    this.#dispatcher.pauseDispatch();
    if (this.#stage === "stopping") this.#region.giveUp();
  }

  #onFenced(shard: number, error: unknown): void {
    if (this.#member !== undefined) return this.#member.lostShard(shard);
    const { logger } = this.#options;
    if (!hasCode(error, "STORE_FENCED")) {
      // It was stopped while the store took no writes. What it had not written is done again at the next start.
      logger.warn(
        { error: messageOf(error) },
        "the engine stops without its last writes: the store does not take them",
      );
      return;
    }
    this.#dispatcher.pauseDispatch();
    const message = `another engine has taken over the database, and this one never takes work again; end this process (${messageOf(error)})`;
    this.#fencedBy = new EngineError("ENGINE_FENCED", message, { cause: error });
    logger.error({ error: messageOf(error) }, "this engine no longer owns its data and does nothing more");
    this.#fenced.resolve(this.#fencedBy);
  }

  async #recordJobs(): Promise<void> {
    const { storage: store, clock, logger } = this.#options;
    try {
      await syncJobs({
        registry: this.#registry,
        store,
        logger,
        now: clock.now(),
        isShared: this.#member !== undefined,
      });
      await this.#jobRuns.record();
    } catch (error) {
      logger.warn({ error: messageOf(error) }, "a newly registered job could not be recorded");
    }
  }
}

/** Empty for none. */
function textOfParams(taskName: string, params: unknown): string {
  return toJsonText(params, `params for task ${preview(taskName)}`) ?? "";
}

/** A store keeps the number of shards that it was first opened with: 1 where that was an engine without a cluster. */
function shardCountProblem(settled: number, cluster: ResolvedOptions["cluster"]): string {
  if (cluster === undefined) {
    return `the store belongs to a cluster: to join it, give this engine the option cluster: { shards: ${settled} }`;
  }
  const made = settled === 1 ? "1 shard, as an engine without a cluster makes it" : `${settled} shards`;
  return `the store was made with ${made}, not ${cluster.shards}: set cluster.shards to ${settled}, or use another store`;
}

function refuseLargeResult(instanceId: string, outputs: Payloads): void {
  refuseLargeJoin([outputs], {
    code: "RESULT_TOO_LARGE",
    what: `the ${Object.keys(outputs).length} outputs of instance "${instanceId}"`,
    instead: "read them one by one with getTaskOutput, or GET /api/instance/{id}/result?task=<name>",
  });
}
