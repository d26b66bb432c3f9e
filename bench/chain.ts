import { TaskBuilder, WorkflowBuilder } from "../src/index.ts";
import { type Figure, figure, type Settings } from "./figure.ts";
import { compare, resultMs } from "./harness.ts";
import { engineFor, noOp } from "./no-op.ts";
import { median } from "./statistics.ts";

const steps = 1000;

/** One workflow of tasks one after the other; µs per step, beside one bare commit. */
export async function chain({ storage, runs, quick }: Settings): Promise<Figure[]> {
  const builder = new WorkflowBuilder().withName("chain");
  for (let step = 0; step < steps; step++) {
    const task = new TaskBuilder(`step ${step}`).withJobFunction(noOp);
    builder.withTask(step === 0 ? task : task.withDependency(`step ${step - 1}`));
  }
  const workflow = builder.build();
  const { engine, bare, commits, rows } = await compare({
    storage,
    runs: quick ? runs : 3 * runs,
    warmUps: quick ? 1 : 3,
    options: engineFor(10),
    work: (engine) => resultMs(engine, workflow),
  });
  const value = (median(engine) / steps) * 1000;
  const ceiling = (median(bare.map(({ allCommits }) => allCommits)) / commits) * 1000;
  const goal = { target: "≤ 2.5 × one bare commit", isMet: (_: number, ratio: number) => ratio <= 2.5 };
  return [figure("chain", { value, ceiling, unit: "µs/step" }, goal, { steps, commits, rows })];
}
