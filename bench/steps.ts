import { defineWorkflow } from "../src/index.ts";
import { type Figure, figure, type Settings } from "./figure.ts";
import { compare, elapsedMs } from "./harness.ts";
import { engineFor, noOp } from "./no-op.ts";
import { median } from "./statistics.ts";

const steps = 1000;

const sequence = defineWorkflow("steps", async (ctx, count: number) => {
  for (let step = 0; step < count; step++) await ctx.run(noOp);
});

/** One code workflow that runs activities one after the other; µs per step, beside one bare commit. */
export async function codeSteps({ storage, runs, quick }: Settings): Promise<Figure[]> {
  const { engine, bare, commits, rows } = await compare({
    storage,
    runs: quick ? runs : 3 * runs,
    warmUps: quick ? 1 : 3,
    options: { ...engineFor(10), workflows: [sequence] },
    work: (engine) => elapsedMs(async () => (await engine.startWorkflow(sequence, steps)).result()),
  });
  const value = (median(engine) / steps) * 1000;
  const ceiling = (median(bare.map(({ allCommits }) => allCommits)) / commits) * 1000;
  const goal = { target: "≤ 2.5 × one bare commit", isMet: (_: number, ratio: number) => ratio <= 2.5 };
  return [figure("steps", { value, ceiling, unit: "µs/step" }, goal, { steps, commits, rows })];
}
