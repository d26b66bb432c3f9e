import type { CodeWorkflow } from "../authoring/code-workflow.ts";
import type { Job } from "../authoring/job.ts";
import { Workflow } from "../authoring/workflow.ts";

/**
 * Mocks that were never called and stand in for nothing that the test names: neither one of its jobs, nor the job of a
 * DAG's task. Code may call a job by any name, so this is no proof of a mistake.
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

/** A job that `mockJob` did not make counts no calls. */
function hasNoCalls(mock: Job & { readonly calls?: readonly unknown[] }): boolean {
  return mock.calls?.length === 0;
}
