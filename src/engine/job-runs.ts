import type { Job } from "../authoring/job.ts";
import type { JobRegistry } from "../authoring/job-registry.ts";
import { paramsText } from "../authoring/task.ts";
import { toJsonText } from "../base/json-text.ts";
import type { Workflow } from "../authoring/workflow.ts";
import { preview } from "../base/preview.ts";
import { localName } from "../base/namespace.ts";
import type { Definition } from "../runtime/definitions.ts";
import { type JobTaskOptions, jobWorkflow } from "./job-workflow.ts";
import type { Submission } from "./submission.ts";

export interface JobRunsParts {
  readonly registry: JobRegistry;
  readonly submission: Submission;
  /** Makes definitions durable. */
  readonly saveDefinitions: (definitions: readonly Definition[]) => Promise<void>;
  /** Called when the workflow of a job is durable: schedules that waited for it continue. */
  readonly onRecorded: (definition: Definition) => void;
}

/** The workflow of a job and its parameters, ready to be started. */
export interface PreparedJob {
  readonly workflow: Workflow;
  readonly taskParams: string | undefined;
}

/** A job as a schedule refers to it. */
export interface JobTarget {
  /** The name of the job, or its id if the name has several signatures. */
  readonly job: string;
  readonly taskParams: string | undefined;
}

/** Jobs that run by themselves: each has a workflow of one task. */
export class JobRuns {
  readonly #parts: JobRunsParts;
  /** Workflows with default options, by name or id of the job. */
  readonly #workflows = new Map<string, Workflow>();
  /** Versions of durable definitions, by name of the workflow. */
  readonly #versions = new Map<string, string>();

  constructor(parts: JobRunsParts) {
    this.#parts = parts;
  }

  /** Makes the workflow of a job, and checks its parameters. `JOB_MISSING`, `JOB_AMBIGUOUS`, `PARAMS_INVALID`, `TASK_INVALID`, `DOMAIN_UNKNOWN`. */
  async prepare(given: Job | string, params: unknown, options: JobTaskOptions): Promise<PreparedJob> {
    const { job, taskParams } = await this.resolve(given, params);
    const isDefault = Object.values(options).every((option) => option === undefined);
    const workflow = isDefault ? this.#defaultWorkflow(job) : jobWorkflow(job, options);
    await this.#parts.submission.prepareJobWorkflow(workflow);
    return { workflow, taskParams };
  }

  /** Checks the parameters that each run of a schedule gets. */
  async resolve(given: Job | string, params: unknown): Promise<JobTarget> {
    return await this.#parts.submission.learnIfMissing(() => this.#resolve(given, params));
  }

  #resolve(given: Job | string, params: unknown): JobTarget {
    const { registry } = this.#parts;
    const jobName = typeof given === "string" ? given : given?.name;
    const text = toJsonText(params, `params for job ${preview(jobName)}`);
    const registered = registry.resolve({ jobName, params: text });
    const { name } = registered.job;
    return {
      job: registry.referenceTo(registered),
      taskParams: paramsText({ taskName: name, job: registered.job, params }),
    };
  }

  /** The version that a schedule starts; undefined unless it is the durable workflow of a job. */
  versionOf(workflow: string): string | undefined {
    return this.#versions.get(workflow);
  }

  /** Makes the workflow of every registered job durable, so that a schedule's code can start it by name. */
  async record(): Promise<void> {
    const { registry, submission, saveDefinitions, onRecorded } = this.#parts;
    const jobs = new Set([...registry.names, ...registry.ids.flatMap((id) => this.#referenceTo(id))]);
    const definitions = [...jobs].map((job) => submission.defineJobWorkflow(this.#defaultWorkflow(job)));
    const added = definitions.filter(({ name, version }) => this.#versions.get(localName(name)) !== version);
    await saveDefinitions(added);
    for (const definition of added) {
      this.#versions.set(localName(definition.name), definition.version);
      onRecorded(definition);
    }
  }

  #referenceTo(id: string): string[] {
    const registered = this.#parts.registry.get(id);
    return registered === undefined ? [] : [this.#parts.registry.referenceTo(registered)];
  }

  #defaultWorkflow(job: string): Workflow {
    const known = this.#workflows.get(job);
    if (known !== undefined) return known;
    const workflow = jobWorkflow(job);
    this.#workflows.set(job, workflow);
    return workflow;
  }
}
