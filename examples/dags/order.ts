/**
 * An order: goods are reserved, a large order waits for a person, then it is charged and shipped. If the person refuses, does not
 * answer within two days, or the order cannot be fulfilled, the goods are released again.
 *
 * It shows a DAG and code together. The graph says what belongs to an order, for those who look at it; the two parts that wait and
 * undo are code workflows, nested as tasks. Their input is the context of the DAG.
 */
import { defineJob, defineWorkflow, StepFailed, TaskBuilder, WorkflowBuilder } from "../../src/index.ts";

interface Order {
  readonly orderId: string;
  readonly amount: number;
  readonly address: string;
}

const twoDaysMs = 2 * 24 * 3600 * 1000;

export const reserveGoods = defineJob("reserve-goods", (_params: undefined, ctx) => `goods of ${orderOf(ctx).orderId}`);
export const releaseGoods = defineJob("release-goods", (_params: undefined, ctx) => `released ${orderOf(ctx).orderId}`);
export const confirmOrder = defineJob(
  "confirm-order",
  (_params: undefined, ctx) => `confirmed ${orderOf(ctx).orderId}`,
);
export const chargeCard = defineJob("charge-card", ({ orderId, amount }: Order) => `charged ${amount} for ${orderId}`);
export const refundCard = defineJob("refund-card", (charge: string) => `${charge}: refunded`);
export const shipParcel = defineJob("ship-parcel", ({ orderId, address }: Order) => {
  if (address === "") throw new Error("there is no address");
  return `shipped ${orderId} to ${address}`;
});

/** `heddle event <order>/approval decided --data '{"by":"mary","agrees":true}'` */
export const approval = defineWorkflow("order-approval", async (ctx, { amount }: Order) => {
  ctx.setCustomStatus(`${amount} wait for an approval`);
  try {
    return await ctx.waitForEvent<{ by: string; agrees: boolean }>("decided", { timeoutMs: twoDaysMs });
  } catch (error) {
    if (!(error instanceof StepFailed) || error.failure.type !== "TASK_TIMEOUT") throw error;
    return { by: "nobody", agrees: false };
  }
});

/** A saga: a parcel that cannot be sent is not charged. */
export const fulfillment = defineWorkflow("order-fulfillment", async (ctx, order: Order) => {
  const charge = await ctx.run(chargeCard, order, {
    retryCount: 3,
    undo: (made) => ctx.run(refundCard, made, { retryCount: 10 }),
  });
  const parcel = await ctx.run(shipParcel, order, { retryCount: 1, retryPolicy: { initialMs: 1000 } });
  return { charge, parcel };
});

export const order = new WorkflowBuilder()
  .withName("order")
  .withTask(new TaskBuilder("reserve").withJobFunction(reserveGoods).withRetryCount(3))
  .withTask(new TaskBuilder("is-large").withDecision("context.amount > 1000").withDependency("reserve"))
  .withTask(new TaskBuilder("approval").withNestedWorkflow(approval).withDependency("is-large", { when: true }))
  .withTask(new TaskBuilder("is-approved").withDecision("outputs.approval.agrees").withDependency("approval"))
  // A failure does not end the order: what follows decides by it.
  .withTask(
    new TaskBuilder("fulfill")
      .withNestedWorkflow(fulfillment)
      .withSkipWhenFailed()
      .withDependency("is-large", { when: false })
      .withDependency("is-approved", { when: true }),
  )
  .withTask(new TaskBuilder("is-fulfilled").withDecision("has(outputs.fulfill)").withDependency("fulfill"))
  .withTask(new TaskBuilder("confirm").withJobFunction(confirmOrder).withDependency("is-fulfilled", { when: true }))
  .withTask(
    new TaskBuilder("release")
      .withJobFunction(releaseGoods)
      .withRetryCount(10)
      .withDependency("is-fulfilled", { when: false })
      .withDependency("is-approved", { when: false }),
  )
  .build();

function orderOf(ctx: { readonly context: unknown }): Order {
  return ctx.context as Order;
}
