import { EngineError, messageOf } from "../base/error.ts";
import type { Logger } from "../base/logger.ts";
import type { LoopWatch } from "../base/loop-watch.ts";
import type { Job } from "../authoring/job.ts";
import { paramsFromText, validateParams } from "../authoring/job-params.ts";
import type { OnTaskLog } from "../dispatch/task-log.ts";
import type { OnProgress } from "../dispatch/task-progress.ts";
import type { TaskInputs, TaskRun } from "../dispatch/task-run.ts";
import type { Outcome } from "../kernel/input.ts";
import type { Abort } from "../dispatch/abort.ts";
import { AttemptContext } from "./attempt-context.ts";
import { checkOutcome, type CheckSubTasks, callJob, failureOutcome } from "./call-job.ts";
import { callWithListener, type FatalErrorListener, startListening, stopListening } from "./fatal-errors.ts";
import type { ThreadWorker } from "./thread-worker.ts";
import type { WorkerAnswer, Worker } from "../dispatch/worker.ts";
import type { RunIdentity } from "./attempt-log.ts";

/** Finds jobs by id. A `Map` fits. */
export interface JobLookup {
  get(id: string): Job | undefined;
}

export interface EmbeddedWorkerOptions {
  readonly jobs: JobLookup;
  readonly logger: Logger;
  /** Runs jobs with isolation `thread`; without it they fail. */
  readonly threads?: ThreadWorker;
  /** A function if it may change: a member that joins again has a new id. */
  readonly address?: string | (() => string);
  /** The maximum of sub-tasks that one attempt may generate. */
  readonly maxSubTasks?: number;
  /** True if the lease is valid: asked again before a job is called that had to wait for its inputs. */
  readonly mayStart?: () => boolean;
  /** Checks generated sub-tasks; without it they are passed on unchecked. */
  readonly checkSubTasks?: CheckSubTasks;
  readonly onTaskLog?: OnTaskLog | undefined;
  readonly onProgress?: OnProgress | undefined;
  readonly aroundJob?: AroundJob | undefined;
  readonly loopWatch?: LoopWatch | undefined;
}

/** The attempt of a job that is called, for `aroundJob`. */
export type JobRun = Pick<
  TaskRun,
  "instanceId" | "workflowName" | "taskName" | "attempt" | "attemptId" | "traceparent"
>;

/** Wraps the call of a job, for example in a span. `call` may return a promise. */
export type AroundJob = <T>(run: JobRun, call: () => T) => T;

/**
 * The worker inside the engine's own process: runs jobs on its event loop or in threads. A remote worker contains one too.
 */
export class EmbeddedWorker implements Worker {
  readonly isRemote = false;
  readonly freeSlots = Infinity;
  readonly #address: () => string;
  readonly #jobs: JobLookup;
  readonly #logger: Logger;
  readonly #threads: ThreadWorker | undefined;
  readonly #subTasksMax: number;
  readonly #checkSubTasks: CheckSubTasks | undefined;
  readonly #mayStart: (() => boolean) | undefined;
  readonly #onTaskLog: OnTaskLog | undefined;
  readonly #onProgress: OnProgress | undefined;
  readonly #aroundJob: AroundJob | undefined;
  readonly #loopWatch: LoopWatch | undefined;
  #isListening = false;

