import { EngineError } from "../base/error.ts";
import { preview } from "../base/preview.ts";
import { hasMark, markProblem } from "../base/namespace.ts";
import { isJobWorkflowName, isOwnWorkflowName, jobWorkflowPrefix, ownWorkflowPrefix } from "../kernel/event.ts";
import { type CodeWorkflow, isCodeWorkflow } from "./code-workflow.ts";

/** The code workflows that this process can run, with any number of versions per name. */
export class CodeRegistry {
  readonly #byName = new Map<string, Map<string, CodeWorkflow>>();
  /** Workflows whose code only workers have; of each name, the one that was announced last comes last. */
  readonly #announced = new Map<string, Map<string, CodeWorkflow>>();

  /** `WORKFLOW_INVALID`, `WORKFLOW_DUPLICATE`. */
  register(workflow: CodeWorkflow): void {
    if (!isCodeWorkflow(workflow)) {
      throw new EngineError(
        "WORKFLOW_INVALID",
        `a code workflow is made by defineWorkflow(), got ${preview(workflow)}`,
      );
    }
    refuseReservedName(workflow.name);
    this.#add(workflow);
  }

  /** Registers a workflow that is part of the engine. */
  registerOwn(workflow: CodeWorkflow): void {
    this.#add(workflow);
  }

  #add(workflow: CodeWorkflow): void {
    const { name, version } = workflow;
    const versions = this.#byName.get(name) ?? new Map<string, CodeWorkflow>();
    if (versions.has(version)) {
      throw new EngineError(
        "WORKFLOW_DUPLICATE",
        `code workflow "${name}" is already registered in version "${version}"; give the other one its own version`,
      );
    }
    this.#byName.set(name, versions.set(version, workflow));
  }

  find(name: string, version: string): CodeWorkflow | undefined {
    return this.#byName.get(name)?.get(version);
  }

  /** Adds a workflow that workers have announced; its function is not called here. */
  announce(workflow: CodeWorkflow): void {
    const { name, version } = workflow;
    const versions = this.#announced.get(name) ?? new Map<string, CodeWorkflow>();
    versions.delete(version);
    this.#announced.set(name, versions.set(version, workflow));
  }

  /** A workflow that can be started, whether its code is in this process or with workers. */
  known(name: string, version: string): CodeWorkflow | undefined {
    return this.find(name, version) ?? this.findAnnounced(name, version);
  }

  findAnnounced(name: string, version: string): CodeWorkflow | undefined {
    return this.#announced.get(name)?.get(version);
  }

  /** True if the name alone means this version. */
  isLatestAnnounced(name: string, version: string): boolean {
    return [...(this.#announced.get(name)?.keys() ?? [])].at(-1) === version;
  }

  /** The version of a workflow that was registered last, which new instances run. */
  latest(name: string): CodeWorkflow | undefined {
    const versions = this.#byName.get(name) ?? this.#announced.get(name);
    return [...(versions?.values() ?? [])].at(-1);
  }

  /** True if this process has code of that name, in any version. */
  isHere(name: string): boolean {
    return this.#byName.has(name);
  }

  /** The names of all workflows that can be started. */
  get names(): string[] {
    return [...new Set([...this.#byName.keys(), ...this.#announced.keys()])];
  }

  all(): CodeWorkflow[] {
    return [...this.#byName.values()].flatMap((versions) => [...versions.values()]);
  }
}

/** `WORKFLOW_INVALID` for the name of a code workflow that only the engine itself may give. */
export function refuseReservedName(name: string): void {
  if (isOwnWorkflowName(name)) {
    const message = `code workflow ${preview(name)} needs another name: those that begin with "${ownWorkflowPrefix}" are the engine's own`;
    throw new EngineError("WORKFLOW_INVALID", message);
  }
  if (hasMark(name)) throw new EngineError("WORKFLOW_INVALID", markProblem("the name of a workflow", name));
  if (isJobWorkflowName(name)) {
    const message = `code workflow ${preview(name)} needs another name: those that begin with "${jobWorkflowPrefix}" belong to jobs that run by themselves`;
    throw new EngineError("WORKFLOW_INVALID", message);
  }
}
