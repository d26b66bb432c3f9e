import type { CodeWorkflow } from "../authoring/code-workflow.ts";
import type { Job } from "../authoring/job.ts";
import type { JobRegistry } from "../authoring/job-registry.ts";
import type { Clock } from "../base/clock.ts";
import { localName, namespaceOf } from "../base/namespace.ts";
import type { TaskOfInstance } from "../dispatch/task-run.ts";
import type { Outcome } from "../kernel/input.ts";
import type { NodeSpec } from "../kernel/node-spec.ts";
import type { TaskDefinition } from "../kernel/task-definition.ts";
import { checkOutcome } from "../worker/call-job.ts";
import { type JobSyncParts, syncJobs } from "./job-sync.ts";
import type { NamespaceParts } from "./namespace-parts.ts";

/**
 * The namespaces of a process, each with its own jobs and workflows: what one has registered, no name of another finds.
 * The parts below the engine ask with qualified names.
 */
export class Namespaces {
  readonly #make: (namespace: string) => NamespaceParts;
  readonly #byName = new Map<string, NamespaceParts>();

  constructor(make: (namespace: string) => NamespaceParts) {
    this.#make = make;
  }

  /** The parts of a namespace, which are kept from now on: something is about to be registered or started there. */
  get(namespace: string): NamespaceParts {
    let parts = this.#byName.get(namespace);
    if (parts === undefined) this.#byName.set(namespace, (parts = this.#make(namespace)));
    return parts;
  }

  /** The parts of a namespace for a read, after which nothing is left of a namespace that is merely named. */
  view(namespace: string): NamespaceParts {
    return this.#byName.get(namespace) ?? this.#make(namespace);
  }

  findJob(job: string): Job | undefined {
    return this.#byName.get(namespaceOf(job))?.registry.find(localName(job))?.job;
  }

  resolveJob(instanceId: string, definition: TaskDefinition, params: string | undefined): string {
    return this.#of(instanceId).registration.resolveJob(definition, params);
  }

  findCode(workflow: string, version: string): CodeWorkflow | undefined {
    return this.#of(workflow).code.find(localName(workflow), version);
  }

  /** The version that can be started; undefined if there is none, or not the one that is wanted. */
  versionOf(workflow: string, wanted?: string): string | undefined {
    const { registration, code } = this.#of(workflow);
    const name = localName(workflow);
    return wanted === undefined ? registration.versionOf(name) : code.known(name, wanted)?.version;
  }

  checkSubTasks(subTasks: readonly NodeSpec[], { instanceId, taskName }: TaskOfInstance): Promise<readonly NodeSpec[]> {
    return this.#of(instanceId).registration.checkSubTasks(subTasks, taskName);
  }

  checkOutcome(outcome: Outcome, task: TaskOfInstance): Outcome | Promise<Outcome> {
    return checkOutcome(outcome, task, (subTasks, parent) => this.checkSubTasks(subTasks, parent));
  }

  /** Records jobs and workflows of all namespaces in the store, before the engine takes work. */
  async record(sync: JobSyncParts, clock: Clock): Promise<void> {
    const registryOf = (namespace: string): JobRegistry => this.get(namespace).registry;
    await syncJobs(sync, registryOf, { namespaces: [...this.#byName.keys()], now: clock.now() });
    for (const { registration } of this.#byName.values()) await registration.record();
  }

  #of(qualified: string): NamespaceParts {
    return this.get(namespaceOf(qualified));
  }
}
