import { pino } from "pino";
import type { Job } from "../authoring/job.ts";
import { JobRegistry } from "../authoring/job-registry.ts";
import { systemClock } from "../engine/system-clock.ts";
import { SystemRandom } from "../engine/system-random.ts";
import { loadApp } from "../server/config/app-modules.ts";
import { RemoteWorker } from "../worker/remote-worker.ts";
import { traceJob } from "../telemetry/job-run.ts";
import { ThreadWorker } from "../worker/thread-worker.ts";
import { UsageError } from "./exit-code.ts";
import { untilStopped } from "./until-stopped.ts";
import { connectWorker } from "./worker-link.ts";

export interface WorkerSettings {
  readonly modules: readonly string[];
  readonly url: string;
  readonly token: string | undefined;
  readonly slots: number;
  readonly graceMs: number;
  readonly logLevel: string;
}

/** Runs the jobs of the modules for a server, until a signal, or until the server refuses its first connection. */
export async function runWorker(settings: WorkerSettings): Promise<void> {
  const { modules, url, token, slots, graceMs, logLevel } = settings;
  const jobs = await jobsOf(modules);
  const logger = pino({ level: logLevel });
  const { promise: refused, resolve: refuse } = Promise.withResolvers<Error>();
  // A worker that was connected before keeps trying, because it may hold results.
  const onRefused = (error: Error): void => {
    if (!worker.hasConnected) refuse(error);
  };
  const worker: RemoteWorker = new RemoteWorker({
    clock: systemClock,
    random: new SystemRandom(),
    logger,
    jobs,
    connect: (listener) => connectWorker({ url, token, onRefused }, listener),
    slots,
    aroundJob: traceJob,
    threads: new ThreadWorker({ clock: systemClock, logger }),
    graceMs,
  });
  let refusal: Error | undefined;
  worker.start();
  logger.info({ worker: worker.id, url, jobs: [...jobs.keys()] }, "the worker has started");
  const ended = refused.then((error) => (refusal = error));
  await untilStopped(worker, {
    ended,
    onSignal: () => logger.info({}, "stopping: waiting for running tasks; a second signal exits at once"),
  });
  if (refusal !== undefined) throw refusal;
  logger.info({}, "the worker has stopped");
}

/** Loads the jobs by the ids under which the server registers them. */
async function jobsOf(modules: readonly string[]): Promise<Map<string, Job>> {
  const { jobs } = await loadApp(modules);
  if (jobs.length === 0) throw new UsageError("these modules export workflows but no jobs, a worker needs jobs");
  const registry = new JobRegistry();
  return new Map(jobs.map((job) => [registry.register(job), job]));
}
