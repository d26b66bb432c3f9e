import type { CodeWorkflow } from "../authoring/code-workflow.ts";
import type { Failure } from "../kernel/failure.ts";

/** What instances of code need of their process: the code itself, and a place to run it. */
export interface CodeHost {
  find(workflow: string, version: string): CodeWorkflow | undefined;
  /** Which version a new instance of that name gets. */
  versionOf(workflow: string): string | undefined;
  /** Resolves when everything that promises settled by now lead to has happened. */
  drained(): Promise<void>;
  /** Whatever the code threw, in words that history keeps. */
  failureFrom(error: unknown): Failure;
  /** Calls what belongs to a workflow's code. */
  within<T>(call: () => T): T;
}
