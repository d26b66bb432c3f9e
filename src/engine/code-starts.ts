import type { CodeRegistry } from "../authoring/code-registry.ts";
import { type CodeWorkflow, isCodeWorkflow } from "../authoring/code-workflow.ts";
import { EngineError, hasCode } from "../base/error.ts";
import { preview } from "../base/preview.ts";
import { qualify } from "../base/namespace.ts";
import { checkName } from "../code/step-check.ts";
import { validateValue, textOf } from "../code/values.ts";
import { hasEnded } from "../kernel/status.ts";
import type { CallClient } from "../runtime/call-client.ts";
import type { Reuse } from "../runtime/instance-starter.ts";
import { checkGivenId } from "./argument-check.ts";
import type { EngineState } from "./engine-state.ts";
import type { InstanceCalls } from "./instance-calls.ts";
import type { RaisedData } from "./start-options.ts";
import type { Submission } from "./submission.ts";

export interface CodeStart {
  readonly id: string;
  readonly isGivenId: boolean;
  readonly reuse: Reuse;
  readonly traceparent?: string | undefined;
  readonly app?: string | undefined;
  readonly event?: RaisedData;
}

/** Code workflows have an input instead of a context. */
const noContext = {};

export interface CodeStartsParts {
  /** The namespace of the ids that are given. */
  readonly namespace: string;
  /** The application of instances whose start names none. */
  readonly app: string | undefined;
  readonly state: EngineState;
  readonly code: CodeRegistry;
  readonly submission: Submission;
  readonly calls: CallClient;
  readonly instances: InstanceCalls;
}

/** Starts instances of code workflows, under new ids or ids that may be taken. */
export class CodeStarts {
  readonly #parts: CodeStartsParts;

  constructor(parts: CodeStartsParts) {
    this.#parts = parts;
  }

  start(workflow: CodeWorkflow, input: unknown, start: CodeStart): Promise<void> {
    this.#parts.state.refuseUnlessReady();
    if (start.isGivenId) checkGivenId("startWorkflow", start.id);
    this.#refuseUnregistered(workflow);
    if (workflow.input === undefined) return this.#startWith(workflow, input, start);
    const what = `the input of workflow "${workflow.name}"`;
    return validateValue(workflow.input, input, what).then(() => this.#startWith(workflow, input, start));
  }

  #startWith(workflow: CodeWorkflow, input: unknown, start: CodeStart): Promise<void> {
    const { namespace, submission, calls } = this.#parts;
    const { id, isGivenId, reuse, traceparent, event, app = this.#parts.app } = start;
    const text = textOf(input, `the input of workflow "${workflow.name}"`);
    const definition = submission.defineCode(workflow);
    return calls.start({
      id: qualify(namespace, id),
      isGivenId,
      reuse,
      definition,
      definitions: [definition],
      input: { context: noContext, trigger: "api", input: text, traceparent, ...(app !== undefined && { app }) },
      event: event && raisedData(event),
    });
  }

  /** Repeats until the instance is started, or an active one is used instead. */
  async startOverActive(
    workflow: CodeWorkflow,
    input: unknown,
    start: Omit<CodeStart, "isGivenId"> & { readonly whenActive: "use" | "terminate" },
  ): Promise<void> {
    const { whenActive, ...how } = start;
    let { reuse } = start;
    for (;;) {
      try {
        return await this.start(workflow, input, { ...how, isGivenId: true, reuse });
      } catch (error) {
        if (!hasCode(error, "INSTANCE_EXISTS")) throw error;
        const { status } = await this.#parts.instances.read({ type: "GetIdentity", id: how.id });
        if (hasEnded(status)) throw error;
      }
      if (whenActive === "use") return;
      await this.#endActive(how.id);
      reuse = true;
    }
  }

  /** Raises the event for the instance of that id; if there is none, or it has ended, starts one with the event. */
  async startOrRaise(
    workflow: CodeWorkflow,
    input: unknown,
    { id, event }: { id: string; event: RaisedData },
  ): Promise<void> {
    checkName("an event", event.name);
    for (;;) {
      try {
        return await this.#parts.instances.change({ type: "RaiseEvent", id, ...raisedData(event) });
      } catch (error) {
        if (!hasCode(error, "INSTANCE_UNKNOWN") && !hasCode(error, "INSTANCE_STATE")) throw error;
      }
      try {
        return await this.start(workflow, input, { id, isGivenId: true, reuse: true, event });
      } catch (error) {
        if (!hasCode(error, "INSTANCE_EXISTS")) throw error;
      }
    }
  }

  async #endActive(id: string): Promise<void> {
    try {
      const reason = "another instance takes its id";
      await this.#parts.instances.change({ type: "TerminateInstance", id, reason });
    } catch (error) {
      // The instance has ended meanwhile.
      if (!hasCode(error, "INSTANCE_STATE")) throw error;
    }
  }

  #refuseUnregistered(workflow: CodeWorkflow): void {
    if (!isCodeWorkflow(workflow)) {
      throw new EngineError(
        "WORKFLOW_INVALID",
        `startWorkflow takes what defineWorkflow() gave, got ${preview(workflow)}`,
      );
    }
    const { name, version } = workflow;
    if (this.#parts.code.known(name, version) === workflow) return;
    throw new EngineError(
      "WORKFLOW_UNKNOWN",
      `code workflow "${name}" in version "${version}" is not registered: give it to the engine's "workflows", or to registerWorkflow()`,
    );
  }
}

function raisedData({ name, data }: RaisedData): { name: string; data?: string } {
  const text = textOf(data, `the data of event "${name}"`);
  return text === undefined ? { name } : { name, data: text };
}
