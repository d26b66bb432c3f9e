import type { Workflow } from "../authoring/workflow.ts";
import type { Clock } from "../base/clock.ts";
import type { Random } from "../base/random.ts";
import type { Writable } from "../base/writable.ts";
import { qualify } from "../base/namespace.ts";
import type { CallClient } from "../runtime/call-client.ts";
import type { StartRequest } from "../runtime/instance-starter.ts";
import { SubmissionLimiter } from "./submission-limiter.ts";
import type { EngineState } from "./engine-state.ts";
import type { OutageDeadline } from "./outage-deadline.ts";
import { PendingStart } from "./pending-start.ts";
import type { SubmitOptions } from "./start-options.ts";
import { type Prepared, startContext, type Submission } from "./submission.ts";

export interface InstanceStartsParts {
  /** The namespace of the ids that are given. */
  readonly namespace: string;
  /** The application of instances whose start names none. */
  readonly app: string | undefined;
  readonly state: EngineState;
  readonly clock: Clock;
  readonly random: Random;
  readonly submission: Submission;
  readonly calls: CallClient;
  readonly outage: OutageDeadline;
}

interface GivenStart {
  readonly id: string;
  readonly workflow: Workflow;
  readonly options: SubmitOptions;
  readonly taskParams: string | undefined;
}

/** Starts instances of DAGs. */
export class InstanceStarts {
  readonly #parts: InstanceStartsParts;
  readonly #limiter: SubmissionLimiter;

  constructor(parts: InstanceStartsParts) {
    this.#parts = parts;
    this.#limiter = new SubmissionLimiter(parts.clock);
  }

  newId(): string {
    const { clock, random } = this.#parts;
    return random.uuid(clock.now());
  }

  /** The instance is durable when this resolves. `taskParams` go to its only task. `INSTANCE_EXISTS`. */
  submit(id: string, workflow: Workflow, options: SubmitOptions, taskParams?: string): Promise<void> {
    const given = { id, workflow, options, taskParams };
    const admitted = this.#limiter.enter();
    return admitted === undefined ? this.#submit(given) : admitted.then(() => this.#submit(given));
  }

  #submit(given: GivenStart): Promise<void> {
    const { state, submission, outage } = this.#parts;
    const pending = new PendingStart(given.id, this.#limiter, outage);
    try {
      state.refuseUnlessReady();
      const prepared = submission.findPrepared(given.workflow);
      // The common case has nothing to wait for before the start.
      if (prepared === undefined) void this.#prepareAndStart(given, pending);
      else this.#start(given, prepared, pending);
    } catch (error) {
      pending.reject(error);
    }
    return pending.promise;
  }

  async #prepareAndStart(given: GivenStart, pending: PendingStart): Promise<void> {
    try {
      this.#start(given, await this.#parts.submission.prepare(given.workflow), pending);
    } catch (error) {
      pending.reject(error);
    }
  }

  #start(given: GivenStart, { definition, all }: Prepared, pending: PendingStart): void {
    const { id, workflow, options, taskParams } = given;
    const { instanceId, maxConcurrentTasks, traceparent, app = this.#parts.app } = options;
    const input: Writable<StartRequest["input"]> = { context: startContext(workflow, options.params), trigger: "api" };
    if (taskParams !== undefined) input.taskParams = taskParams;
    if (maxConcurrentTasks !== undefined) input.maxConcurrentTasks = maxConcurrentTasks;
    if (traceparent !== undefined) input.traceparent = traceparent;
    if (app !== undefined) input.app = app;
    this.#parts.calls.submit(
      {
        id: this.#qualify(id),
        isGivenId: instanceId !== undefined,
        reuse: options.reuse ?? false,
        definition,
        definitions: all,
        input,
      },
      pending,
    );
  }

  #qualify(id: string): string {
    return qualify(this.#parts.namespace, id);
  }
}
