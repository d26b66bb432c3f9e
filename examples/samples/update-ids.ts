/**
 * An account that is changed by updates. An update with the same id is the same update: a client that got no answer repeats it safely.
 * Elsewhere: "updates with ids" in Temporal, "idempotency keys" in Restate.
 */
import { z } from "zod";
import { defineJob, defineWorkflow } from "../../src/index.ts";

export const writeEntry = defineJob("write-entry", (amount: number) => `entry of ${amount}`);

export const account = defineWorkflow("account", async (ctx, opening: number) => {
  let balance = opening;
  ctx.onQuery("balance", () => balance);
  ctx.onUpdate("deposit", {
    input: z.number().positive(),
    handler: async (amount) => {
      balance += amount;
      await ctx.run(writeEntry, amount);
      return balance;
    },
  });
  ctx.onUpdate("withdraw", {
    input: z.number().positive(),
    validate: (amount) => {
      if (amount > balance) throw new Error(`the balance is ${balance}`);
    },
    handler: async (amount) => {
      balance -= amount;
      await ctx.run(writeEntry, -amount);
      return balance;
    },
  });
  await ctx.waitForEvent("close");
  return balance;
});
