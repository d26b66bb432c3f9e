import { defineWorkflow } from "../../../src/index.ts";

/** Sleeps, so that it is asleep when its process is killed, and works before and after. */
export const delivery = defineWorkflow("delivery", async (ctx, n: number) => {
  await ctx.run("work", `pack ${n}`);
  await ctx.sleep(5);
  return await ctx.run("work", `ship ${n}`);
});

/** Every third fails at its end and takes back what it did; the others come to it in a second generation. */
export const order = defineWorkflow("order", async (ctx, n: number): Promise<unknown> => {
  if (ctx.generation === 1) {
    await ctx.all([0, 1, 2].map((item) => ctx.run("work", `reserve ${n}.${item}`)));
    return await ctx.continueAsNew(n);
  }
  await ctx.run("work", `charge ${n}`, { undo: async () => void (await ctx.run("work", `refund ${n}`)) });
  if (n % 3 === 0) throw new Error(`order ${n} is not wanted`);
  return { shipped: await ctx.callChild(delivery, n), token: ctx.uuid() };
});
