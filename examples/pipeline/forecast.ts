import { readFileSync } from "node:fs";
import { defineJob } from "../../src/index.ts";
import { speed } from "./settings.ts";
import { journaled } from "./step.ts";

const resamples = 4_000_000;

/**
 * What a month may bring, from the days of this one: drawn again four million times. It computes without a break, so
 * it runs in a thread of its own, which leaves the engine free and can be killed by a timeout or a stop.
 */
export const forecast = defineJob(
  "forecast",
  { isolation: "thread", source: { module: import.meta.url, export: "forecast" } },
  journaled(async (_params: undefined, step) => {
    const lines = readFileSync(step.path("tables/sales-by-day.csv"), "utf8").trim().split("\n").slice(1);
    const days = lines.map((line) => Number(line.split(",")[1]));
    const months = Float64Array.from({ length: Math.ceil(resamples / speed) }, () => drawMonth(days)).toSorted();
    const at = (part: number): number => Math.round(months[Math.floor(part * (months.length - 1))] ?? 0);
    return { low: at(0.05), middle: at(0.5), high: at(0.95) };
  }),
);

function drawMonth(days: readonly number[]): number {
  let sum = 0;
  for (let day = 0; day < 30; day++) sum += days[Math.floor(Math.random() * days.length)] ?? 0;
  return sum;
}
