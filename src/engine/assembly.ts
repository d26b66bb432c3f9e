import { hostname } from "node:os";
import { CodeRegistry } from "../authoring/code-registry.ts";
import { JobRegistry } from "../authoring/job-registry.ts";
import { Workflow } from "../authoring/workflow.ts";
import { CodeWatch } from "../code/watch-code.ts";
import { Dispatcher, type DispatcherOptions } from "../dispatch/dispatcher.ts";
import { Expressions } from "../expressions/expression.ts";
import type { MachineLimits } from "../kernel/machine.ts";
import { ClusterMember } from "../member/cluster-member.ts";
import { CallClient } from "../runtime/call-client.ts";
import { CallHandler } from "../runtime/call-handler.ts";
import { DefinitionSaver } from "../runtime/definition-saver.ts";
import { Definitions } from "../runtime/definitions.ts";
import { Region } from "../runtime/region.ts";
import { StoreProbe } from "../runtime/store-probe.ts";
import { scheduleWorkflow } from "../schedules/schedule-workflow.ts";
import type { DomainRow } from "../stores/store.ts";
import { EmbeddedWorker } from "../worker/embedded-worker.ts";
import { ThreadWorker } from "../worker/thread-worker.ts";
import { EngineState } from "./engine-state.ts";
import { Executor } from "./executor.ts";
import { LifeCycle } from "./life-cycle.ts";
import { Maintenance } from "./maintenance.ts";
import type { ResolvedOptions } from "./options.ts";
import { OutageDeadline } from "./outage-deadline.ts";
import { ProcessCode } from "./process-code.ts";
import { Registration } from "./registration.ts";
import { Submission } from "./submission.ts";
import { Watchdog } from "./watchdog.ts";

/**
 * The parts of one engine, joined: a store, a pool of workers, and the instances between them. Parts that need each other
 * are joined by functions, which are called only after all of them are made.
 */
export class Assembly {
  readonly options: ResolvedOptions;
  readonly state = new EngineState();
  readonly registry = new JobRegistry();
  readonly code = new CodeRegistry();
  readonly dispatcher: Dispatcher;
  /** Undefined for an engine alone on its store. */
  readonly member: ClusterMember | undefined;
  readonly executor: Executor;
  readonly definitions: Definitions;
  readonly region: Region;
  readonly calls: CallClient;
  readonly submission: Submission;
  readonly registration: Registration;
  readonly maintenance: Maintenance;
  readonly outage: OutageDeadline;
  readonly lifeCycle: LifeCycle;
  readonly #ownAddress = `${hostname()}:${process.pid}`;
  readonly #saver: DefinitionSaver;
  readonly #watch: CodeWatch | undefined;
  readonly #watchdog: Watchdog | undefined;
  readonly #processCode: ProcessCode;

  /** `POOL_SIZE_INVALID`, `JOB_DUPLICATE`, `WORKFLOW_DUPLICATE`, `WORKFLOW_INVALID`. */
  constructor(options: ResolvedOptions) {
    this.options = options;
    const { storage: store, clock, logger, jobs, workflows, watchCode, watchdog } = options;
    this.#watchdog = watchdog && new Watchdog(watchdog, logger);
    this.#watch = watchCode ? new CodeWatch(logger) : undefined;
    this.#processCode = this.#makeProcessCode();
    for (const job of jobs) this.registry.register(job);
    this.code.registerOwn(scheduleWorkflow);
    for (const workflow of workflows) if (!(workflow instanceof Workflow)) this.code.register(workflow);
    this.dispatcher = this.#makeDispatcher();
    this.member = this.#makeMember();
    this.executor = this.#makeExecutor();
    this.definitions = new Definitions(store);
    this.#saver = new DefinitionSaver({ store, clock, definitions: this.definitions, dispatcher: this.dispatcher });
    const expressions = new Expressions();
    this.region = this.#makeRegion(expressions);
    this.calls = this.#makeCalls();
    this.submission = this.#makeSubmission(expressions);
    this.registration = this.#makeRegistration();
    this.maintenance = new Maintenance({ region: this.region, calls: this.calls, store, clock, logger, options });
    this.outage = new OutageDeadline(clock);
    this.lifeCycle = this.#makeLifeCycle();
  }

  /** The name under which this process owns shards and runs jobs. */
  get address(): string {
    return this.member?.id ?? this.#ownAddress;
  }

