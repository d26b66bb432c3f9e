import { setImmediate } from "node:timers/promises";
import type { Engine } from "../src/index.ts";
import type { BareTimes } from "./ceiling.ts";
import { type Figure, figure, noGoal, type Settings } from "./figure.ts";
import { compare, resultMs } from "./harness.ts";
import { engineFor } from "./no-op.ts";
import { oneTaskWorkflow } from "./one-task.ts";
import { median, percentile } from "./statistics.ts";

const count = 500;

/** A one-task workflow on an idle engine, from submit to result; ms, beside two bare commits. */
export async function latency({ storage, runs, quick }: Settings): Promise<Figure[]> {
  const { engine, bare, commits, rows } = await compare({
    storage,
    runs,
    warmUps: quick ? 0 : 2,
    options: engineFor(10),
    work: runOneByOne,
  });
  const pairs = bare.map(pairsOfCommits);
  const at = (part: number) => ({
    value: median(engine.map((latencies) => percentile(latencies, part))),
    ceiling: median(pairs.map((times) => percentile(times, part))),
    unit: "ms",
  });
  const notes = { workflows: count, commits, rows };
  const goal = { target: "≤ 3 × two bare commits", isMet: (_: number, ratio: number) => ratio <= 3 };
  return [figure("latency-p50", at(0.5), goal, notes), figure("latency-p99", at(0.99), noGoal, notes)];
}

async function runOneByOne(engine: Engine): Promise<number[]> {
  const workflow = oneTaskWorkflow();
  const latencies: number[] = [];
  for (let index = 0; index < count; index++) {
    latencies.push(await resultMs(engine, workflow));
    await setImmediate();
  }
  return latencies;
}

function pairsOfCommits({ commits }: BareTimes): number[] {
  return Array.from(
    { length: Math.floor(commits.length / 2) },
    (_, index) => (commits[2 * index] ?? 0) + (commits[2 * index + 1] ?? 0),
  );
}
