import { EngineError } from "../base/error.ts";
import { type CodeWorkflow, isCodeWorkflow } from "../authoring/code-workflow.ts";
import { findJobProblem, type Job } from "../authoring/job.ts";
import { SettingCheck } from "../authoring/setting-check.ts";
import type { Logger } from "../base/logger.ts";
import { isNamespace } from "../base/namespace.ts";
import { preview } from "../base/preview.ts";
import { slotsMax, turnsMax } from "../dispatch/session-schema.ts";
import { findTagsProblem } from "../dispatch/worker-tags.ts";
import { stderrLogger } from "../engine/stderr-logger.ts";
import type { AroundJob } from "../worker/job-call.ts";

/** Options of a worker. Only `jobs` is required. */
export interface WorkerOptions {
  /** The server to connect to. Default `http://127.0.0.1:7411`. */
  readonly url?: string;
  /** The servers of a cluster, instead of `url`: the worker is connected to one, and goes to another when that is gone. */
  readonly urls?: readonly string[];
  /** A token with the role `worker`. */
  readonly token?: string;
  /** The namespace whose tasks it runs. Default: the one that the token is bound to, or `default`. */
  readonly namespace?: string;
  /** The jobs that it runs. It needs at least one job or workflow. */
  readonly jobs?: readonly Job[];
  /** The code workflows whose code it runs for the server, in all versions that have instances. */
  readonly workflows?: readonly CodeWorkflow[];
  /** Maximum of instances whose code reacts at a time. Default 100. */
  readonly turns?: number;
  /** Maximum of instances whose code is kept in memory between reactions; others are replayed. Default 1000. */
  readonly warmInstances?: number;
  /** Maximum of tasks at a time. Default 10. */
  readonly slots?: number;
  /** Tasks may require a worker with certain tags (`withWorkerTags`). Default none. */
  readonly tags?: readonly string[];
  /** Time `stop` waits for running jobs after it aborted their signals. Default 5 seconds. */
  readonly stopGraceMs?: number;
  /** Default: writes warnings and errors as JSON lines to standard error. */
  readonly logger?: Logger;
  /** Wraps each call of a job, for example in a span. */
  readonly aroundJob?: AroundJob;
}

export interface ResolvedWorkerOptions {
  readonly urls: readonly string[];
  readonly token: string | undefined;
  readonly namespace: string | undefined;
  readonly jobs: readonly Job[];
  readonly workflows: readonly CodeWorkflow[];
  readonly turns: number;
  readonly warmInstances: number;
  readonly slots: number;
  readonly tags: readonly string[];
  readonly stopGraceMs: number;
  readonly logger: Logger;
  readonly aroundJob: AroundJob | undefined;
}

const names: Readonly<Record<keyof WorkerOptions, true>> = {
  url: true,
  urls: true,
  token: true,
  namespace: true,
  jobs: true,
  workflows: true,
  turns: true,
  warmInstances: true,
  slots: true,
  tags: true,
  stopGraceMs: true,
  logger: true,
  aroundJob: true,
};

/** `OPTION_INVALID` with the name of the option. */
export function resolveWorkerOptions(options: WorkerOptions): ResolvedWorkerOptions {
  const check = new SettingCheck("OPTION_INVALID", "new Worker");
  check.object("options", options);
  check.options<WorkerOptions>({ ...options }, names);
  const { token, namespace, slots = 10, tags = [], stopGraceMs = 5000, logger = stderrLogger } = options;
  const { jobs = [], workflows = [], turns = 100, warmInstances = 1000, aroundJob } = options;
  const urls = options.urls ?? [options.url ?? "http://127.0.0.1:7411"];
  if (options.url !== undefined && options.urls !== undefined) check.refuse("give url or urls, not both");
  if (!Array.isArray(urls) || urls.length === 0) check.refuse(`urls must be a list of addresses, got ${preview(urls)}`);
  for (const url of urls) checkUrl(url);
  if (token !== undefined) check.name("token", token);
  if (namespace !== undefined && !isNamespace(namespace)) {
    check.refuse(`namespace must be 1 to 63 lower-case letters, digits and hyphens, got ${preview(namespace)}`);
  }
  check.wholeNumber("slots", slots, 1);
  if (slots > slotsMax) check.refuse(`slots must be at most ${slotsMax}, got ${slots}`);
  const tagsProblem = findTagsProblem(tags);
  if (tagsProblem !== undefined) check.refuse(`tags ${tagsProblem}`);
  check.wholeMs("stopGraceMs", stopGraceMs, 0);
  check.wholeNumber("turns", turns, 1);
  if (turns > turnsMax) check.refuse(`turns must be at most ${turnsMax}, got ${turns}`);
  check.wholeNumber("warmInstances", warmInstances, 0);
  checkWorkflows(workflows);
  checkJobs(jobs, workflows.length > 0);
  if (aroundJob !== undefined && typeof aroundJob !== "function") check.refuse("aroundJob must be a function");
  return { urls, token, namespace, jobs, workflows, turns, warmInstances, slots, tags, stopGraceMs, logger, aroundJob };
}

function checkUrl(url: unknown): void {
  if (typeof url === "string" && /^https?:\/\/[^/]/.test(url) && URL.canParse(url)) return;
  throw new EngineError("OPTION_INVALID", `new Worker: url must begin with http:// or https://, got ${preview(url)}`);
}

function checkWorkflows(workflows: unknown): void {
  if (Array.isArray(workflows) && workflows.every(isCodeWorkflow)) return;
  throw new EngineError(
    "OPTION_INVALID",
    `new Worker: workflows must be a list of what defineWorkflow gave, got ${preview(workflows)}`,
  );
}

function checkJobs(jobs: unknown, mayBeEmpty: boolean): void {
  if (!Array.isArray(jobs) || (jobs.length === 0 && !mayBeEmpty)) {
    throw new EngineError(
      "OPTION_INVALID",
      `new Worker: jobs must be a list of at least one job, got ${preview(jobs)}`,
    );
  }
  for (const job of jobs as readonly unknown[]) {
    const problem = findJobProblem(job);
    if (problem !== undefined) throw new EngineError("OPTION_INVALID", `new Worker: jobs ${problem}`);
  }
}
