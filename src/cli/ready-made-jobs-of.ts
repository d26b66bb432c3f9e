import type { Job } from "../authoring/job.ts";
import type { ServerConfig } from "../server/config/server-config.ts";

/** The jobs are loaded only where somebody asks for one. `OPTION_INVALID`. */
export async function readyMadeJobsOf(given: ServerConfig["readyMade"]): Promise<Job[]> {
  if (given.jobs.length === 0) return [];
  const { readyMadeJobs } = await import("../jobs/ready-made-jobs.ts");
  return readyMadeJobs(given);
}
