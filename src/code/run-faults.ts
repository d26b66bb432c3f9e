import { EngineError } from "../base/error.ts";
import type { WatchedRun } from "./watch-code.ts";

/** Maximum of calls that are named in a message. */
const unsteadyCallsMax = 5;

/** Reasons why one run of the code cannot be relied on: it is not deterministic, or its process lacks a workflow. */
export class RunFaults implements WatchedRun {
  /** The first fault; the run takes no more steps. */
  error: EngineError | undefined;
  /** Name of a workflow that the code asked for and that this process does not have. */
  missingWorkflow: string | undefined;
  #unsteadyCalls: Set<string> | undefined;

  noteUnsteadyCall(call: string): void {
    this.#unsteadyCalls ??= new Set();
    if (this.#unsteadyCalls.size < unsteadyCallsMax) this.#unsteadyCalls.add(call);
  }

  /** The calls of the code that a replay cannot repeat, for a message. Blank if there were none. */
  get unsteadyCalls(): string {
    if (this.#unsteadyCalls === undefined) return "";
    return ` (it called ${[...this.#unsteadyCalls].join(", ")})`;
  }

  /**
   * No history says which workflows a process has, so the code must not see that one is missing. It stops here, and is
   * replayed in a process that has the workflow.
   */
  missWorkflow(name: string): EngineError {
    this.missingWorkflow = name;
    return (this.error ??= new EngineError(
      "WORKFLOW_UNKNOWN",
      `child workflow "${name}" is not among the workflows of this process: give it to the engine's "workflows"`,
    ));
  }
}
