/**
 * Collects events and hands them on together, when there are enough of them or the first has waited long enough.
 * Elsewhere: "batcher" in Restate's examples, "aggregator" in Durable Functions.
 */
import { defineJob, defineWorkflow } from "../../src/index.ts";

interface Batcher {
  readonly size: number;
  readonly waitMs: number;
  /** How many batches it has handed on. */
  readonly stored: number;
}

export const storeBatch = defineJob("store-batch", (items: readonly string[]) => items.join("+"));

export const collectItems = defineWorkflow("collect-items", async (ctx, batcher: Batcher): Promise<never> => {
  const { size, waitMs, stored } = batcher;
  ctx.onQuery("stored", () => stored);
  ctx.setCustomStatus({ stored });
  const items = [await ctx.waitForEvent<string>("item")];
  const timer = ctx.sleep(waitMs).then(() => undefined);
  while (items.length < size) {
    const item = await ctx.race([ctx.waitForEvent<string>("item"), timer]);
    if (item === undefined) break;
    items.push(item);
  }
  await ctx.run(storeBatch, items, { retryCount: 10 });
  return await ctx.continueAsNew({ ...batcher, stored: stored + 1 } satisfies Batcher, { keepEvents: true });
});
