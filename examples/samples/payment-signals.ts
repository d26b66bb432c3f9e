/**
 * A payment whose provider answers at once, or later through a webhook that raises an event. A payment that stays open is canceled.
 * Elsewhere: "payment processing with signals" in Restate's examples.
 */
import { defineJob, defineWorkflow } from "../../src/index.ts";

interface Payment {
  readonly amount: number;
  /** How long the webhook may take. */
  readonly timeoutMs: number;
}

interface ProviderAnswer {
  readonly state: "paid" | "refused" | "processing";
}

export const requestPayment = defineJob("request-payment", ({ amount }: Payment, ctx): ProviderAnswer => {
  // The provider gets ctx.taskId as the idempotency key, and the instance's id for its webhook.
  ctx.log.info({ amount, key: ctx.taskId, webhook: ctx.instanceId }, "payment requested");
  return { state: amount < 100 ? "paid" : "processing" };
});
export const cancelPayment = defineJob("cancel-payment", ({ amount }: Payment) => `payment of ${amount} canceled`);

export const processPayment = defineWorkflow("process-payment", async (ctx, payment: Payment) => {
  const answer = await ctx.run(requestPayment, payment, { retryCount: 3 });
  if (answer.state !== "processing") return answer.state;
  const outcome = await ctx.race([
    ctx.waitForEvent<ProviderAnswer>("webhook"),
    ctx.sleep(payment.timeoutMs).then(() => undefined),
  ]);
  if (outcome !== undefined) return outcome.state;
  return await ctx.run(cancelPayment, payment);
});
