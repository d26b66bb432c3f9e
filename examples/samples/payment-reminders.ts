/**
 * An invoice with reminders, each later than the one before; a payment may come at any time, and the last reminder is a handover.
 * Elsewhere: "durable timers: payment reminders" in Restate's examples.
 */
import { defineJob, defineWorkflow } from "../../src/index.ts";

interface Invoice {
  readonly number: string;
  readonly remindAfterMs: readonly number[];
}

export const sendInvoice = defineJob("send-invoice", (number: string) => `invoice ${number}`);
export const sendReminder = defineJob("send-reminder", (number: string, ctx) => `${ctx.taskName} of ${number}`);
export const handOver = defineJob("hand-over", (number: string) => `invoice ${number}: handed over`);

export const collectPayment = defineWorkflow("collect-payment", async (ctx, { number, remindAfterMs }: Invoice) => {
  await ctx.run(sendInvoice, number);
  const paid = ctx.waitForEvent<{ amount: number }>("paid");
  for (const [index, ms] of remindAfterMs.entries()) {
    // The wait that loses is given up, and taken up again by the next race.
    const payment = await ctx.race([paid, ctx.sleep(ms).then(() => undefined)]);
    if (payment !== undefined) return `paid ${payment.amount} after ${index} reminders`;
    await ctx.run(sendReminder, number, { name: `reminder ${index + 1}` });
    ctx.setCustomStatus({ reminders: index + 1 });
  }
  return await ctx.run(handOver, number);
});
