import { TaskBuilder, type Workflow, WorkflowBuilder } from "../src/index.ts";
import { type Figure, figure, type Settings } from "./figure.ts";
import { compare, onNewEngine, resultMs } from "./harness.ts";
import { engineFor, noOp } from "./no-op.ts";
import { median } from "./statistics.ts";
import type { BenchStorage } from "./storages/bench-storage.ts";

const width = 1000;

/** One task, then many at once, then one; ms for the whole. */
export async function fan({ storage, runs, quick }: Settings): Promise<Figure[]> {
  const workflow = fanWorkflow();
  const { engine, bare, commits, rows } = await compare({
    storage,
    runs: 5 * runs,
    warmUps: quick ? 5 : 10,
    options: engineFor(width),
    work: (engine) => resultMs(engine, workflow),
  });
  const value = median(engine);
  const ceiling = median(bare.map(({ allCommits }) => allCommits));
  const goal = { target: "≤ 3 × ceiling", isMet: (_: number, ratio: number) => ratio <= 3 };
  const againMs = await submittedAgain(storage, workflow);
  return [figure("fan", { value, ceiling, unit: "ms" }, goal, { width, commits, rows, againMs })];
}

/** The figure itself has the definition checked and stored; this is what an engine takes that knows it already. */
async function submittedAgain(storage: BenchStorage, workflow: Workflow): Promise<number> {
  const times: number[] = [];
  await onNewEngine(storage, engineFor(width), async (engine) => {
    for (let run = 0; run < 16; run++) times.push(await resultMs(engine, workflow));
  });
  return median(times.slice(1));
}

function fanWorkflow(): Workflow {
  const names = Array.from({ length: width }, (_, index) => `branch ${index}`);
  const builder = new WorkflowBuilder().withName("fan").withMaxConcurrentTasks(width);
  builder.withTask(new TaskBuilder("out").withJobFunction(noOp));
  for (const name of names) builder.withTask(new TaskBuilder(name).withJobFunction(noOp).withDependency("out"));
  return builder.withTask(new TaskBuilder("in").withJobFunction(noOp).withDependencies(names)).build();
}
