import { setTimeout as sleep } from "node:timers/promises";
import { defineJob } from "../../authoring/job.ts";
import { TaskBuilder } from "../../authoring/task-builder.ts";
import { WorkflowBuilder } from "../../authoring/workflow-builder.ts";

const fetchOrders = defineJob("example-fetch-orders", async (params: { count: number }, ctx) => {
  ctx.log.info({ count: params.count }, "reading the day's orders");
  await sleep(150, undefined, { signal: ctx.signal });
  return { orders: params.count, euros: params.count * 37 };
});

const summarise = defineJob("example-summarise", async (_params: undefined, ctx) => {
  await sleep(100, undefined, { signal: ctx.signal });
  ctx.log.info({}, "a quiet day fits on one page");
  return { pages: 1 };
});

const render = defineJob("example-render", async (params: { page: string }, ctx) => {
  await sleep(120, undefined, { signal: ctx.signal });
  ctx.log.info({ page: params.page }, "rendered");
  return { page: params.page };
});

const send = defineJob("example-send", (_params: undefined, ctx) => {
  ctx.log.info({ inputs: Object.keys(ctx.outputs) }, "sent to everybody who asked for it");
  return { sent: true };
});

export const reportJobs = [fetchOrders, summarise, render, send];

/** Nested in the report, and a workflow that can be started by itself. */
export const publish = new WorkflowBuilder()
  .withName("example-publish")
  .withTask(new TaskBuilder("charts").withJobFunction(render, { page: "charts" }))
  .withTask(new TaskBuilder("tables").withJobFunction(render, { page: "tables" }))
  .withTask(new TaskBuilder("cover").withJobFunction(render, { page: "cover" }).withDependencies(["charts", "tables"]))
  .build();

/** A decision chooses between a nested workflow and one small task; what comes after waits for whichever ran. */
export const report = new WorkflowBuilder()
  .withName("example-report")
  .withTask(new TaskBuilder("orders").withJobFunction(fetchOrders, { count: 240 }))
  .withTask(new TaskBuilder("busy-day").withDecision("outputs.orders.orders > 100").withDependency("orders"))
  .withTask(new TaskBuilder("publish").withNestedWorkflow(publish).withDependency("busy-day", { when: true }))
  .withTask(
    new TaskBuilder("one-page").withJobFunction(summarise, undefined).withDependency("busy-day", { when: false }),
  )
  .withTask(new TaskBuilder("send").withJobFunction(send, undefined).withDependencies(["publish", "one-page"]))
  .build();