  constructor(options: EmbeddedWorkerOptions) {
    const { address = "embedded" } = options;
    this.#address = typeof address === "string" ? () => address : address;
    this.#jobs = options.jobs;
    this.#logger = options.logger;
    this.#threads = options.threads;
    this.#subTasksMax = options.maxSubTasks ?? 1000;
    this.#checkSubTasks = options.checkSubTasks;
    this.#mayStart = options.mayStart;
    this.#onTaskLog = options.onTaskLog;
    this.#onProgress = options.onProgress;
    this.#aroundJob = options.aroundJob;
    this.#loopWatch = options.loopWatch;
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
      const message = `task "${run.taskName}" needs job "${run.job}", which is not registered`;
      return failureOutcome(new EngineError("JOB_MISSING", message));
    }
    try {
      const inputs = run.inputs();
      // The common case has nothing to wait for and needs no promise.
      if (job.input === undefined && !("then" in inputs)) {
        return this.#call({ job, run, abort, inputs, params: paramsFromText(run.params) });
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
    await this.#threads?.stop();
  }

  async #prepareAndCall(
    job: Job,
    run: TaskRun,
    abort: Abort,
    awaitedInputs: TaskInputs | Promise<TaskInputs>,
  ): Promise<WorkerAnswer> {
    try {
      const inputs = await awaitedInputs;
      const verdict = await validateParams(job, paramsFromText(run.params));
      if (abort.aborted) return failureOutcome(abort.signal.reason);
      if (this.#mayStart?.() === false) return { kind: "refused", why: "the lease has lapsed" };
      if (verdict.ok) return await this.#call({ job, run, abort, inputs, params: verdict.value });
      const message = `task "${run.taskName}": params do not fit job "${job.name}": ${verdict.issues}`;
      return failureOutcome(new EngineError("PARAMS_INVALID", message));
    } catch (error) {
      return failureOutcome(error);
    }
  }

  #call(prepared: PreparedCall): Outcome | Promise<Outcome> {
    if (this.#aroundJob === undefined) return this.#callJob(prepared);
    return this.#aroundJob(prepared.run, () => this.#callJob(prepared));
  }

  #callJob({ job, run, abort, inputs, params }: PreparedCall): Outcome | Promise<Outcome> {
    const subTasksMax = this.#subTasksMax;
    if (job.isolation === "inline") {
      const context = new AttemptContext({
        run,
        inputs,
        abort,
        logger: this.#logger,
        subTasksMax,
        onTaskLog: this.#onTaskLog,
        onProgress: this.#onProgress,
      });
      const listener = new AttemptErrorListener(run, this.#logger);
      this.#listen();
      const call = (): Outcome | Promise<Outcome> =>
        callWithListener(listener, () => callJob(job, params, context, this.#checkSubTasks));
      return this.#loopWatch === undefined ? call() : callWatched(this.#loopWatch, run, call);
    }
    if (this.#threads === undefined || job.source === undefined) {
      const lacks = job.source === undefined ? "has no source to import" : "finds no threads on this worker";
      return failureOutcome(new EngineError("JOB_INVALID", `job "${job.name}" is to run in a thread but ${lacks}`));
    }
    const order = { run: identityOf(run), source: job.source, params, inputs, subTasksMax };
    return this.#threads
      .execute(order, abort, this.#onTaskLog, this.#onProgress)
      .then((outcome) => checkOutcome(outcome, run.taskName, this.#checkSubTasks));
  }
}

/** Logs the attempt whose code ends the process. */
class AttemptErrorListener implements FatalErrorListener {
  readonly #run: TaskRun;
  readonly #logger: Logger;

  constructor(run: TaskRun, logger: Logger) {
    this.#run = run;
    this.#logger = logger;
  }

  onFatalError(error: unknown): void {
    const { instanceId, workflowName, taskName, attemptId } = this.#run;
    this.#logger.error(
      { instanceId, workflowName, task: taskName, attemptId, error: messageOf(error) },
      `task "${taskName}" of instance "${instanceId}" ends the process: its job threw where nobody catches it, or left a rejected promise to nobody; await what the job starts`,
    );
  }
}

/** `call` never throws or rejects. */
function callWatched(
  watch: LoopWatch,
  { instanceId, workflowName, taskName }: TaskRun,
  call: () => Outcome | Promise<Outcome>,
): Outcome | Promise<Outcome> {
  let work = watch.enter("job", instanceId, workflowName, taskName);
  const outcome = call();
  if ("then" in outcome) {
    work = watch.suspend(work);
    void outcome.then(() => watch.leave(work));
  } else watch.leave(work);
  return outcome;
}

/** A run itself cannot be copied to a thread: there are functions in it. */
function identityOf(run: TaskRun): RunIdentity {
  const { instanceId, workflowName, taskName, task, attempt, attemptId, traceparent } = run;
  return { instanceId, workflowName, taskName, task, attempt, attemptId, traceparent };
}

interface PreparedCall {
  readonly job: Job;
  readonly run: TaskRun;
  readonly abort: Abort;
  readonly inputs: TaskInputs;
  readonly params: unknown;
}
