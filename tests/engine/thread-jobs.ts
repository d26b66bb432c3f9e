import { setTimeout } from "node:timers/promises";
import { isMainThread, threadId } from "node:worker_threads";
import { defineJob, TaskBuilder } from "../../src/index.ts";

const source = (name: string) => ({ isolation: "thread", source: { module: import.meta.url, export: name } }) as const;

/** Holds on to its thread for ever: only killing the thread ends it. */
export const spin = defineJob("spin", source("spin"), () => {
  for (;;);
});

export const where = defineJob("where", source("where"), (params: unknown, ctx) => {
  ctx.log.info({ threadId }, "in a thread");
  ctx.patchContext({ patched: true });
  ctx.generateSubTask(new TaskBuilder("sub").withJobFunction("echo", "from a thread").build());
  return { params, isMainThread, outputs: ctx.outputs, context: ctx.context };
});

export const itemIn = defineJob("itemIn", source("itemIn"), (params: unknown, ctx) => [params, ctx.item, ctx.index]);

export const exit = defineJob("exit", source("exit"), () => process.exit(3));

export const throwText = defineJob("throwText", source("throwText"), () => {
  // oxlint-disable-next-line typescript/only-throw-error -- the test is about jobs that do just that
  throw "a text";
});

/** Ends when it is told to, if it is told. */
export const listen = defineJob("listen", source("listen"), async (_: unknown, ctx) => {
  const { promise, resolve } = Promise.withResolvers<string>();
  ctx.signal.addEventListener("abort", () => resolve("told"), { once: true });
  return await promise;
});

export const asksInThread = defineJob("asksInThread", source("asksInThread"), (_: unknown, ctx) => {
  ctx.log.info({ token: ctx.completeLater() }, "the token of the task");
});

/** Adds up the results of a map; a question that nobody answers has an error with its code. */
export const sumInThread = defineJob("sumInThread", source("sumInThread"), async (_: unknown, ctx) => {
  let sum = 0;
  for await (const { output } of ctx.results()) sum += Number(output);
  return { sum };
});

/** Hands in numbers, and does not await that. */
export const countInThread = defineJob("countInThread", source("countInThread"), (count: number, ctx) => {
  void ctx.map(Array.from({ length: count }, (_, index) => index));
});

/** Sends eight heartbeats, and is silent then; the second attempt says what it finds. */
export const beatsInThread = defineJob("beatsInThread", source("beatsInThread"), async (_: unknown, ctx) => {
  if (ctx.attempt > 1) return ctx.heartbeatDetails;
  ctx.progress(0);
  for (let beat = 1; beat <= 8; beat++) {
    ctx.heartbeat({ beat });
    await setTimeout(300);
  }
  for (;;);
});
