import type { CodeWorkflow } from "../authoring/code-workflow.ts";
import type { RunServices } from "../code/code-run.ts";
import type { CodeHosts } from "../dispatch/code-hosts.ts";

/** The process of instances of code: it has the code, and runs it. */
export interface CodeRuntime extends RunServices {
  find(workflow: string, version: string): CodeWorkflow | undefined;
  /** Hosts of code that this process does not have; undefined where none can connect. */
  readonly hosts?: CodeHosts | undefined;
  /** Reads which workflows were announced to other members; undefined where there are none. Never rejects. */
  readonly learn?: (() => Promise<void>) | undefined;
}
