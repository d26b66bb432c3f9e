import type { Clock } from "../base/clock.ts";
import { EngineError } from "../base/error.ts";
import type { Logger } from "../base/logger.ts";
import type { LoopWatch } from "../base/loop-watch.ts";
import { localName } from "../base/namespace.ts";
import type { Job } from "../authoring/job.ts";
import { paramsFromText, validateParams } from "../authoring/job-params.ts";
import type { OnTaskLog } from "../dispatch/task-log.ts";
import type { AskOwner } from "../dispatch/attempt-question.ts";
import type { OnReport } from "../dispatch/attempt-report.ts";
import type { TaskInputs, TaskRun } from "../dispatch/task-run.ts";
import type { Outcome } from "../kernel/input.ts";
import type { Abort } from "../dispatch/abort.ts";
import { checkOutcome, type CheckSubTasks, failureOutcome } from "./call-job.ts";
import { HeartbeatTimeouts, type OnSilent } from "./heartbeat-timeouts.ts";
import { callWithListener, startListening, stopListening } from "./fatal-errors.ts";
import { type AroundJob, JobCall, type JobCallServices } from "./job-call.ts";
import type { ProcessWorker } from "./process-worker.ts";
import type { ThreadWorker } from "./thread-worker.ts";
import type { WorkerAnswer, Worker } from "../dispatch/worker.ts";
import type { RunIdentity } from "./attempt-log.ts";

/** Finds jobs by id. A `Map` fits. */
export interface JobLookup {
  get(id: string): Job | undefined;
}

export interface EmbeddedWorkerOptions {
  readonly jobs: JobLookup;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Runs jobs with isolation `thread`; without it they fail. */
  readonly threads?: ThreadWorker;
  /** Runs jobs with isolation `process`; without it they fail. */
  readonly processes?: ProcessWorker;
  /** A function if it may change: a member that joins again has a new id. */
  readonly address?: string | (() => string);
  /** Tasks may require a worker with certain tags. */
  readonly tags?: readonly string[];
  /** The maximum of sub-tasks that one attempt may generate. */
  readonly maxSubTasks?: number;
  /** True if the lease is valid: asked again before a job is called that had to wait for its inputs. */
  readonly mayStart?: () => boolean;
  /** Checks generated sub-tasks; without it they are passed on unchecked. */
  readonly checkSubTasks?: CheckSubTasks;
  readonly onTaskLog?: OnTaskLog | undefined;
  readonly onReport?: OnReport | undefined;
  readonly onSilent?: OnSilent | undefined;
  /** Answers the questions of jobs to their instance; without it they are refused. */
  readonly ask?: AskOwner | undefined;
  readonly aroundJob?: AroundJob | undefined;
  readonly loopWatch?: LoopWatch | undefined;
}

/**
 * The worker inside the engine's own process: runs jobs on its event loop, in threads or in child processes. A remote worker contains one too.
 */
export class EmbeddedWorker implements Worker {
  readonly isRemote = false;
  readonly freeSlots = Infinity;
  readonly tags: ReadonlySet<string>;
  readonly #address: () => string;
  readonly #jobs: JobLookup;
  readonly #threads: ThreadWorker | undefined;
  readonly #processes: ProcessWorker | undefined;
  readonly #mayStart: (() => boolean) | undefined;
  readonly #services: JobCallServices;
  readonly #heartbeats: HeartbeatTimeouts;
  #isListening = false;