  #makeProcessCode(): ProcessCode {
    const { clock, logger } = this.options;
    return new ProcessCode({
      registry: this.code,
      clock,
      logger,
      versionOf: (workflow) => this.registration.versionOf(workflow),
      hasDomain: (domain) => this.dispatcher.hasDomain(domain),
      watch: this.#watch,
      loopWatch: this.#watchdog?.loopWatch,
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
      ...(runsJobs && { worker: this.#makeWorker() }),
    };
    if (cluster === undefined) return new Dispatcher(alone);
    return new Dispatcher({
      ...alone,
      sharedDomains: true,
      mayStart: () => this.#isLeaseValid(),
      onDemand: (domain) => this.member?.onDemand(domain),
      onDetached: (run, gone) => this.member?.onDetached(run, gone),
    });
  }

  #makeWorker(): EmbeddedWorker {
    const { clock, logger, maxSubTasks, cluster, onTaskLog, aroundJob } = this.options;
    return new EmbeddedWorker({
      ...(cluster !== undefined && { mayStart: () => this.#isLeaseValid() }),
      jobs: { get: (id) => this.registry.find(id)?.job },
      logger,
      threads: new ThreadWorker({ clock, logger }),
      address: () => this.address,
      maxSubTasks,
      checkSubTasks: (subTasks, parentName) => this.registration.checkSubTasks(subTasks, parentName),
      onTaskLog,
      onProgress: (id, progress) => this.dispatcher.noteProgress(id, progress),
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
      stopGraceMs,
      onTaskLog,
    });
  }

  #makeExecutor(): Executor {
    const { clock, random, defaultTimeoutSeconds } = this.options;
    return new Executor({
      dispatcher: this.dispatcher,
      registry: this.registry,
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

  #makeRegion(expressions: Expressions): Region {
    const { storage: store, clock, random, logger, cluster, idleMax } = this.options;
    return new Region({
      shardCount: cluster?.shards ?? 1,
      laneCount: store.lanes,
      idleMax,
      ...(this.member !== undefined && { cluster: this.member }),
      store,
      clock,
      random,
      // The code of workflows logs through it too.
      logger: this.#watch?.logger ?? logger,
      dispatcher: this.dispatcher,
      definitions: this.definitions,
      expressions,
      code: this.#processCode,
      limits: limitsOf(this.options),
      owner: () => this.address,
      resolveJob: (definition, params) => this.registration.resolveJob(definition, params),
      onHealth: (problem) => this.lifeCycle.onHealth(problem),
      onFenced: (shard, error) => this.lifeCycle.onFenced(shard, error),
    });
  }

  /** Creates both sides of calls to instances; a member of a cluster carries calls between them. */
  #makeCalls(): CallClient {
    const { storage: store, clock, random } = this.options;
    const { member, region, registry, dispatcher, definitions } = this;
    const handler = new CallHandler({
      store,
      clock,
      definitions,
      registry,
      dispatcher,
      region,
      allocators: member?.allocators,
      isLeaseValid: () => member?.isLeaseValid() ?? true,
    });
    const client = new CallClient({ clock, random, region, handler, definitions: this.#saver, transport: member });
    member?.attach({ region, client, handler }, (outcome, taskName) =>
      this.registration.checkOutcome(outcome, taskName),
    );
    return client;
  }

  #makeSubmission(expressions: Expressions): Submission {
    return new Submission({
      definitions: this.definitions,
      registry: this.registry,
      expressions,
      hasDomain: (domain) => this.dispatcher.hasDomain(domain),
      workflows: this.options.workflows.filter((workflow) => workflow instanceof Workflow),
      code: this.code,
    });
  }

  #makeRegistration(): Registration {
    const { storage: store, clock, logger } = this.options;
    const { state, registry, code, submission, region, dispatcher, member } = this;
    const isShared = member !== undefined;
    const definitions = this.#saver;
    const records = { store, clock, logger, definitions, isShared };
    return new Registration({ ...records, state, registry, code, submission, region, dispatcher });
  }

  #makeLifeCycle(): LifeCycle {
    const { options, state, dispatcher, executor, region, member, registration, maintenance, outage } = this;
    const { storage: store, clock, logger } = options;
    return new LifeCycle({
      options,
      state,
      dispatcher,
      executor,
      region,
      member,
      registration,
      maintenance,
      outage,
      processCode: this.#processCode,
      watchdog: this.#watchdog,
      storeProbe: new StoreProbe({ store, clock, logger, onHealth: (problem) => region.reportProblem(problem) }),
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
