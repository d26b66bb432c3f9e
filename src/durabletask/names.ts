/** The signature of jobs that are activities of Durable Task workers, behind their names: `charge@durabletask`. */
const activitySignature = "durabletask";

/** The version of orchestrations that were started without one; others have theirs behind it. */
const unversioned = "durabletask";

/** The job that an activity is. */
export function activityJob(name: string): string {
  return `${name}@${activitySignature}`;
}

/** The activity that a job is; the job's own name if it is none. */
export function activityName(job: string): string {
  return isActivityJob(job) ? job.slice(0, -activitySignature.length - 1) : job;
}

function isActivityJob(job: string): boolean {
  return job.endsWith(`@${activitySignature}`);
}

/** The version of a workflow whose code is with workers of Durable Task. */
export function workflowVersion(version: string | undefined): string {
  return version === undefined || version === "" ? unversioned : `${unversioned}:${version}`;
}

/** The version as its SDK knows it. Undefined without one, and for workflows that are not Durable Task's. */
export function orchestratorVersion(version: string): string | undefined {
  return version.startsWith(`${unversioned}:`) ? version.slice(unversioned.length + 1) : undefined;
}

export function isOrchestratorVersion(version: string): boolean {
  return version === unversioned || version.startsWith(`${unversioned}:`);
}
