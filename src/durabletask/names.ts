/** The signature of jobs that are activities of Durable Task workers, behind their names: `charge@durabletask`. */
const activitySignature = "durabletask";

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
