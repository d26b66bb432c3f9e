import { chmodSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { bigDag } from "./big-dag.ts";
import { chain } from "./chain.ts";
import { fan } from "./fan.ts";
import type { Benchmark, Figure, Settings } from "./figure.ts";
import { installPeers } from "./install-peers.ts";
import { latency } from "./latency.ts";
import { lists } from "./lists.ts";
import { map } from "./map.ts";
import { oneTask } from "./one-task.ts";
import { besidePeer, measurePeer, peers, titleOf } from "./peers.ts";
import { recover } from "./recover.ts";
import { replay } from "./replay.ts";
import { sleepers } from "./sleepers.ts";
import { startResult } from "./start-result.ts";
import { codeSteps } from "./steps.ts";
import { Servers } from "./servers/servers.ts";
import { storageAt } from "./storages/storage-at.ts";

const benchmarks: Readonly<Record<string, Benchmark>> = {
  "one-task": oneTask,
  chain,
  fan,
  map,
  latency,
  "big-dag": bigDag,
  recover,
  steps: codeSteps,
  "start-result": startResult,
  sleepers,
  replay,
  lists,
};

/** A million rows take minutes to write. */
const onlyIfAsked = ["lists"];
const storages = ["sqlite", "postgresql", "mysql"] as const;

const usage = `npm run bench -- [--storage ${storages.join("|")}] [--json] [--quick] [--runs n]
                 [--only ${Object.keys(benchmarks).join("|")}]
                 [--peers [${Object.keys(peers).join(",")}]]

The engine's figures, each beside its bare ceiling: the same rows through the same driver, with no engine.
  --storage where the rows are kept (sqlite); a server is started for the run
  --json    one JSON object per line
  --quick   one run of each and less warming up: under a minute on SQLite
  --runs    the median of so many runs (3)
  --only    one benchmark; may be given again. All but ${onlyIfAsked.join(", ")} if not given
  --peers   other engines, all or those named, beside our figures of the same run`;

interface Arguments extends Omit<Settings, "storage"> {
  readonly storage: (typeof storages)[number];
  readonly json: boolean;
  readonly chosen: readonly Benchmark[];
  readonly peers: readonly string[];
}

function readArguments(): Arguments {
  const { values } = parseArgs({
    args: withAllPeers(process.argv.slice(2)),
    options: {
      storage: { type: "string", default: "sqlite" },
      json: { type: "boolean", default: false },
      quick: { type: "boolean", default: false },
      runs: { type: "string" },
      only: { type: "string", multiple: true },
      peers: { type: "string", default: "" },
    },
  });
  const { json, quick } = values;
  const runs = Number(values.runs ?? (quick ? 1 : 3));
  if (!Number.isSafeInteger(runs) || runs < 1)
    throw new Error(`--runs takes a whole number above 0, not ${values.runs}`);
  const storage = storages.find((each) => each === values.storage);
  if (storage === undefined) throw new Error(`no storage is called "${values.storage}"`);
  const byDefault = Object.keys(benchmarks).filter((name) => !onlyIfAsked.includes(name));
  const chosen = (values.only ?? byDefault).map((name) => {
    const benchmark = benchmarks[name];
    if (benchmark === undefined) throw new Error(`no benchmark is called "${name}"`);
    return benchmark;
  });
  const beside = values.peers.split(",").filter((name) => name !== "");
  const unknown = beside.find((name) => !Object.hasOwn(peers, name));
  if (unknown !== undefined) throw new Error(`no peer is called "${unknown}"`);
  return { storage, json, quick, runs, chosen, peers: beside };
}

/** `--peers` without names stands for all of them. */
function withAllPeers(args: readonly string[]): string[] {
  const all = `--peers=${Object.keys(peers).join(",")}`;
  return args.map((arg, index) => (arg === "--peers" && (args[index + 1] ?? "--").startsWith("--") ? all : arg));
}

function readArgumentsOrLeave(): Arguments {
  if (process.argv.includes("--help")) {
    console.log(usage);
    process.exit(0);
  }
  try {
    return readArguments();
  } catch (error) {
    console.error(`${error instanceof Error ? error.message : String(error)}\n\n${usage}`);
    return process.exit(2);
  }
}

async function main(): Promise<void> {
  const { json, chosen, peers: beside, storage, ...counts } = readArgumentsOrLeave();
  if (beside.length > 0) installPeers();
  const servers = new Servers();
  keepInOneFolder(servers);
  const settings = { ...counts, storage: storageAt(storage === "sqlite" ? "sqlite:" : await servers.urlOf(storage)) };
  const ours: Figure[] = [];
  if (!json) console.log(header("benchmark", "ceiling"));
  for (const benchmark of chosen) {
    for (const figure of await benchmark(settings)) {
      ours.push(figure);
      console.log(json ? inJson(figure) : inRow(figure));
    }
  }
  for (const name of beside) {
    const theirs = await measurePeer(name, { ...settings, servers });
    if (!json) console.log(`\n${titleOf(name)}: ${theirs.setup}\n${header("beside", "theirs")}`);
    for (const figure of besidePeer(name, theirs, ours)) console.log(json ? inJson(figure) : inRow(figure));
  }
  await servers.stop();
}

/** All temporary files of this process, its servers and its children, so that they are gone also after Ctrl-C. */
function keepInOneFolder(servers: Servers): void {
  const folder = mkdtempSync(join(tmpdir(), "heddle-bench-"));
  // Servers run under accounts of their own, and put what is theirs inside.
  chmodSync(folder, 0o1777);
  process.env["TMPDIR"] = folder;
  process.once("exit", () => {
    servers.kill();
    rmSync(folder, { recursive: true, force: true });
  });
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => process.exit(130));
}

function inJson({ notes, ...figure }: Figure): string {
  return JSON.stringify({ ...figure, ...notes }, (_, value: unknown) =>
    typeof value === "number" ? rounded(value) : value,
  );
}

function header(title: string, beside: string): string {
  return row([title, "value", "unit", beside, "ratio", "target", ""], "");
}

function inRow({ name, value, unit, ceiling, ratio, target, met, notes }: Figure): string {
  const extra = Object.entries(notes).map(([key, note]) => `${key} ${shown(note)}`);
  const mark = target === "" ? "" : met ? "✔" : "✘";
  return row([name, shown(value), unit, shown(ceiling), shown(ratio), target, mark], extra.join(", "));
}

function row(cells: readonly string[], extra: string): string {
  const widths = [27, 9, 11, 9, 7, 24, 1];
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
