/**
 * An order whose steps are made good when a later one fails, also where a step has no undo of its own: ctx.undo takes any code.
 * Elsewhere: "compensation" in Dapr.
 */
import { defineJob, defineWorkflow } from "../../src/index.ts";

interface Purchase {
  readonly item: string;
  readonly quantity: number;
  readonly address: string;
}

export const reserveStock = defineJob(
  "reserve-stock",
  ({ item, quantity }: Purchase) => `${quantity} ${item} reserved`,
);
export const releaseStock = defineJob(
  "release-stock",
  ({ item, quantity }: Purchase) => `${quantity} ${item} released`,
);
export const chargeCard = defineJob("charge-card", ({ quantity }: Purchase) => ({ receipt: `r${quantity}` }));
export const refundCard = defineJob("refund-card", ({ receipt }: { receipt: string }, ctx) => {
  if (ctx.attempt === 1) throw new Error("the bank is closed");
  return `${receipt} refunded`;
});
export const sendParcel = defineJob("send-parcel", ({ address }: Purchase) => {
  if (address === "") throw new Error("there is no address");
  return `sent to ${address}`;
});
export const apologize = defineJob("apologize", ({ item }: Purchase) => `no ${item}, sorry`);

export const fulfillPurchase = defineWorkflow("fulfill-purchase", async (ctx, purchase: Purchase) => {
  ctx.undo(() => ctx.run(apologize, purchase));
  await ctx.run(reserveStock, purchase, { undo: () => ctx.run(releaseStock, purchase) });
  await ctx.run(chargeCard, purchase, { undo: (paid) => ctx.run(refundCard, paid, { retryCount: 10 }) });
  return await ctx.run(sendParcel, purchase);
});
