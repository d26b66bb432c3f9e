import type { Job } from "../authoring/job.ts";
import { JobRegistry, type RegisteredJob } from "../authoring/job-registry.ts";
import { EngineError } from "../base/error.ts";
import { systemClock } from "../engine/system-clock.ts";
import { SystemRandom } from "../engine/system-random.ts";
import type { JobDetails } from "../dispatch/session-message.ts";
import { type JobCatalogue, RemoteWorker } from "../worker/remote-worker.ts";
import { ProcessWorker } from "../worker/process-worker.ts";
import { ThreadWorker } from "../worker/thread-worker.ts";
import { connectToServer } from "./server-link.ts";
import { workerCodeOf } from "./worker-code.ts";
import { ServerList } from "./server-list.ts";
import { resolveWorkerOptions, type WorkerOptions } from "./worker-options.ts";

/**
 * Runs jobs and the code of workflows for a server, in a process of its own. It connects outwards and needs no inbound port.
 *
 * ```ts
 * import { defineJob } from "heddle";
 * import { Worker } from "heddle/worker";
 *
 * const resize = defineJob("resize", async ({ file }: { file: string }) => `${file}.small`);
 * const worker = new Worker({ url: "http://127.0.0.1:7411", jobs: [resize], slots: 4 });
 * await worker.start();
 * process.once("SIGTERM", () => void worker.drain());
 * ```
 *
 * While no server can be reached it tries again and again, and keeps what it runs; results are sent until a server has
 * made them durable.
 */
export class Worker {
  readonly #worker: RemoteWorker;
  readonly #code: ReturnType<typeof workerCodeOf> | undefined;
  readonly #connected = Promise.withResolvers<void>();
  #stage: "new" | "started" | "stopped" = "new";
  #drained: Promise<void> | undefined;

  /** `OPTION_INVALID`, `JOB_DUPLICATE`, `WORKFLOW_DUPLICATE`, `WORKFLOW_INVALID`. */
  constructor(options: WorkerOptions) {
    const resolved = resolveWorkerOptions(options);
    const { urls, token, namespace, jobs, slots, tags, stopGraceMs, logger, aroundJob } = resolved;
    const { workflows, turns, warmInstances } = resolved;
    if (workflows.length > 0)
      this.#code = workerCodeOf({
        workflows,
        clock: systemClock,
        logger,
        turnsMax: turns,
        runsMax: warmInstances,
      });
    const random = new SystemRandom();
    const servers = new ServerList(urls, random);
    // The rejection is for whoever awaits `start`.
    this.#connected.promise.catch(() => undefined);
    const onRefused = (error: Error): boolean => {
      // A worker that was connected before keeps trying, because it may hold results.
      if (this.#worker.hasConnected) return false;
      this.#connected.reject(error);
      return true;
    };
    this.#worker = new RemoteWorker({
      clock: systemClock,
      random,
      logger,
      jobs: catalogueOf(jobs),
      connect: (listener) => connectToServer({ url: servers.take(), token, namespace, onRefused }, listener),
      onConnected: () => this.#connected.resolve(),
      slots,
      tags,
      ...(this.#code !== undefined && { code: this.#code }),
      threads: new ThreadWorker({ clock: systemClock, logger }),
      processes: new ProcessWorker({ clock: systemClock, logger }),
      graceMs: stopGraceMs,
      ...(aroundJob !== undefined && { aroundJob }),
    });
  }

  /** New for each `Worker`: the last part of its address in histories. */
  get id(): string {
    return this.#worker.id;
  }

  /** A server has accepted it, and the connection is alive. */
  get isConnected(): boolean {
    return this.#worker.isConnected;
  }

  /** The number of tasks that it runs. */
  get runningTasks(): number {
    return this.#worker.runningCount;
  }

  /**
   * Connects. Resolves when a server has accepted the worker; while none can be reached, it keeps trying. Rejects if a
   * server refuses it: the token, its role or the server's settings (`UNAUTHORIZED`, `FORBIDDEN`, `OPTION_INVALID`). The worker
   * is stopped then. `ENGINE_STATE` if it was started before.
   */
  async start(): Promise<void> {
    if (this.#stage !== "new") {
      throw new EngineError("ENGINE_STATE", "the worker was started already; make a new Worker to start again");
    }
    this.#stage = "started";
    this.#code?.process.start();
    this.#worker.start();
    try {
      await this.#connected.promise;
    } catch (error) {
      await this.stop();
      throw error;
    }
  }

  /**
   * Takes no new tasks, and leaves when those that run have ended and the server has their results. `stop` ends it sooner.
   */
  drain(): Promise<void> {
    return (this.#drained ??= this.#drain());
  }

  /**
   * Takes no new tasks, aborts the signals of those that run, and leaves. Tasks that do not succeed within `stopGraceMs` go
   * back to the server and run elsewhere; that counts neither as a failure nor as a loss.
   */
  async stop(): Promise<void> {
    if (this.#stage === "new") return;
    this.#stage = "stopped";
    this.#connected.reject(new EngineError("ENGINE_STATE", "the worker was stopped before a server accepted it"));
    await this.#worker.stop();
    this.#code?.process.stop();
  }

  async #drain(): Promise<void> {
    if (this.#stage === "started") await this.#worker.drain();
    await this.stop();
  }
}

/** Jobs by the ids under which a server registers them, or by name. `JOB_DUPLICATE`. */
function catalogueOf(jobs: readonly Job[]): JobCatalogue {
  const registry = new JobRegistry();
  for (const job of jobs) registry.register(job);
  return {
    get: (idOrName) => registry.find(idOrName)?.job,
    keys: () => registry.ids,
    details: () => registry.ids.map((id) => detailsOf(registry.get(id) as RegisteredJob)),
  };
}

function detailsOf({ id, job, description: { parameters, sourceHash } }: RegisteredJob): JobDetails {
  return { id, parameters, sourceHash, ...(job.description !== undefined && { description: job.description }) };
}
