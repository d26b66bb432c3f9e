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

/** Runs the jobs of the modules for a server, until a signal. */
export async function runWorker(settings: WorkerSettings): Promise<void> {
  const { modules, url, token, slots, graceMs, logLevel } = settings;
  const jobs = await jobsOf(modules);
  const logger = pino({ level: logLevel });
  const worker = new RemoteWorker({
    clock: systemClock,
    random: new SystemRandom(),
    logger,
    jobs,
    connect: (listener) => connectWorker({ url, token }, listener),
    slots,
    aroundJob: traceJob,
    threads: new ThreadWorker({ clock: systemClock, logger }),
    graceMs,
  });
  worker.start();
  logger.info({ worker: worker.id, url, jobs: [...jobs.keys()] }, "the worker has started");
  await untilStopped(worker, { onSignal: () => logger.info({}, "stopping; a second signal ends it at once") });
  logger.info({}, "the worker has stopped");
}

/** By the ids under which the server knows them too. */
async function jobsOf(modules: readonly string[]): Promise<Map<string, Job>> {
  const { jobs } = await loadApp(modules);
  if (jobs.length === 0) throw new UsageError("these modules export workflows but no jobs: there is nothing to run");
  const registry = new JobRegistry();
  return new Map(jobs.map((job) => [registry.register(job), job]));
}
