/** An engine without the code of its workflows, and workers that have it, joined by links that carry texts. */
import type { TestContext } from "node:test";
import { type CodeWorkflow, Engine, type EngineOptions, type Job } from "../../src/index.ts";
import { silentLogger } from "../../src/base/logger.ts";
import type { LinkListener } from "../../src/dispatch/link.ts";
import { systemClock } from "../../src/engine/system-clock.ts";
import { SystemRandom } from "../../src/engine/system-random.ts";
import { workerCodeOf } from "../../src/remote-worker/worker-code.ts";
import { memoryStore } from "../../src/testing.ts";
import { RemoteWorker } from "../../src/worker/remote-worker.ts";
import { until } from "../support/until.ts";

export const timings = { workerBeatMs: 200, workerLostMs: 1000 };

export async function startOwner(t: TestContext, options: Partial<EngineOptions> = {}): Promise<Engine> {
  const engine = new Engine({
    storage: memoryStore(),
    remoteWorkers: true,
    logger: silentLogger,
    cluster: { shards: 2, timings },
    ...options,
  });
  await engine.start();
  t.after(() => engine.stop());
  return engine;
}

export class CodeWorker {
  readonly worker: RemoteWorker;
  readonly #code: ReturnType<typeof workerCodeOf>;
  #isCut = false;
  /** Replaces what the worker sends. */
  change: ((text: string) => readonly string[]) | undefined;

  constructor(
    engine: () => Engine,
    workflows: readonly CodeWorkflow[],
    { jobs = new Map(), runsMax = 100 }: { jobs?: Map<string, Job>; runsMax?: number } = {},
  ) {
    this.#code = workerCodeOf({ workflows, clock: systemClock, logger: silentLogger, turnsMax: 100, runsMax });
    this.worker = new RemoteWorker({
      clock: systemClock,
      random: new SystemRandom(),
      logger: silentLogger,
      jobs,
      timings,
      code: this.#code,
      graceMs: 100,
      connect: (listener) => this.#connect(engine(), listener),
    });
  }

  static async start(
    t: TestContext,
    engine: Engine,
    workflows: readonly CodeWorkflow[],
    options: { runsMax?: number } = {},
  ): Promise<CodeWorker> {
    const worker = new CodeWorker(() => engine, workflows, options);
    t.after(() => worker.worker.stop());
    worker.worker.start();
    await until(() => worker.worker.isConnected);
    return worker;
  }

  /** Nothing reaches the other end any more, as if the process were gone. */
  cut(): void {
    this.#isCut = true;
  }

  #connect(engine: Engine, listener: LinkListener): { send: (text: string) => void; close: () => void } {
    const soon = (deliver: () => void): void => {
      setImmediate(() => this.#isCut || deliver());
    };
    const memberEnd = {
      send: (text: string) => soon(() => listener.receive(text)),
      close: () => soon(() => listener.onClosed(undefined)),
    };
    const accepted = engine.acceptWorker(memberEnd, {});
    return {
      send: (text) => {
        for (const each of this.change?.(text) ?? [text]) soon(() => accepted.receive(each));
      },
      close: () => soon(() => accepted.onClosed(undefined)),
    };
  }
}
