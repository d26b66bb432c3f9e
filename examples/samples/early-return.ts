/**
 * A transaction whose client gets an answer as soon as it is begun, from an update, while the workflow goes on to complete it.
 * Elsewhere: "early-return" in Temporal's samples, with an update that starts the workflow.
 */
import { defineJob, defineWorkflow } from "../../src/index.ts";

export const beginTransaction = defineJob("begin-transaction", (amount: number) => {
  if (amount <= 0) throw new Error("the amount must be above 0");
  return `transaction of ${amount}`;
});
export const completeTransaction = defineJob("complete-transaction", (id: string) => `${id}: complete`);

export const transact = defineWorkflow("transact", async (ctx, amount: number) => {
  const begun = ctx.run(beginTransaction, amount);
  ctx.onUpdate("begun", () => begun);
  const id = await begun;
  await ctx.sleep(60_000);
  return await ctx.run(completeTransaction, id);
});
