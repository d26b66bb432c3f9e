import { defineWorkflow } from "../../authoring/code-workflow.ts";
import { defineJob } from "../../authoring/job.ts";

const reserve = defineJob("example-reserve", (params: { order: string }, ctx) => {
  ctx.log.info(params, "reserved");
  return { reservation: `r-${params.order}` };
});

const ship = defineJob("example-ship", (params: { order: string; approvedBy: string }, ctx) => {
  ctx.log.info(params, "shipped");
  return { shipped: true };
});

export const approvalJobs = [reserve, ship];

const hourMs = 3_600_000;

/** An async function that survives crashes: a step, a timer, and an event from outside that it waits for. */
export const approval = defineWorkflow("example-approval", async (ctx, input: { order?: string } | undefined) => {
  const order = input?.order ?? "o-1";
  const { reservation } = await ctx.run(reserve, { order });
  await ctx.sleep(300);
  ctx.setCustomStatus(`waits for the event "approved"`);
  const { by } = await ctx.waitForEvent<{ by: string }>("approved", { timeoutMs: 24 * hourMs });
  ctx.setCustomStatus(`approved by ${by}`);
  const { shipped } = await ctx.run(ship, { order, approvedBy: by });
  return { order, reservation, approvedBy: by, shipped };
});
