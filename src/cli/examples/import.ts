import { setTimeout as sleep } from "node:timers/promises";
import { defineJob } from "../../authoring/job.ts";
import { TaskBuilder } from "../../authoring/task-builder.ts";
import { WorkflowBuilder } from "../../authoring/workflow-builder.ts";

/** Fails twice, as a service does that is being restarted. */
const download = defineJob("example-download", async (_params: undefined, ctx) => {
  await sleep(80, undefined, { signal: ctx.signal });
  if (ctx.attempt <= 2) {
    ctx.log.info({ attempt: ctx.attempt }, "the service answered 503");
    throw new Error("the service answered 503");
  }
  return { rows: 1200 };
});

const load = defineJob("example-load", (_params: undefined, ctx) => {
  const { rows } = ctx.outputs["download"] as { rows: number };
  ctx.log.info({ rows }, "loaded");
  return { loaded: rows };
});

export const importJobs = [download, load];

/**
 * An import with retries, whose waits between attempts are kept in the database: they keep counting while nothing runs.
 */
export const importRows = new WorkflowBuilder()
  .withName("example-import")
  .withTask(
    new TaskBuilder("download")
      .withJobFunction(download, undefined)
      .withRetryCount(3)
      .withRetryPolicy({ initialMs: 200, factor: 2 }),
  )
  .withTask(new TaskBuilder("load").withJobFunction(load, undefined).withDependency("download"))
  .build();
