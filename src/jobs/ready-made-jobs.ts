import type { Job } from "../authoring/job.ts";
import { didYouMean } from "../base/closest-name.ts";
import { EngineError } from "../base/error.ts";
import { scriptJob, shellJob } from "./command-jobs.ts";
import { fileCleanupJob } from "./file-cleanup.ts";
import { httpJob } from "./http.ts";
import { defaultSecretRules } from "./secret-rules.ts";
import { sqlJob } from "./sql-job.ts";
import { waitForJob } from "./wait-for.ts";

export const readyMadeJobNames = ["http", "sql", "wait-for", "file-cleanup", "shell", "script"] as const;

/** The names of the ready-made jobs. */
export type ReadyMadeJobName = (typeof readyMadeJobNames)[number];

/** Which ready-made jobs there are, and what they may reach. */
export interface ReadyMadeJobsOptions {
  /** Names of the jobs; default: all that the other options allow. */
  readonly jobs?: readonly ReadyMadeJobName[] | undefined;
  /** Allows `shell` and `script`: everybody who may save a workflow can then run commands as the worker's user. Default false. */
  readonly allowShell?: boolean | undefined;
  /** Hosts that `http`, `sql` and `wait-for` may connect to; `*.example.org` stands for all below. Default: all. */
  readonly allowedHosts?: readonly string[] | undefined;
  /** Folders in which `file-cleanup` may delete; without any, there is no such job. */
  readonly cleanupFolders?: readonly string[] | undefined;
  /** Environment variables that jobs may use as secrets; default `HEDDLE_SECRET_*`. */
  readonly secretVariables?: readonly string[] | undefined;
  /** Folders of files that jobs may use as secrets; default `/run/secrets`. */
  readonly secretFolders?: readonly string[] | undefined;
}

/** The ready-made jobs of a worker or an engine. `OPTION_INVALID` for one that the options do not allow. */
export function readyMadeJobs(options: ReadyMadeJobsOptions = {}): Job[] {
  const { jobs: wanted, allowShell = false, allowedHosts, cleanupFolders: folders = [] } = options;
  const secrets = {
    variables: options.secretVariables ?? defaultSecretRules.variables,
    folders: options.secretFolders ?? defaultSecretRules.folders,
  };
  const made: Readonly<Record<ReadyMadeJobName, () => Job | undefined>> = {
    http: () => httpJob({ secrets, allowedHosts }),
    sql: () => sqlJob({ secrets, allowedHosts }),
    "wait-for": () => waitForJob({ secrets, allowedHosts }),
    "file-cleanup": () => (folders.length > 0 ? fileCleanupJob({ folders }) : undefined),
    shell: () => (allowShell ? shellJob({ secrets }) : undefined),
    script: () => (allowShell ? scriptJob({ secrets }) : undefined),
  };
  return (wanted ?? readyMadeJobNames).flatMap((name) => {
    if (!Object.hasOwn(made, name)) {
      const hint = didYouMean(name, readyMadeJobNames);
      throw invalid(`there is no ready-made job "${name}"${hint} (${readyMadeJobNames.join(", ")})`);
    }
    const job = made[name]();
    if (job === undefined && wanted !== undefined) throw invalid(missingPermission(name));
    return job === undefined ? [] : [job];
  });
}

function missingPermission(name: ReadyMadeJobName): string {
  return name === "file-cleanup"
    ? "the ready-made job file-cleanup needs cleanupFolders, the folders in which it may delete"
    : `the ready-made job ${name} runs commands as the user of this process: allow it with allowShell`;
}

function invalid(message: string): EngineError {
  return new EngineError("OPTION_INVALID", message);
}
