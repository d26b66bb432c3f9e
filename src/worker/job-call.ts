import { messageOf } from "../base/error.ts";
import type { LoopWatch } from "../base/loop-watch.ts";
import { instanceFields, localName, namespaceOf } from "../base/namespace.ts";
import type { Job } from "../authoring/job.ts";
import type { Abort } from "../dispatch/abort.ts";
import type { TaskInputs, TaskRun } from "../dispatch/task-run.ts";
import type { Outcome } from "../kernel/input.ts";
import { AttemptContext, type ContextServices } from "./attempt-context.ts";
import { callJob, type CheckSubTasks } from "./call-job.ts";
import type { FatalErrorListener } from "./fatal-errors.ts";

/** The attempt of a job that is called, for `aroundJob`. */
export type JobRun = Pick<
  TaskRun,
  "instanceId" | "workflowName" | "taskName" | "attempt" | "attemptId" | "traceparent"
> & { readonly namespace: string };

/** Wraps the call of a job, for example in a span. `call` may return a promise. */
export type AroundJob = <T>(run: JobRun, call: () => T) => T;

/** The part of a call that all calls of a worker share. */
export interface JobCallServices extends ContextServices {
  readonly checkSubTasks: CheckSubTasks | undefined;
  readonly aroundJob: AroundJob | undefined;
  readonly loopWatch: LoopWatch | undefined;
}

/**
 * One call of a job, whose inputs are at hand. It is its own listener for fatal errors, because every closure and object
 * here is made for every attempt.
 */
export class JobCall implements FatalErrorListener<Outcome | Promise<Outcome>> {
  readonly job: Job;
  readonly run: TaskRun;
  readonly abort: Abort;
  readonly inputs: TaskInputs;
  readonly params: unknown;
  readonly #services: JobCallServices;

  constructor(call: {
    job: Job;
    run: TaskRun;
    abort: Abort;
    inputs: TaskInputs;
    params: unknown;
    services: JobCallServices;
  }) {
    this.job = call.job;
    this.run = call.run;
    this.abort = call.abort;
    this.inputs = call.inputs;
    this.params = call.params;
    this.#services = call.services;
  }

  /** Calls the job on this event loop. */
  call(): Outcome | Promise<Outcome> {
    return this.#services.aroundJob === undefined ? this.#callWatched() : this.around(() => this.#callWatched());
  }

  /** Makes a call inside `aroundJob`. */
  around(call: () => Outcome | Promise<Outcome>): Outcome | Promise<Outcome> {
    const { aroundJob } = this.#services;
    return aroundJob === undefined ? call() : aroundJob(jobRunOf(this.run), call);
  }

  #callWatched(): Outcome | Promise<Outcome> {
    const { loopWatch } = this.#services;
    if (loopWatch === undefined) return this.#callJob();
    const { instanceId, workflowName, taskName } = this.run;
    let work = loopWatch.enter("job", instanceId, workflowName, taskName);
    const outcome = this.#callJob();
    if ("then" in outcome) {
      work = loopWatch.suspend(work);
      void outcome.then(() => loopWatch.leave(work));
    } else loopWatch.leave(work);
    return outcome;
  }

  /** Never throws or rejects. */
  #callJob(): Outcome | Promise<Outcome> {
    const context = new AttemptContext(this.run, this.inputs, this.abort, this.#services);
    return callJob(this.job, this.params, context, this.#services.checkSubTasks);
  }

  /** Logs the attempt whose code ends the process. */
  onFatalError(error: unknown): void {
    const { instanceId: id, workflowName, taskName, attemptId } = this.run;
    this.#services.logger.error(
      {
        ...instanceFields(id),
        workflowName: localName(workflowName),
        task: taskName,
        attemptId,
        error: messageOf(error),
      },
      `task "${taskName}" of instance "${localName(id)}" ends the process: its job threw where nobody catches it, or left a rejected promise to nobody; await what the job starts`,
    );
  }
}

function jobRunOf(run: TaskRun): JobRun {
  const { taskName, attempt, attemptId, traceparent } = run;
  const namespace = namespaceOf(run.instanceId);
  const names = { namespace, instanceId: localName(run.instanceId), workflowName: localName(run.workflowName) };
  return { ...names, taskName, attempt, attemptId, traceparent };
}
