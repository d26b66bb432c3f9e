/**
 * An order that combines patterns: checks side by side, a payment with retries and undo, a child that waits for an event.
 * Elsewhere: "combined patterns" in Dapr.
 */
import { defineJob, defineWorkflow } from "../../src/index.ts";

interface Order {
  readonly id: string;
  readonly items: readonly string[];
  readonly deliveryTimeoutMs: number;
}

export const checkStock = defineJob("check-stock", (item: string) => ({ item, isInStock: item !== "unicorn" }));
export const takePayment = defineJob("take-payment", ({ id }: Order, ctx) => {
  if (ctx.attempt === 1) throw new Error("the bank does not answer");
  return { receipt: `receipt of ${id}` };
});
export const givePaymentBack = defineJob("give-payment-back", ({ receipt }: { receipt: string }) => `${receipt}: void`);
export const registerShipment = defineJob("register-shipment", ({ id }: Order) => `shipment of ${id}`);

/** Fails if the carrier does not report the delivery in time. */
export const shipOrder = defineWorkflow("ship-order", async (ctx, order: Order) => {
  const shipment = await ctx.run(registerShipment, order);
  const signature = await ctx.waitForEvent<string>("delivered", { timeoutMs: order.deliveryTimeoutMs });
  return `${shipment}, signed by ${signature}`;
});

export const processOrder = defineWorkflow("process-order", async (ctx, order: Order) => {
  const stock = await ctx.all(order.items.map((item) => ctx.run(checkStock, item)));
  const missing = stock.filter(({ isInStock }) => !isInStock).map(({ item }) => item);
  if (missing.length > 0) return `out of stock: ${missing.join(", ")}`;
  await ctx.run(takePayment, order, { retryCount: 3, undo: (paid) => ctx.run(givePaymentBack, paid) });
  return await ctx.callChild(shipOrder, order, { instanceId: `shipment-${order.id}` });
});
