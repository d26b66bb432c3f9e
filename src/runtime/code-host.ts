import type { CodeWorkflow } from "../authoring/code-workflow.ts";
import type { RunHost } from "../code/code-run.ts";

/** What instances of code need of their process: the code itself, and a place to run it. */
export interface CodeHost extends RunHost {
  find(workflow: string, version: string): CodeWorkflow | undefined;
}
