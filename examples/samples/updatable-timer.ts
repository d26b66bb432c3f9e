/**
 * A reminder whose time can be changed while it waits: each update ends the sleep, and another one begins.
 * Elsewhere: "updatable timer" in Temporal's samples.
 */
import { defineJob, defineWorkflow } from "../../src/index.ts";

interface Reminder {
  readonly text: string;
  readonly at: number;
}

export const remind = defineJob("remind", (text: string) => `reminder: ${text}`);

export const remindAt = defineWorkflow("remind-at", async (ctx, { text, at }: Reminder) => {
  let due = at;
  let changed = Promise.withResolvers<void>();
  ctx.onQuery("due", () => due);
  ctx.onUpdate("move", (to: number) => {
    due = to;
    changed.resolve();
    changed = Promise.withResolvers();
    return due;
  });
  while (ctx.now() < due) await ctx.race([ctx.sleep(new Date(due)), changed.promise]);
  return { reminded: await ctx.run(remind, text), due };
});
