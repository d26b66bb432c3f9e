import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { bigDag } from "./big-dag.ts";
import { chain } from "./chain.ts";
import { fan } from "./fan.ts";
import type { Benchmark, Figure, Settings } from "./figure.ts";
import { latency } from "./latency.ts";
import { oneTask } from "./one-task.ts";
import { recover } from "./recover.ts";

const benchmarks: Readonly<Record<string, Benchmark>> = {
  "one-task": oneTask,
  chain,
  fan,
  latency,
  "big-dag": bigDag,
  recover,
};

const usage = `npm run bench -- [--json] [--quick] [--runs n] [--only ${Object.keys(benchmarks).join("|")}]

The engine's figures, each beside its bare ceiling: the same rows through the same driver, with no engine.
  --json    one JSON object per line
  --quick   one run of each and less warming up: under a minute
  --runs    the median of so many runs (3)
  --only    one benchmark; may be given again`;

interface Arguments extends Settings {
  readonly json: boolean;
  readonly chosen: readonly Benchmark[];
}

function readArguments(): Arguments {
  const { values } = parseArgs({
    options: {
      json: { type: "boolean", default: false },
      quick: { type: "boolean", default: false },
      runs: { type: "string" },
      only: { type: "string", multiple: true },
    },
  });
  const runs = Number(values.runs ?? (values.quick ? 1 : 3));
  if (!Number.isSafeInteger(runs) || runs < 1)
    throw new Error(`--runs takes a whole number above 0, not ${values.runs}`);
  const chosen = (values.only ?? Object.keys(benchmarks)).map((name) => {
    const benchmark = benchmarks[name];
    if (benchmark === undefined) throw new Error(`no benchmark is called "${name}"`);
    return benchmark;
  });
  return { json: values.json, quick: values.quick, runs, chosen };
}

function readArgumentsOrLeave(): Arguments {
  try {
    return readArguments();
  } catch (error) {
    console.error(`${error instanceof Error ? error.message : String(error)}\n\n${usage}`);
    return process.exit(2);
  }
}

async function main(): Promise<void> {
  const { json, chosen, ...settings } = readArgumentsOrLeave();
  keepInOneFolder();
  if (!json) console.log(header());
  for (const benchmark of chosen) {
    for (const figure of await benchmark(settings)) console.log(json ? inJson(figure) : inRow(figure));
  }
}

/** All temporary files of this process and its children, so that they are gone also after Ctrl-C. */
function keepInOneFolder(): void {
  const folder = mkdtempSync(join(tmpdir(), "heddle-bench-"));
  process.env["TMPDIR"] = folder;
  process.once("exit", () => rmSync(folder, { recursive: true, force: true }));
  process.once("SIGINT", () => process.exit(130));
}

function inJson({ notes, ...figure }: Figure): string {
  return JSON.stringify({ ...figure, ...notes }, (_, value: unknown) =>
    typeof value === "number" ? rounded(value) : value,
  );
}

function header(): string {
  return row(["benchmark", "value", "unit", "ceiling", "ratio", "target", ""], "");
}

function inRow({ name, value, unit, ceiling, ratio, target, met, notes }: Figure): string {
  const extra = Object.entries(notes).map(([key, note]) => `${key} ${shown(note)}`);
  const mark = target === "" ? "" : met ? "✔" : "✘";
  return row([name, shown(value), unit, shown(ceiling), shown(ratio), target, mark], extra.join(", "));
}

function row(cells: readonly string[], extra: string): string {
  const widths = [14, 9, 11, 9, 7, 24, 1];
  const padded = cells.map((cell, index) =>
    [1, 3, 4].includes(index) ? cell.padStart(widths[index] ?? 0) : cell.padEnd(widths[index] ?? 0),
  );
  return `${padded.join("  ")}  ${extra}`.trimEnd();
}

function shown(value: number): string {
  return rounded(value).toLocaleString("en");
}

/** Four digits say all that can be repeated. */
function rounded(value: number): number {
  return Number.isInteger(value) ? value : Number(value.toPrecision(4));
}

await main();
