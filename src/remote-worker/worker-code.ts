import { CodeRegistry } from "../authoring/code-registry.ts";
import type { CodeWorkflow } from "../authoring/code-workflow.ts";
import { inputSchemaOf } from "../authoring/input-schema.ts";
import type { Clock } from "../base/clock.ts";
import type { Logger } from "../base/logger.ts";
import { localName } from "../base/namespace.ts";
import { WarmRuns } from "../code/warm-runs.ts";
import type { WorkflowDetails } from "../dispatch/session-message.ts";
import { ProcessCode } from "../engine/process-code.ts";
import type { CodeAnswerer } from "../worker/asked-turns.ts";

export interface WorkerCodeParts {
  readonly workflows: readonly CodeWorkflow[];
  readonly clock: Clock;
  readonly logger: Logger;
  readonly turnsMax: number;
  readonly runsMax: number;
}

/** The code workflows of a worker. `WORKFLOW_DUPLICATE`, `WORKFLOW_INVALID`. */
export function workerCodeOf(parts: WorkerCodeParts): CodeAnswerer & { readonly process: ProcessCode } {
  const { workflows, clock, logger, turnsMax, runsMax } = parts;
  const registry = new CodeRegistry();
  for (const workflow of workflows) registry.register(workflow);
  const find = (name: string, version: string): CodeWorkflow | undefined => registry.find(localName(name), version);
  const process = new WorkerProcess({
    find,
    clock,
    logger,
    versionOf: (name) => registry.latest(localName(name))?.version,
    // The server knows which domains exist, and refuses activities of others.
    hasDomain: () => true,
    loopWatch: undefined,
  });
  const runs = new WarmRuns({ find, services: process, logger, runsMax });
  return {
    workflows: registry.all().map(detailsOf),
    turnsMax,
    answer: (question, read) => runs.answer(question, read),
    process,
  };
}

/** The server decides which version of a child to start if this process does not have it. */
class WorkerProcess extends ProcessCode {
  override versionOf(workflow: string, wanted?: string): string {
    return wanted ?? super.versionOf(workflow) ?? "";
  }
}

function detailsOf(workflow: CodeWorkflow): WorkflowDetails {
  const { name, version, input, timeoutSeconds, maxConcurrentActivities, maxInstances } = workflow;
  const schema = inputSchemaOf(input);
  return {
    name,
    version,
    ...(schema !== undefined && { input: JSON.stringify(schema) }),
    ...(timeoutSeconds !== undefined && { timeoutSeconds }),
    ...(maxConcurrentActivities !== undefined && { maxConcurrentActivities }),
    ...(maxInstances !== undefined && { maxInstances }),
  };
}
