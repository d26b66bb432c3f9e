/**
 * An expense that is paid if somebody approves it in time. The event and the timer race; the one that loses is given up.
 * Elsewhere: "expense" in Temporal's samples, "human interaction" in Durable Functions.
 */
import { defineJob, defineWorkflow } from "../../src/index.ts";

interface Expense {
  readonly amount: number;
  readonly timeoutMs: number;
}

export const recordExpense = defineJob("record-expense", ({ amount }: Expense) => `expense of ${amount}`);
export const payExpense = defineJob("pay-expense", (expense: string) => `${expense}: paid`);
export const dropExpense = defineJob("drop-expense", (expense: string) => `${expense}: not paid`);

export const approveExpense = defineWorkflow("approve-expense", async (ctx, expense: Expense) => {
  const recorded = await ctx.run(recordExpense, expense);
  ctx.setCustomStatus("waiting for a decision");
  const decision = await ctx.race([
    ctx.waitForEvent<"approved" | "rejected">("decision"),
    ctx.sleep(expense.timeoutMs).then(() => "too late" as const),
  ]);
  ctx.setCustomStatus(decision);
  return await ctx.run(decision === "approved" ? payExpense : dropExpense, recorded);
});
