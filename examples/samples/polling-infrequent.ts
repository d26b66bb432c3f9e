/**
 * Polls through the retries of one activity: as long as the service is not ready the attempt fails, and the next one comes an interval
 * later. The history stays short however long it takes. Elsewhere: "polling/infrequent" in Temporal's samples.
 */
import { defineJob, defineWorkflow } from "../../src/index.ts";

interface Poll {
  readonly everyMs: number;
  readonly attemptsMax: number;
}

export const callService = defineJob("call-service", (_input: unknown, ctx) => {
  if (ctx.attempt < 4) throw new Error("not ready");
  return `ready at attempt ${ctx.attempt}`;
});

export const awaitService = defineWorkflow("await-service", async (ctx, { everyMs, attemptsMax }: Poll) => {
  const retryPolicy = { initialMs: everyMs, factor: 1 };
  return await ctx.run(callService, undefined, { retryCount: attemptsMax - 1, retryPolicy });
});
