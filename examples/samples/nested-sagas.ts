/**
 * A saga within a saga: when the inner one fails, only its own steps are undone, and the outer one tries another way.
 * Elsewhere: "nested sagas", usually written by hand with two lists of compensations.
 */
import { defineJob, defineWorkflow, StepFailed, type WorkflowContext } from "../../src/index.ts";

interface Move {
  readonly from: string;
  readonly to: string;
  /** Routes that are closed. */
  readonly closed: readonly string[];
}

interface Leg {
  readonly by: string;
  readonly closed: readonly string[];
}

export const packBoxes = defineJob("pack-boxes", ({ from }: Move) => `boxes packed in ${from}`);
export const unpackBoxes = defineJob("unpack-boxes", ({ from }: Move) => `boxes unpacked in ${from}`);
export const bookLeg = defineJob("book-leg", ({ by, closed }: Leg) => {
  if (closed.includes(by)) throw new Error(`no way by ${by}`);
  return `booked ${by}`;
});
export const cancelLeg = defineJob("cancel-leg", (booking: string) => `${booking}: canceled`);

export const moveHouse = defineWorkflow("move-house", async (ctx, move: Move) => {
  await ctx.run(packBoxes, move, { undo: () => ctx.run(unpackBoxes, move) });
  try {
    return await route(ctx, move, ["train", "ferry"]);
  } catch (error) {
    // A cancel is no reason to look for another route.
    if (!(error instanceof StepFailed)) throw error;
    return await route(ctx, move, ["truck", "bridge"]);
  }
});

async function route(ctx: WorkflowContext, { closed }: Move, legs: readonly string[]): Promise<string[]> {
  return await ctx.saga(async (saga) => {
    const booked: string[] = [];
    for (const by of legs) {
      booked.push(await saga.run(bookLeg, { by, closed }, { undo: (booking) => saga.run(cancelLeg, booking) }));
    }
    return booked;
  });
}
