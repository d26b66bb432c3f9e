/**
 * A long task that is asked to end: it cleans up in onCancel, what it did is undone, and its child is asked to end too.
 * Elsewhere: "cancellation scopes" in Temporal's samples.
 */
import { defineJob, defineWorkflow } from "../../src/index.ts";

export const rentMachine = defineJob("rent-machine", (name: string) => `machine ${name}`);
export const returnMachine = defineJob("return-machine", (machine: string) => `${machine}: returned`);
export const saveProgress = defineJob("save-progress", (text: string) => `saved: ${text}`);

export const train = defineWorkflow("train", async (ctx, name: string) => {
  await ctx.run(rentMachine, name, { undo: (machine) => ctx.run(returnMachine, machine) });
  ctx.setCustomStatus("training");
  await ctx.sleep(1000 * 3_600_000);
});

export const trainModel = defineWorkflow("train-model", async (ctx, name: string) => {
  ctx.onCancel(() => ctx.run(saveProgress, `${name}, ${ctx.cancelReason}`));
  await ctx.callChild(train, name, { instanceId: `train-${name}` });
});
