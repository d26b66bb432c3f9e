/**
 * A lock as a workflow: whoever wants the resource sends it an event and waits for the answer. A lease bounds how long it is held.
 * Elsewhere: "mutex" in Temporal's samples.
 */
import { defineJob, defineWorkflow } from "../../src/index.ts";

interface LockState {
  /** After so many holders it begins anew, so that its history stays short. */
  readonly holdersPerGeneration: number;
}

interface Request {
  readonly holder: string;
  readonly leaseMs: number;
}

export const lock = defineWorkflow("lock", async (ctx, state: LockState): Promise<never> => {
  for (let served = 0; served < state.holdersPerGeneration; served++) {
    const { holder, leaseMs } = await ctx.waitForEvent<Request>("acquire");
    ctx.setCustomStatus({ holder });
    ctx.sendEvent(holder, "acquired");
    await ctx.race([ctx.waitForEvent(`released by ${holder}`), ctx.sleep(leaseMs)]);
    ctx.setCustomStatus({});
  }
  return await ctx.continueAsNew(state, { keepEvents: true });
});

export const printPage = defineJob("print-page", (page: string) => `printed ${page}`);

interface Print {
  readonly lockId: string;
  readonly pages: readonly string[];
}

export const printAlone = defineWorkflow("print-alone", async (ctx, { lockId, pages }: Print) => {
  ctx.sendEvent(lockId, "acquire", { holder: ctx.instanceId, leaseMs: 3_600_000 } satisfies Request);
  await ctx.waitForEvent("acquired");
  const printed: string[] = [];
  for (const page of pages) printed.push(await ctx.run(printPage, page));
  ctx.sendEvent(lockId, `released by ${ctx.instanceId}`);
  return printed;
});
