/** Jobs for the tests of child processes, which load them from this file. */
import { spawn } from "node:child_process";
import { writeFileSync } from "node:fs";
import { defineJob } from "../authoring/job.ts";
import type { Job, JobFunction } from "../authoring/job.ts";
import { TaskBuilder } from "../authoring/task-builder.ts";

export const whereAmI = processJob("whereAmI", () => process.pid);

let calls = 0;
export const countCalls = processJob("countCalls", () => ++calls);

export const useEverything = processJob("useEverything", (params, ctx) => {
  process.stdout.write("to stdout\n");
  process.stderr.write("to stderr\n");
  ctx.log.info({ copied: [1], printed: () => 1 }, "hello");
  ctx.patchContext({ seen: ctx.context["day"] });
  ctx.progress({ done: 1, total: 2 });
  ctx.generateSubTask(new TaskBuilder("shard").withJobFunction("double", { n: 1 }).build());
  return { params, outputs: ctx.outputs, attemptId: ctx.attemptId };
});

export const throwing = processJob("throwing", () => {
  throw new RangeError("from the process");
});

/** Starts processes, one of them outside its group, says so, and blocks its event loop. */
export const spinWithChildren = processJob("spinWithChildren", ({ file }: { file: string }, ctx) => {
  const inGroup = spawn("sleep", ["600"], { stdio: "ignore" });
  const outside = spawn("sleep", ["600"], { stdio: "ignore", detached: true });
  writeFileSync(file, JSON.stringify([process.pid, inGroup.pid, outside.pid]));
  ctx.log.info({}, "running");
  setTimeout(() => {
    for (;;);
  }, 50);
  return new Promise(() => undefined);
});

export const waitForSignal = processJob("waitForSignal", async (_, ctx) => {
  const aborted = new Promise((resolve) => ctx.signal.addEventListener("abort", resolve));
  ctx.log.info({}, "running");
  await aborted;
  return `stopped: ${(ctx.signal.reason as Error).message}`;
});

export const forge = processJob("forge", () => typeof process.send);

export const exit = processJob("exit", () => {
  process.stderr.write("no disk\n");
  process.exit(3);
});

export const crash = processJob("crash", async () => {
  setImmediate(() => process.kill(process.pid, "SIGSEGV"));
  return new Promise(() => undefined);
});

export const fillHeap = processJob("fillHeap", () => {
  const eaten: unknown[] = [];
  for (;;) eaten.push(Array.from({ length: 10_000 }, (_, i) => ({ i })));
});

/** Memory outside the JavaScript heap. */
export const fillBuffers = processJob("fillBuffers", async () => {
  const eaten: Buffer[] = [];
  for (;;) {
    eaten.push(Buffer.alloc(20_000_000, 1));
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
});

function processJob<Params>(name: string, fn: JobFunction<Params, unknown>): Job<Params> {
  return defineJob(name, { isolation: "process", source: { module: import.meta.url, export: name } }, fn);
}
