/**
 * A stateful object with an id: updates change it, queries look at it, and it begins anew from time to time with its state as input.
 * Elsewhere: "virtual object" in Restate, "durable entity" in Durable Functions, "entity workflow" in Temporal.
 */
import { defineJob, defineWorkflow } from "../../src/index.ts";

interface CounterState {
  readonly value: number;
  readonly updatesPerGeneration: number;
}

export const publishCount = defineJob("publish-count", (value: number) => `count ${value}`);

export const counter = defineWorkflow("counter", async (ctx, state: CounterState): Promise<number> => {
  let { value } = state;
  let updates = 0;
  let handling = 0;
  const isFull = Promise.withResolvers<"full">();
  ctx.onQuery("value", () => value);
  ctx.onUpdate("add", async (amount: number) => {
    handling++;
    const sum = (value += amount);
    await ctx.run(publishCount, sum);
    // An update that is being handled would not be answered if the next generation began now.
    if (++updates >= state.updatesPerGeneration && handling === 1) isFull.resolve("full");
    handling--;
    return sum;
  });
  const next = await ctx.race([isFull.promise, ctx.waitForEvent("delete").then(() => "deleted" as const)]);
  if (next === "deleted") return value;
  return await ctx.continueAsNew({ ...state, value } satisfies CounterState, { keepEvents: true });
});
