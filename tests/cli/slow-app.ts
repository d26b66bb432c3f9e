/** An application for the tests of the program: it takes its time, or fails. */
import { setTimeout as sleep } from "node:timers/promises";
import { defineJob, defineWorkflow, TaskBuilder, WorkflowBuilder } from "../../src/index.ts";

const takeTime = defineJob("take-time", async (params: { ms: number }, ctx) => {
  ctx.log.info({ ms: params.ms }, "takes its time");
  await sleep(params.ms, undefined, { signal: ctx.signal });
  return params.ms;
});

/** Until it is told to stop. */
const dawdle = defineJob("dawdle", async (_params: undefined, ctx) => {
  await sleep(600_000, undefined, { signal: ctx.signal });
});

/** Takes no notice of the signal to stop. */
const deaf = defineJob("deaf", async () => await sleep(600_000));

const fail = defineJob("fail", () => {
  throw new Error("no luck today");
});

/** As one writes it first. */
const say = defineJob("say", (_params: undefined, ctx) => ctx.log.info("it was said"));

/** Leaves its end to whoever has its token. */
const ask = defineJob("ask", (_params: unknown, ctx) => ctx.log.info({ token: ctx.completeLater() }, "asked"));

export const jobs = [takeTime, dawdle, deaf, fail, say, ask];

export const saying = defineWorkflow("saying", async (ctx) => {
  await ctx.all([ctx.run(say), ctx.run(say)]);
});

export const slow = new WorkflowBuilder()
  .withName("slow")
  .withTask(new TaskBuilder("first").withJobFunction(takeTime, { ms: 300 }))
  .withTask(new TaskBuilder("second").withJobFunction(takeTime, { ms: 700 }).withDependency("first"))
  .build();

export const endless = new WorkflowBuilder()
  .withName("endless")
  .withTask(new TaskBuilder("dawdle").withJobFunction(dawdle, undefined).withTimeout(600))
  .build();

export const stubborn = new WorkflowBuilder()
  .withName("stubborn")
  .withTask(new TaskBuilder("deaf").withJobFunction(deaf, undefined).withTimeout(600))
  .build();

export const failing = new WorkflowBuilder()
  .withName("failing")
  .withTask(new TaskBuilder("fail").withJobFunction(fail, undefined))
  .build();

/** Answers what it has counted. */
export const counter = defineWorkflow("counter", async (ctx) => {
  let count = 0;
  ctx.onQuery("count", () => count);
  ctx.onUpdate("add", { handler: ({ by }: { by: number }) => (count += by) });
  await ctx.waitForEvent("done");
  return { count };
});

export const approval = defineWorkflow("approval", async (ctx) => await ctx.waitForEvent("approve"));
