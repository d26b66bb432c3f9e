import { TaskBuilder, type Workflow, WorkflowBuilder } from "../src/index.ts";
import { type Figure, figure, type Settings } from "./figure.ts";
import { compare, resultMs } from "./harness.ts";
import { engineFor, noOp } from "./no-op.ts";
import { median } from "./statistics.ts";

const concurrency = 1000;

/** A map over many items of a job that does nothing; µs for each item. */
export async function map({ storage, runs, quick }: Settings): Promise<Figure[]> {
  const items = quick ? 10_000 : 100_000;
  const workflow = mapWorkflow(items);
  const { engine, bare, commits, rows } = await compare({
    storage,
    runs,
    warmUps: 1,
    options: engineFor(concurrency),
    work: (engine) => resultMs(engine, workflow),
  });
  const perItem = 1000 / items;
  const value = median(engine) * perItem;
  const ceiling = median(bare.map(({ allCommits }) => allCommits)) * perItem;
  const rssMb = Math.round(process.resourceUsage().maxRSS / 1024);
  const goal = { target: "≤ 3 × ceiling", isMet: (_: number, ratio: number) => ratio <= 3 };
  return [figure("map", { value, ceiling, unit: "µs/item" }, goal, { items, commits, rows, rssMb })];
}

function mapWorkflow(items: number): Workflow {
  const list = Array.from({ length: items }, (_, index) => index);
  const task = new TaskBuilder("each").withJobFunction(noOp).withMap(list, { concurrency });
  return new WorkflowBuilder().withName("map").withTask(task).build();
}
