import type { Workflow } from "../authoring/workflow.ts";
import type { Clock } from "../base/clock.ts";
import { EngineError } from "../base/error.ts";
import type { Random } from "../base/random.ts";
import type { CallClient } from "../runtime/call-client.ts";
import type { Definitions } from "../runtime/definitions.ts";
import type { Store } from "../stores/store.ts";
import { SubmissionLimiter } from "./submission-limiter.ts";
import type { EngineState } from "./engine-state.ts";
import { forkPoint } from "./forked-events.ts";
import type { OutageDeadline } from "./outage-deadline.ts";
import type { SubmitOptions } from "./start-options.ts";
import { startContext, type Submission } from "./submission.ts";

export interface InstanceStartsParts {
  readonly state: EngineState;
  readonly store: Store;
  readonly clock: Clock;
  readonly random: Random;
  readonly submission: Submission;
  readonly definitions: Definitions;
  readonly calls: CallClient;
  readonly outage: OutageDeadline;
}

/** Starts instances of DAGs, and forks instances of code workflows. */
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
    const { outage } = this.#parts;
    return this.#limiter.run(() => outage.bound(`instance "${id}"`, this.#start(id, workflow, options, taskParams)));
  }

  async #start(id: string, workflow: Workflow, options: SubmitOptions, taskParams?: string): Promise<void> {
    const { state, submission, calls } = this.#parts;
    state.refuseUnlessReady();
    const { definition, all } = submission.findPrepared(workflow) ?? (await submission.prepare(workflow));
    const { instanceId, maxConcurrentTasks, traceparent } = options;
    await calls.start({
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

  /** Returns the id of the new instance. `INSTANCE_STATE` for a DAG, `TASK_UNKNOWN`. */
  async fork(
    source: { readonly id: string; readonly key: number; readonly workflow: string; readonly version: string },
    { fromTask, instanceId }: { readonly fromTask: number; readonly instanceId?: string },
  ): Promise<string> {
    const { definitions, store, calls } = this.#parts;
    const definition = await definitions.load(source.workflow, source.version);
    if (definition.kind === "dag") {
      throw new EngineError("INSTANCE_STATE", `instance "${source.id}" is a DAG: rerun it from one of its tasks`);
    }
    const { fork, input } = await forkPoint(store, { id: source.id, key: source.key }, fromTask);
    const id = instanceId ?? this.newId();
    await calls.start({
      id,
      isGivenId: instanceId !== undefined,
      reuse: false,
      definition,
      definitions: [],
      input: { context: {}, trigger: "api", fork, ...(input !== undefined && { input }) },
    });
    return id;
  }
}
