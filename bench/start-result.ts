import { defineWorkflow, type Engine } from "../src/index.ts";
import { type Figure, figure, type Settings } from "./figure.ts";
import { compare, elapsedMs } from "./harness.ts";
import { engineFor, noOp } from "./no-op.ts";
import { median } from "./statistics.ts";

const inFlight = 1000;
const count = 20_000;

const oneActivity = defineWorkflow("one-activity", (ctx) => ctx.run(noOp));

/** Many code workflows of one activity at once, each durable before its result is told; workflows per second. */
export async function startResult({ storage, runs }: Settings): Promise<Figure[]> {
  const { engine, bare, commits, rows } = await compare({
    storage,
    runs,
    warmUps: 2,
    options: { ...engineFor(inFlight), workflows: [oneActivity] },
    work: (engine) => elapsedMs(() => runMany(engine)),
  });
  const perSecond = (ms: number[]): number => (count / median(ms)) * 1000;
  const value = perSecond(engine);
  const ceiling = perSecond(bare.map(({ allCommits }) => allCommits));
  const goal = { target: "≥ 0.35 × ceiling", isMet: (_: number, ratio: number) => ratio >= 0.35 };
  const notes = { workflows: count, commits, rowsPerWorkflow: rows / count };
  return [figure("start-result", { value, ceiling, unit: "workflows/s" }, goal, notes)];
}

async function runMany(engine: Engine): Promise<void> {
  let started = 0;
  const client = async (): Promise<void> => {
    while (started++ < count) await (await engine.startWorkflow(oneActivity)).result();
  };
  await Promise.all(Array.from({ length: inFlight }, client));
}
