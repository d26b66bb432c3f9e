import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { Engine } from "../src/index.ts";
import type { EngineOptions, Logger } from "../src/index.ts";
import { sqlite } from "../src/sqlite.ts";
import { Ceiling } from "./ceiling.ts";
import { RecordingStore } from "./recording-store.ts";
import type { PackedRecording } from "./recording-store.ts";

/** One line of the result. */
export interface Figure {
  readonly name: string;
  readonly value: number;
  readonly unit: string;
  /** The same unit: what the bare driver takes for the same rows. */
  readonly ceiling: number;
  /** `value / ceiling`. */
  readonly ratio: number;
  /** What is to be reached, in words. */
  readonly target: string;
  readonly met: boolean;
  /** What else is worth knowing. */
  readonly notes?: Readonly<Record<string, number>>;
}

export interface Settings {
  readonly quick: boolean;
  /** Each figure is the median of so many runs. */
  readonly runs: number;
}

export type Benchmark = (settings: Settings) => Promise<Figure[]>;

/** Engine and ceiling, run by run. */
export interface Pair {
  readonly engine: number;
  readonly ceiling: number;
}

const silent = (): void => undefined;
const silentLogger: Logger = { debug: silent, info: silent, warn: silent, error: silent };

/** A new folder for each use, gone afterwards. */
export async function inFolder<T>(work: (folder: string) => Promise<T>): Promise<T> {
  const folder = mkdtempSync(join(tmpdir(), "heddle-bench-"));
  try {
    return await work(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Starts a silent engine on an empty file for the work, and stops it. */
export async function withEngine<T>(options: Omit<EngineOptions, "storage">, work: (engine: Engine) => Promise<T>): Promise<T> {
  return await inFolder(async (folder) => await onEngine({ ...options, storage: sqlite(join(folder, "bench.db")) }, work));
}

export async function onEngine<T>(options: EngineOptions, work: (engine: Engine) => Promise<T>): Promise<T> {
  const engine = new Engine({ logger: silentLogger, ...options });
  await engine.start();
  try {
    return await work(engine);
  } finally {
    await engine.stop();
  }
}

/** What the work makes an engine write, up to its end; what stopping the engine writes is not part of it. */
export async function record(
  options: Omit<EngineOptions, "storage">,
  work: (engine: Engine) => Promise<unknown>,
): Promise<PackedRecording> {
  return await inFolder(async (folder) => {
    const storage = new RecordingStore({ file: join(folder, "bench.db") });
    return await onEngine({ ...options, storage }, async (engine) => {
      await work(engine);
      return storage.taken();
    });
  });
}

/** What each commit of the recording takes without an engine, in ms. */
export async function bareCommits(recording: PackedRecording): Promise<number[]> {
  return await inFolder(async (folder) => {
    const ceiling = new Ceiling(join(folder, "bare.db"), recording);
    try {
      collectGarbage();
      return ceiling.write();
    } finally {
      ceiling.close();
    }
  });
}

/** By turns, so that what else the machine does hits both alike. */
export async function inTurns<T>(runs: number, engine: () => Promise<T>, ceiling: () => Promise<T>): Promise<{ engine: T[]; ceiling: T[] }> {
  const results = { engine: [] as T[], ceiling: [] as T[] };
  for (let run = 0; run < runs; run++) {
    collectGarbage();
    results.engine.push(await engine());
    collectGarbage();
    results.ceiling.push(await ceiling());
  }
  return results;
}

export async function elapsedMs(work: () => Promise<unknown>): Promise<number> {
  const start = performance.now();
  await work();
  return performance.now() - start;
}

export function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}

export function median(values: readonly number[]): number {
  return percentile(values, 0.5);
}

/** The smallest value that at least this part of all values does not exceed. */
export function percentile(values: readonly number[], part: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.max(0, Math.ceil(part * sorted.length) - 1)] ?? Number.NaN;
}

let gc: (() => void) | undefined;

/** Garbage of one run is not left for the next to pay. */
function collectGarbage(): void {
  if (gc === undefined) {
    setFlagsFromString("--expose-gc");
    gc = runInNewContext("gc") as () => void;
  }
  gc();
}
