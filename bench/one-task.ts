import { defineJob, type Engine, TaskBuilder, WorkflowBuilder } from "../src/index.ts";
import { bareCommits, elapsedMs, type Figure, inTurns, median, record, type Settings, sum, withEngine } from "./harness.ts";

const inFlight = 1000;
const noOp = defineJob("no-op", () => undefined);
const options = { jobs: [noOp], poolSize: inFlight, poolSizeMax: inFlight };

/** Many one-task workflows at once, each durable before its result is told; workflows per second. */
export async function oneTask({ quick, runs }: Settings): Promise<Figure[]> {
  const count = quick ? 10_000 : 20_000;
  const recording = await record(options, (engine) => runMany(engine, count));
  await bareCommits(recording);
  const ms = await inTurns(
    runs,
    () => withEngine(options, (engine) => elapsedMs(() => runMany(engine, count))),
    async () => sum(await bareCommits(recording)),
  );
  const value = (count / median(ms.engine)) * 1000;
  const ceiling = (count / median(ms.ceiling)) * 1000;
  const ratio = value / ceiling;
  const notes = { workflows: count, commits: recording.commitCount, rowsPerWorkflow: recording.rowCount / count };
  return [{ name: "one-task", value, unit: "workflows/s", ceiling, ratio, target: "ratio ≥ 0.4", met: ratio >= 0.4, notes }];
}

async function runMany(engine: Engine, count: number): Promise<void> {
  const workflow = new WorkflowBuilder().withName("one-task").withTask(new TaskBuilder("only").withJobFunction(noOp)).build();
  let submitted = 0;
  const client = async (): Promise<void> => {
    while (submitted++ < count) await (await engine.submitWorkflow(workflow)).result();
  };
  await Promise.all(Array.from({ length: inFlight }, client));
}
