import { pino } from "pino";
import { loadApp } from "../server/config/app-modules.ts";
import { Worker } from "../remote-worker/worker.ts";
import type { WorkerOptions } from "../remote-worker/worker-options.ts";
import { traceJob } from "../telemetry/job-run.ts";
import { readyMadeJobsOf } from "./ready-made-jobs-of.ts";
import { isCodeWorkflow } from "../authoring/code-workflow.ts";
import type { ServerConfig } from "../server/config/server-config.ts";
import { UsageError } from "./exit-code.ts";
import { untilStopped } from "./until-stopped.ts";

export interface WorkerSettings extends Required<Pick<WorkerOptions, "urls" | "slots" | "tags">> {
  readonly modules: readonly string[];
  readonly readyMade: ServerConfig["readyMade"];
  readonly token: string | undefined;
  readonly namespace: string | undefined;
  readonly drainMs: number;
  readonly logLevel: string;
}

/** Runs the jobs of the modules for a server, until a signal, or until the server refuses its first connection. */
export async function runWorker(settings: WorkerSettings): Promise<void> {
  const { modules, urls, token, namespace, slots, tags, drainMs, logLevel } = settings;
  const { jobs: own, workflows: all } = await loadApp(modules);
  const workflows = all.filter(isCodeWorkflow);
  const jobs = [...own, ...(await readyMadeJobsOf(settings.readyMade))];
  if (jobs.length + workflows.length === 0) {
    const problem =
      modules.length === 0
        ? "a worker needs jobs or code workflows"
        : "these modules export no jobs and no code workflows, and a worker needs some";
    throw new UsageError(`${problem}: name modules that export some, or --ready-made-jobs`);
  }
  const logger = pino({ level: logLevel });
  const worker = new Worker({
    urls,
    jobs,
    workflows,
    slots,
    tags,
    logger,
    aroundJob: traceJob,
    ...(token !== undefined && { token }),
    ...(namespace !== undefined && { namespace }),
  });
  let refusal: Error | undefined;
  const refused = new Promise<void>((resolve) => {
    worker.start().catch((error: unknown) => {
      refusal = error instanceof Error ? error : new Error(String(error));
      resolve();
    });
  });
  logger.info({ worker: worker.id, urls, jobs: jobs.map(({ name }) => name) }, "the worker has started");
  const stop = (): Promise<void> => drainOrStop(worker, drainMs);
  await untilStopped(
    { stop },
    {
      ended: refused,
      onSignal: () => logger.info({}, "stopping: waiting for running tasks; a second signal exits at once"),
    },
  );
  if (refusal !== undefined) throw refusal;
  logger.info({}, "the worker has stopped");
}

/** Lets running tasks end for a while; what still runs then is aborted and runs elsewhere. */
async function drainOrStop(worker: Worker, drainMs: number): Promise<void> {
  const { promise: timeout, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, drainMs);
  await Promise.race([worker.drain(), timeout]);
  clearTimeout(timer);
  await worker.stop();
}
