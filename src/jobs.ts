/**
 * Jobs for what most workflows need, so that nobody has to write them.
 *
 * ```ts
 * import { Engine } from "heddle";
 * import { readyMadeJobs } from "heddle/jobs";
 * import { sqlite } from "heddle/sqlite";
 *
 * const engine = new Engine({ storage: sqlite("./heddle.db"), jobs: readyMadeJobs({ allowedHosts: ["api.example.org"] }) });
 * ```
 */
export { readyMadeJobs } from "./jobs/ready-made-jobs.ts";
export type { ReadyMadeJobName, ReadyMadeJobsOptions } from "./jobs/ready-made-jobs.ts";
export { scriptJob, shellJob } from "./jobs/command-jobs.ts";
export type { CommandJobOptions, ScriptParams, ShellParams } from "./jobs/command-jobs.ts";
export type { CommandResult } from "./jobs/running-command.ts";
export { fileCleanupJob } from "./jobs/file-cleanup.ts";
export type { FileCleanupJobOptions, FileCleanupParams, FileCleanupResult } from "./jobs/file-cleanup.ts";
export { httpJob } from "./jobs/http.ts";
export type { HttpJobOptions, HttpParams, HttpResult } from "./jobs/http.ts";
export type { Reference } from "./jobs/reference.ts";
export type { SecretRules } from "./jobs/secret-rules.ts";
export { sqlJob } from "./jobs/sql-job.ts";
export type { SqlJobOptions, SqlParams, SqlResult } from "./jobs/sql-job.ts";
export { waitForJob } from "./jobs/wait-for.ts";
export type { WaitForJobOptions, WaitForParams, WaitForResult } from "./jobs/wait-for.ts";