  constructor(options: EmbeddedWorkerOptions) {
    const { address = "embedded" } = options;
    this.#address = typeof address === "string" ? () => address : address;
    this.tags = new Set(options.tags);
    this.#jobs = options.jobs;
    this.#threads = options.threads;
    this.#processes = options.processes;
    this.#mayStart = options.mayStart;
    this.#heartbeats = new HeartbeatTimeouts(options.clock, (attemptId, error) => options.onSilent?.(attemptId, error));
    const { onReport } = options;
    this.#services = {
      logger: options.logger,
      subTasksMax: options.maxSubTasks ?? 1000,
      onTaskLog: options.onTaskLog,
      onReport: (attemptId, report) => {
        if (report.heartbeat !== undefined) this.#heartbeats.onHeartbeat(attemptId);
        onReport?.(attemptId, report);
      },
      ask: options.ask,
      checkSubTasks: options.checkSubTasks,
      aroundJob: options.aroundJob,
      loopWatch: options.loopWatch,
    };
  }

  get address(): string {
    return this.#address();
  }

  hasJob(id: string): boolean {
    return this.#jobs.get(id) !== undefined;
  }

  execute(run: TaskRun, abort: Abort): Outcome | Promise<WorkerAnswer> {
    const job = this.#jobs.get(run.job);
    if (job === undefined) {
      const message = `task "${run.taskName}" needs job "${localName(run.job)}", which is not registered`;
      return failureOutcome(new EngineError("JOB_MISSING", message));
    }
    try {
      const inputs = run.inputs();
      // The common case has nothing to wait for and needs no promise.
      if (job.input === undefined && !("then" in inputs)) {
        const params = paramsOf(run, inputs);
        return this.#call(new JobCall({ job, run, abort, inputs, params, services: this.#services }));
      }
      return this.#prepareAndCall(job, run, abort, inputs);
    } catch (error) {
      return failureOutcome(error);
    }
  }

  /** Starts to listen for fatal errors, because jobs on the event loop can end the process. */
  #listen(): void {
    if (this.#isListening) return;
    this.#isListening = true;
    startListening();
  }

  async stop(): Promise<void> {
    if (this.#isListening) stopListening();
    this.#isListening = false;
    await Promise.all([this.#threads?.stop(), this.#processes?.stop()]);
  }

  async #prepareAndCall(
    job: Job,
    run: TaskRun,
    abort: Abort,
    awaitedInputs: TaskInputs | Promise<TaskInputs>,
  ): Promise<WorkerAnswer> {
    try {
      const inputs = await awaitedInputs;
      const verdict = await validateParams(job, paramsOf(run, inputs));
      if (abort.aborted) return failureOutcome(abort.signal.reason);
      if (this.#mayStart?.() === false) return { kind: "refused", why: "the lease has lapsed" };
      if (verdict.ok) {
        const params = verdict.value;
        return await this.#call(new JobCall({ job, run, abort, inputs, params, services: this.#services }));
      }
      const message = `task "${run.taskName}": params do not fit job "${job.name}": ${verdict.issues}`;
      return failureOutcome(new EngineError("PARAMS_INVALID", message));
    } catch (error) {
      return failureOutcome(error);
    }
  }

  #call(call: JobCall): Outcome | Promise<Outcome> {
    if (call.run.heartbeatTimeoutMs === undefined) return this.#callUnwatched(call);
    return this.#heartbeats.watch(call, () => this.#callUnwatched(call));
  }

  #callUnwatched(call: JobCall): Outcome | Promise<Outcome> {
    if (call.job.isolation !== "inline") return call.around(() => this.#callIsolated(call));
    this.#listen();
    return callWithListener(call);
  }

  #callIsolated({ job, run, abort, inputs, params }: JobCall): Outcome | Promise<Outcome> {
    const { subTasksMax, onTaskLog, onReport, ask, checkSubTasks } = this.#services;
    const { source, memoryLimitMb } = job;
    const runner = job.isolation === "thread" ? this.#threads : this.#processes;
    if (runner === undefined || source === undefined) {
      const where = job.isolation === "thread" ? "thread" : "process";
      const lacks = source === undefined ? "has no source to import" : `this worker runs none`;
      return failureOutcome(new EngineError("JOB_INVALID", `job "${job.name}" is to run in a ${where} but ${lacks}`));
    }
    const isWatched = run.heartbeatTimeoutMs !== undefined;
    const order = { run: identityOf(run), source, params, inputs, subTasksMax, isWatched };
    return runner
      .execute(order, abort, { onTaskLog, onReport, ask, memoryLimitMb })
      .then((outcome) => checkOutcome(outcome, run, checkSubTasks));
  }
}

/** An item of a map without parameters of its own is the parameter. */
function paramsOf({ params }: TaskRun, { item }: TaskInputs): unknown {
  return params === "" && item !== undefined ? JSON.parse(item.value) : paramsFromText(params);
}

/** A run itself cannot be copied to a thread or process: there are functions in it. */
function identityOf(run: TaskRun): RunIdentity {
  const { instanceId, workflowName, taskName, task, attempt, attemptId, generation, traceparent, completionToken } =
    run;
  return { instanceId, workflowName, taskName, task, attempt, attemptId, generation, traceparent, completionToken };
}
