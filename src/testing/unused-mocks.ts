import type { CodeWorkflow } from "../authoring/code-workflow.ts";
import type { Job } from "../authoring/job.ts";
import { Workflow } from "../authoring/workflow.ts";

/**
 * Finds mocks that were never called and whose name matches neither a job of the test nor the job of a DAG's task. Code may
 * call a job by any name, so this does not prove a mistake.
 */
export function unusedMocks(
  mocks: readonly Job[],
  { jobs, workflows }: { readonly jobs: readonly Job[]; readonly workflows: readonly (Workflow | CodeWorkflow)[] },
): string[] {
  const dags = workflows.filter((workflow) => workflow instanceof Workflow);
  const known = new Set([...jobs.map(({ name }) => name), ...dags.flatMap(jobNamesOf)]);
  return mocks.filter((mock) => hasNoCalls(mock) && !known.has(mock.name)).map(({ name }) => name);
}

function jobNamesOf(workflow: Workflow): string[] {
  return workflow.spec().nodes.flatMap(({ jobName }) => jobName ?? []);
}

/** Jobs that were not created by `mockJob` count no calls. */
function hasNoCalls(mock: Job & { readonly calls?: readonly unknown[] }): boolean {
  return mock.calls?.length === 0;
}
