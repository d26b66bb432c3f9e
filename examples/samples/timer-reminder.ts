/**
 * Tells the customer if an order takes longer than expected, once, and waits on. The child that loses the race runs on.
 * Elsewhere: "timer-examples" in Temporal's samples.
 */
import { defineJob, defineWorkflow } from "../../src/index.ts";

interface SlowOrder {
  readonly takesMs: number;
  readonly notifyAfterMs: number;
}

export const packOrder = defineJob("pack-order", ({ takesMs }: SlowOrder) => `packed in ${takesMs} ms`);
export const notifyCustomer = defineJob("notify-customer", () => "the order takes longer");

export const prepareOrder = defineWorkflow("prepare-order", async (ctx, order: SlowOrder) => {
  await ctx.sleep(order.takesMs);
  return await ctx.run(packOrder, order);
});

export const orderWithReminder = defineWorkflow("order-with-reminder", async (ctx, order: SlowOrder) => {
  const prepared = ctx.callChild(prepareOrder, order);
  const first = await ctx.race([prepared, ctx.sleep(order.notifyAfterMs)]);
  if (first === undefined) await ctx.run(notifyCustomer);
  return await prepared;
});
