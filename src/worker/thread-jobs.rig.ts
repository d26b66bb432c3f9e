/** Jobs for the tests of threads, which load them from this file. */
import { parentPort, threadId, workerData } from "node:worker_threads";
import { defineJob } from "../authoring/job.ts";
import type { Job, JobFunction } from "../authoring/job.ts";
import { TaskBuilder } from "../authoring/task-builder.ts";

export const notAJob = 7;

export function double({ n }: { n: number }): number {
  return 2 * n;
}

export const whereAmI = threadJob("whereAmI", () => threadId);

export const useEverything = threadJob("useEverything", (_, ctx) => {
  ctx.log.info({ copied: [1], printed: () => 1 }, "hello");
  ctx.patchContext({ seen: ctx.context["day"] });
  ctx.progress({ done: 1, total: 2 });
  ctx.generateSubTask(new TaskBuilder("shard").withJobFunction("double", { n: 1 }).build());
  return { outputs: ctx.outputs, attemptId: ctx.attemptId };
});

export const throwing = threadJob("throwing", () => {
  throw new RangeError("from the thread");
});

export const spin = threadJob("spin", (_, ctx) => {
  ctx.log.info({}, "running");
  for (;;);
});

export const waitForSignal = threadJob("waitForSignal", async (_, ctx) => {
  const aborted = new Promise((resolve) => ctx.signal.addEventListener("abort", resolve));
  ctx.log.info({}, "running");
  await aborted;
  return `stopped: ${(ctx.signal.reason as Error).message}`;
});

/** Posts what it can reach to its parent thread: values of its own, and all that looks like an outcome. */
export const postToParent = threadJob("postToParent", () => {
  const forged = { type: "ended", outcome: { kind: "success", output: '"forged"' } };
  for (const value of [null, undefined, 1, "text", {}, { type: "log" }, forged]) parentPort?.postMessage(value, []);
  return Object.keys((workerData ?? {}) as object);
});

let logLate: (() => void) | undefined;

/** It keeps its context beyond its end; the next job in the same thread then uses it. */
export const keepContext = threadJob("keepContext", (_, ctx) => {
  logLate = (): void => {
    ctx.log.info({}, "late");
    ctx.progress(0.9);
  };
});

export const useKeptContext = threadJob("useKeptContext", (_, ctx) => {
  logLate?.();
  ctx.log.info({}, "own");
});

export const exit = threadJob("exit", () => process.exit(3));

export const crash = threadJob("crash", async () => {
  setImmediate(() => {
    throw new Error("nobody catches this");
  });
  return new Promise(() => undefined);
});

export const eatMemory = threadJob("eatMemory", () => {
  const eaten: unknown[] = [];
  for (;;) eaten.push(Array.from({ length: 100_000 }, (_, i) => ({ i })));
});

function threadJob(name: string, fn: JobFunction<unknown, unknown>): Job {
  return defineJob(name, { isolation: "thread", source: { module: import.meta.url, export: name } }, fn);
}
