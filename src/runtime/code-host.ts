import type { CodeWorkflow } from "../authoring/code-workflow.ts";
import type { RunHost } from "../code/code-run.ts";

/** The process of instances of code: it has the code, and runs it. */
export interface CodeHost extends RunHost {
  find(workflow: string, version: string): CodeWorkflow | undefined;
}
