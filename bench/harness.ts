import { join } from "node:path";
import { silentLogger } from "../src/base/logger.ts";
import { Engine } from "../src/index.ts";
import type { EngineOptions, Workflow } from "../src/index.ts";
import { sqlite } from "../src/sqlite.ts";
import type { BareTimes } from "./ceiling.ts";
import { CeilingProcess } from "./child.ts";
import { inFolder } from "./folder.ts";
import { RecordingStore, saveRecording } from "./recording-store.ts";

export type Options = Omit<EngineOptions, "storage">;
type Work<T> = (engine: Engine) => Promise<T>;

export interface RecordingCounts {
  readonly commits: number;
  /** Rows and fences: every statement but BEGIN and COMMIT. */
  readonly statements: number;
}

export interface Comparison<T> extends RecordingCounts {
  /** What the work gave back, run by run. */
  readonly engine: T[];
  readonly bare: BareTimes[];
}

export async function onEngine<T>(options: EngineOptions, work: Work<T>): Promise<T> {
  const engine = new Engine({ logger: silentLogger, ...options });
  await engine.start();
  try {
    return await work(engine);
  } finally {
    await engine.stop();
  }
}

/** A fresh engine on an empty file. */
export async function onNewEngine<T>(options: Options, work: Work<T>): Promise<T> {
  return await inFolder(
    async (folder) => await onEngine({ ...options, storage: sqlite(join(folder, "bench.db")) }, work),
  );
}

/** Writes down what the work makes an engine write; what starting and stopping it writes is not part of it. */
export async function record<T>(file: string, options: Options, work: Work<T>): Promise<RecordingCounts> {
  return await inFolder(async (folder) => {
    const storage = new RecordingStore({ file: join(folder, "bench.db") });
    return await onEngine({ ...options, storage }, async (engine) => {
      await work(engine);
      saveRecording(file, storage);
      return { commits: storage.commits.length, statements: storage.commits.flat().length };
    });
  });
}

/**
 * Runs the work on an engine and its rows on the bare driver, by turns, so that what else the machine does hits both
 * alike. Before that, unmeasured, the work is recorded and both are warmed up.
 */
export async function compare<T>(plan: {
  runs: number;
  warmUps: number;
  options: Options;
  work: Work<T>;
}): Promise<Comparison<T>> {
  const { runs, warmUps, options, work } = plan;
  return await inFolder(async (folder) => {
    const file = join(folder, "recording");
    const counts = await record(file, options, work);
    const ceiling = new CeilingProcess(file);
    const engine: T[] = [];
    const bare: BareTimes[] = [];
    for (let run = -warmUps; run < runs; run++) {
      const worked = await onNewEngine(options, work);
      const times = await ceiling.run();
      if (run < 0) continue;
      engine.push(worked);
      bare.push(times);
    }
    await ceiling.close();
    return { engine, bare, ...counts };
  });
}

/** From submit to result. */
export async function resultMs(engine: Engine, workflow: Workflow): Promise<number> {
  return await elapsedMs(async () => (await engine.submitWorkflow(workflow)).result());
}

export async function elapsedMs(work: () => Promise<unknown>): Promise<number> {
  const start = performance.now();
  await work();
  return performance.now() - start;
}
