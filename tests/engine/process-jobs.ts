import { setTimeout } from "node:timers/promises";
import { defineJob, TaskBuilder } from "../../src/index.ts";

const source = (name: string) => ({ isolation: "process", source: { module: import.meta.url, export: name } }) as const;

/** Holds on to its process for ever: only killing the process ends it. */
export const spinInProcess = defineJob("spinInProcess", source("spinInProcess"), () => {
  for (;;);
});

export const whereInProcess = defineJob("whereInProcess", source("whereInProcess"), (params: unknown, ctx) => {
  process.stdout.write("printed\n");
  ctx.patchContext({ patched: true });
  ctx.generateSubTask(new TaskBuilder("sub").withJobFunction("echo", "from a process").build());
  return { params, pid: process.pid, outputs: ctx.outputs };
});

export const exitInProcess = defineJob("exitInProcess", source("exitInProcess"), () => process.exit(3));

export const asksInProcess = defineJob("asksInProcess", source("asksInProcess"), (_: unknown, ctx) => {
  ctx.log.info({ token: ctx.completeLater() }, "the token of the task");
});

/** Adds up the results of a map. */
export const sumInProcess = defineJob("sumInProcess", source("sumInProcess"), async (_: unknown, ctx) => {
  let sum = 0;
  for await (const { output } of ctx.results()) sum += Number(output);
  return { sum };
});

/** Sends eight heartbeats, and is silent then; the second attempt says what it finds. */
export const beatsInProcess = defineJob("beatsInProcess", source("beatsInProcess"), async (_: unknown, ctx) => {
  if (ctx.attempt > 1) return ctx.heartbeatDetails;
  ctx.progress(0);
  for (let beat = 1; beat <= 8; beat++) {
    ctx.heartbeat({ beat });
    await setTimeout(300);
  }
  for (;;);
});
