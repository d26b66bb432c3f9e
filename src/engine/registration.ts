import type { CodeRegistry } from "../authoring/code-registry.ts";
import type { CodeWorkflow } from "../authoring/code-workflow.ts";
import type { Job } from "../authoring/job.ts";
import type { JobRegistry } from "../authoring/job-registry.ts";
import { Workflow } from "../authoring/workflow.ts";
import type { Clock } from "../base/clock.ts";
import { EngineError, messageOf } from "../base/error.ts";
import type { Logger } from "../base/logger.ts";
import { qualify } from "../base/namespace.ts";
import type { Dispatcher } from "../dispatch/dispatcher.ts";
import type { NodeSpec } from "../kernel/node-spec.ts";
import type { TaskDefinition } from "../kernel/task-definition.ts";
import type { DefinitionSaver } from "../runtime/definition-saver.ts";
import type { Definition } from "../runtime/definitions.ts";
import type { Region } from "../runtime/region.ts";
import type { Store } from "../stores/store.ts";
import type { EngineState } from "./engine-state.ts";
import { JobRuns } from "./job-runs.ts";
import { syncJobs } from "./job-sync.ts";
import type { WorkflowView } from "./overview.ts";
import type { Submission } from "./submission.ts";

export interface RegistrationParts {
  /** The namespace of the jobs and workflows. */
  readonly namespace: string;
  readonly state: EngineState;
  readonly store: Store;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly registry: JobRegistry;
  readonly code: CodeRegistry;
  readonly submission: Submission;
  readonly definitions: DefinitionSaver;
  readonly region: Region;
  readonly dispatcher: Dispatcher;
  /** Other members may have jobs that this process does not have. */
  readonly isShared: boolean;
}

/** The jobs and workflows that this process has in one namespace: registers them, and keeps their records in the store. */
export class Registration {
  readonly jobRuns: JobRuns;
  readonly #parts: RegistrationParts;

  constructor(parts: RegistrationParts) {
    this.#parts = parts;
    const { registry, submission } = parts;
    this.jobRuns = new JobRuns({
      registry,
      submission,
      saveDefinitions: (definitions) => this.#saveDefinitions(definitions),
      onRecorded: ({ name, version }) => parts.region.onWorkflowRegistered(name, version),
    });
  }

  /** Records workflows in the store, before the engine takes work; the jobs are recorded by then. */
  async record(): Promise<void> {
    const { submission, definitions, logger } = this.#parts;
    const prepared = await submission.prepareAll((workflow, error) => {
      // A workflow that cannot run does not keep the others from it.
      logger.warn({ workflow, error: error.message }, "a workflow of this engine cannot be started");
    });
    await definitions.save(prepared);
    await this.jobRuns.record();
  }

  /** Returns the id of the job. `JOB_DUPLICATE`. */
  registerJob(job: Job): string {
    const { registry, dispatcher, state } = this.#parts;
    const id = registry.register(job);
    dispatcher.onJobsChanged();
    if (state.isUp) void this.#recordJobs();
    return id;
  }

  /** Called when workers have announced jobs that this process did not know: they can be scheduled from then on. */
  onJobsAnnounced(): void {
    if (this.#parts.state.isUp) void this.#recordJobs();
  }

  async registerWorkflow(workflow: Workflow | CodeWorkflow): Promise<void> {
    const { submission, code, state } = this.#parts;
    if (workflow instanceof Workflow) {
      submission.register(workflow);
      if (!state.isUp) return;
      const { definition, all } = await submission.prepare(workflow);
      return await this.#announce(definition, all);
    }
    code.register(workflow);
    if (!state.isUp) return;
    const definition = submission.defineCode(workflow);
    await this.#announce(definition, [definition]);
  }

  /** Records a workflow whose code workers have, so that it can be started and nested. */
  async announceWorkflow(workflow: CodeWorkflow): Promise<void> {
    const { submission, code } = this.#parts;
    code.announce(workflow);
    const definition = submission.defineCode(workflow);
    await this.#announce(definition, [definition]);
  }

  async #announce({ name, version }: Definition, all: readonly Definition[]): Promise<void> {
    const { definitions, region } = this.#parts;
    await definitions.saveWithRetries(all);
    region.onWorkflowRegistered(name, version);
  }

  listWorkflows(): WorkflowView[] {
    const { submission } = this.#parts;
    return submission.names.map((name) => ({
      name,
      version: submission.versionOf(name),
      kind: submission.find(name) instanceof Workflow ? "dag" : "code",
      isHere: submission.isHere(name),
    }));
  }

  /** The version that a name stands for when a schedule or the code of a workflow starts it. */
  versionOf(workflow: string): string | undefined {
    return this.jobRuns.versionOf(workflow) ?? this.#parts.submission.versionOf(workflow);
  }

  /** The qualified id of the job that a task runs. The name of a job that is not here stays: the task waits for it, visibly. */
  resolveJob(definition: TaskDefinition, params: string | undefined): string {
    const { namespace, registry } = this.#parts;
    try {
      return qualify(namespace, registry.resolve({ ...definition, params }).id);
    } catch (error) {
      if (error instanceof EngineError) return qualify(namespace, definition.jobName ?? String(definition.jobId));
      throw error;
    }
  }

  /** Checks sub-tasks. The definitions of workflows that they nest are durable before an instance refers to them. */
  async checkSubTasks(subTasks: readonly NodeSpec[], parentName: string): Promise<readonly NodeSpec[]> {
    const { nodes, definitions } = await this.#parts.submission.checkSubTasks(subTasks, parentName);
    await this.#parts.definitions.saveWithRetries(definitions);
    return nodes;
  }

  /** A start fails if the store is away; later, the store is waited for. */
  #saveDefinitions(added: readonly Definition[]): Promise<void> {
    const { definitions, state } = this.#parts;
    return state.isUp ? definitions.saveWithRetries(added) : definitions.save(added);
  }

  async #recordJobs(): Promise<void> {
    try {
      await this.#syncJobs();
      await this.jobRuns.record();
    } catch (error) {
      this.#parts.logger.warn({ error: messageOf(error) }, "a newly registered job could not be recorded");
    }
  }

  #syncJobs(): Promise<void> {
    const { namespace, registry, clock } = this.#parts;
    const registryOf = (other: string): JobRegistry | undefined => (other === namespace ? registry : undefined);
    return syncJobs(this.#parts, registryOf, { namespaces: [namespace], now: clock.now() });
  }
}
