import { type Engine, TaskBuilder, type Workflow, WorkflowBuilder } from "../src/index.ts";
import { type Figure, figure, type Settings } from "./figure.ts";
import { compare, elapsedMs } from "./harness.ts";
import { engineFor, noOp } from "./no-op.ts";
import { median } from "./statistics.ts";

export const inFlight = 1000;

export function oneTaskWorkflow(): Workflow {
  return new WorkflowBuilder().withName("one-task").withTask(new TaskBuilder("only").withJobFunction(noOp)).build();
}

/** Many one-task workflows at once, each durable before its result is told; workflows per second. */
export async function oneTask({ storage, runs }: Settings): Promise<Figure[]> {
  const count = 20_000;
  const workflow = oneTaskWorkflow();
  const { engine, bare, commits, rows } = await compare({
    storage,
    runs,
    warmUps: 2,
    options: engineFor(inFlight),
    work: (engine) => elapsedMs(() => runMany(engine, workflow, count)),
  });
  const perSecond = (ms: number[]): number => (count / median(ms)) * 1000;
  const value = perSecond(engine);
  const ceiling = perSecond(bare.map(({ allCommits }) => allCommits));
  const goal = { target: "≥ 0.4 × ceiling", isMet: (_: number, ratio: number) => ratio >= 0.4 };
  const notes = { workflows: count, commits, rowsPerWorkflow: rows / count };
  return [figure("one-task", { value, ceiling, unit: "workflows/s" }, goal, notes)];
}

export async function runMany(engine: Engine, workflow: Workflow, count: number): Promise<void> {
  let submitted = 0;
  const client = async (): Promise<void> => {
    while (submitted++ < count) await (await engine.submitWorkflow(workflow)).result();
  };
  await Promise.all(Array.from({ length: inFlight }, client));
}
