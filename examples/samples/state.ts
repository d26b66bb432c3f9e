/**
 * A map that events change and a query reads: the variables of the code are its state, and a replay brings them back.
 * Elsewhere: "state" and "signals-queries" in Temporal's samples.
 */
import { defineWorkflow } from "../../src/index.ts";

interface Entry {
  readonly key: string;
  readonly value: number;
}

export const stateMap = defineWorkflow("state-map", async (ctx) => {
  const entries: Record<string, number> = {};
  ctx.onQuery("get", (key: string) => entries[key]);
  for (;;) {
    const change = await ctx.race([ctx.waitForEvent<Entry>("set"), ctx.waitForEvent("freeze").then(() => undefined)]);
    if (change === undefined) return entries;
    entries[change.key] = change.value;
    ctx.setCustomStatus({ size: Object.keys(entries).length });
  }
});
