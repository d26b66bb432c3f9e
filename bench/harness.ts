import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { silentLogger } from "../src/base/logger.ts";
import { Engine } from "../src/index.ts";
import type { EngineOptions, Workflow } from "../src/index.ts";
import { storage as storeAt } from "../src/storage.ts";
import type { Store } from "../src/stores/store.ts";
import type { BareTimes } from "./ceiling.ts";
import { CeilingProcess } from "./child.ts";
import { inFolder } from "./folder.ts";
import { Recorder } from "./recording.ts";
import type { BenchStorage } from "./storages/bench-storage.ts";

export type Options = Omit<EngineOptions, "storage">;
type Work<T> = (engine: Engine) => Promise<T>;

export interface RecordingCounts {
  readonly commits: number;
  /** Fences included. */
  readonly rows: number;
}

export interface Comparison<T> extends RecordingCounts {
  /** What the work gave back, run by run. */
  readonly engine: T[];
  readonly bare: BareTimes[];
}

export async function onEngine<T>(options: EngineOptions, work: Work<T>): Promise<T> {
  const engine = new Engine({ logger: silentLogger, watchCode: false, ...options });
  await engine.start();
  try {
    await ownsAllShards(engine, options.storage);
    return await work(engine);
  } finally {
    await engine.stop();
  }
}

/** A member of a cluster opens its shards one after the other once it has started; that is not what is measured. */
export async function ownsAllShards(engine: Engine, storage: Store): Promise<void> {
  if (engine.members().length === 0) return;
  const shards = await storage.settleShardCount(1);
  while (engine.members().find(({ isSelf }) => isSelf)?.shards !== shards) await setTimeout(5);
}

/** A fresh engine on an empty database. */
export async function onNewEngine<T>(storage: BenchStorage, options: Options, work: Work<T>): Promise<T> {
  return await storage.inDatabase(
    async (address) => await onEngine({ ...options, storage: await storeAt(address) }, work),
  );
}

/** Writes down what the work makes an engine write; what starting and stopping it writes is not part of it. */
export async function record<T>(
  storage: BenchStorage,
  file: string,
  options: Options,
  work: Work<T>,
): Promise<RecordingCounts> {
  return await storage.inDatabase(async (address) => {
    const store = await storeAt(address);
    const recorder = new Recorder(store);
    return await onEngine({ ...options, storage: store }, async (engine) => {
      recorder.beginWork();
      await work(engine);
      recorder.save(file);
      return { commits: recorder.commits, rows: recorder.rows };
    });
  });
}

/**
 * Runs the work on an engine and its rows on the bare driver, by turns, so that what else the machine does hits both
 * alike. Before that, unmeasured, the work is recorded and both are warmed up.
 */
export async function compare<T>(plan: {
  storage: BenchStorage;
  runs: number;
  warmUps: number;
  options: Options;
  work: Work<T>;
}): Promise<Comparison<T>> {
  const { storage, runs, warmUps, options, work } = plan;
  return await inFolder(async (folder) => {
    const file = join(folder, "recording");
    const counts = await record(storage, file, options, work);
    const ceiling = new CeilingProcess(storage, file);
    const engine: T[] = [];
    const bare: BareTimes[] = [];
    for (let run = -warmUps; run < runs; run++) {
      const worked = await onNewEngine(storage, options, work);
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
