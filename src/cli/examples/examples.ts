import type { CodeWorkflow } from "../../authoring/code-workflow.ts";
import type { Job } from "../../authoring/job.ts";
import type { Workflow } from "../../authoring/workflow.ts";
import type { HeddleClient } from "../../client/client.ts";
import { HeddleClientError } from "../../client/client-error.ts";
import { approval, approvalJobs } from "./approval.ts";
import { importJobs, importRows } from "./import.ts";
import { publish, report, reportJobs } from "./report.ts";

/** Examples that `heddle dev` shows when given nothing else. */
export const examples: { jobs: readonly Job[]; workflows: readonly (Workflow | CodeWorkflow)[] } = {
  jobs: [...reportJobs, ...importJobs, ...approvalJobs],
  workflows: [report, publish, importRows, approval],
};

/** One instance of each, under ids that are always the same: a folder in which they have run is left as it is. */
export async function runExamples(client: HeddleClient): Promise<void> {
  await startOnce(client, report.name);
  await startOnce(client, importRows.name);
  if (await startOnce(client, approval.name, { order: "o-1" })) {
    const params = { id: idOf(approval.name), name: "approved" };
    await client.call("raiseEvent", { params, body: { by: "the example" } });
  }
}

async function startOnce(client: HeddleClient, workflow: string, input?: unknown): Promise<boolean> {
  const id = idOf(workflow);
  try {
    await client.call("getInstance", { params: { id } });
    return false;
  } catch (error) {
    if (!(error instanceof HeddleClientError) || error.code !== "INSTANCE_UNKNOWN") throw error;
  }
  await client.start(workflow, input, { instanceId: id });
  return true;
}

function idOf(workflow: string): string {
  return `${workflow}-1`;
}
