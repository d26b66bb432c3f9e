/**
 * `npm run sim`: whole clusters in one process, on virtual time, with faults; see tests/sim/.
 *
 * - `--seeds 1000 --from 1`: so many seeds; `--minutes 5`: as many as fit. `--jobs 2`: in so many processes.
 * - `--seed 123`: this one, with the end of its log; `--log`: with all of it. The same seed is the same run.
 * - `--members 3`, `--members alone`, `--workers 2`, `--climate crashes`: what the seed would otherwise choose.
 * - `--mutation name`: with a bug put in on purpose; `--mutations`: with each of them, until a seed finds it.
 * - `--stacks`: errors have stacks.
 *
 * Ends with 1 if anything is wrong, or if a mutation is not found.
 */
import { fork } from "node:child_process";
import { parseArgs } from "node:util";
import type { ClimateName } from "../tests/sim/climate.ts";
import { firstToCatch, type Outcome, runSeed, type SeedOptions } from "../tests/sim/main.ts";
import { findMutation, mutations } from "../tests/sim/mutations.ts";

const { values } = parseArgs({
  options: {
    seeds: { type: "string", default: "100" },
    from: { type: "string", default: "1" },
    seed: { type: "string" },
    minutes: { type: "string" },
    jobs: { type: "string", default: "1" },
    members: { type: "string" },
    workers: { type: "string" },
    climate: { type: "string" },
    mutation: { type: "string" },
    mutations: { type: "boolean", default: false },
    log: { type: "boolean", default: false },
    stacks: { type: "boolean", default: false },
    // For the processes that this one starts: every so manyth seed, told to the parent.
    step: { type: "string" },
  },
});

const tailLines = 60;
const violationsShown = 20;
const failuresShown = 3;
const progressEveryMs = 5000;

const options: SeedOptions = {
  hasStacks: values.stacks,
  ...(values.members !== undefined && { members: values.members === "alone" ? "alone" : Number(values.members) }),
  ...(values.workers !== undefined && { workers: Number(values.workers) }),
  ...(values.climate !== undefined && { climate: values.climate as ClimateName }),
  ...(values.mutation !== undefined && { mutation: findMutation(values.mutation) }),
};
const first = Number(values.from);
const beganAt = performance.now();
const endsAt = values.minutes === undefined ? Infinity : beganAt + Number(values.minutes) * 60_000;

/** What a process tells about a seed; the log only if something is wrong with it. */
type Told = Omit<Outcome, "log"> & { readonly tail: readonly string[] };

if (values.step !== undefined) await work(Number(values.step));
else if (values.seed !== undefined) await one(Number(values.seed));
else if (values.mutations) await findMutations();
else await many();

async function one(seed: number): Promise<void> {
  const outcome = await runSeed(seed, options);
  for (const line of outcome.log(values.log ? undefined : tailLines)) console.log(line);
  const { hash, about, events, virtualMs, violations } = outcome;
  console.log(`seed ${seed}: ${about}; ${events} events, ${(virtualMs / 1000).toFixed(0)} s; hash ${hash}`);
  for (const violation of violations) console.log(`  ${violation}`);
  if (violations.length > 0) process.exitCode = 1;
}

async function findMutations(): Promise<void> {
  for (const mutation of mutations) {
    const seeds = Array.from({ length: Number(values.seeds) }, (_, i) => first + i);
    const outcome = await firstToCatch(mutation, seeds, options);
    if (outcome === undefined) process.exitCode = 1;
    const found = outcome === undefined ? `NOT FOUND by ${seeds.length} seeds` : `seed ${outcome.seed}`;
    console.log(`${mutation.name}: ${found}  ${outcome?.violations[0] ?? ""}`);
  }
}

async function many(): Promise<void> {
  const failures: number[] = [];
  let count = 0;
  let shownAt = beganAt;
  const take = (told: Told): void => {
    count++;
    if (told.violations.length > 0) {
      failures.push(told.seed);
      show(told, failures.length <= failuresShown);
    }
    if (performance.now() - shownAt < progressEveryMs) return;
    shownAt = performance.now();
    console.log(progress(count, failures.length));
  };
  const jobs = Number(values.jobs);
  if (jobs === 1) for await (const told of outcomes(1)) take(told);
  else await Promise.all(Array.from({ length: jobs }, (_, job) => runProcess(job, jobs, take)));
  console.log(progress(count, failures.length));
  if (failures.length === 0) return;
  console.log(`failed: ${failures.sort((a, b) => a - b).join(" ")}`);
  process.exitCode = 1;
}

function progress(count: number, failed: number): string {
  const seconds = (performance.now() - beganAt) / 1000;
  return `${count} seeds in ${seconds.toFixed(0)} s, ${(count / seconds).toFixed(1)} seeds/s, ${failed} failed`;
}

function show({ seed, about, hash, violations, tail }: Told, withLog: boolean): void {
  console.log(`\nseed ${seed} FAILED: ${about}; hash ${hash}`);
  for (const violation of violations.slice(0, withLog ? violationsShown : 1)) console.log(`  ${violation}`);
  if (withLog) for (const line of tail) console.log(`  | ${line}`);
  const given = (["members", "workers", "climate"] as const).filter((name) => values[name] !== undefined);
  const more = given.map((name) => ` --${name} ${values[name]}`).join("");
  console.log(`  again: npm run sim -- --seed ${seed}${more}`);
}

async function* outcomes(step: number): AsyncGenerator<Told> {
  const end = values.minutes === undefined ? first + Number(values.seeds) : Infinity;
  for (let seed = first; seed < end && performance.now() < endsAt; seed += step) {
    const { log, ...outcome } = await runSeed(seed, options);
    yield { ...outcome, tail: outcome.violations.length > 0 ? log(tailLines) : [] };
  }
}

/** In a process of its own: every so manyth seed. */
async function work(step: number): Promise<void> {
  for await (const told of outcomes(step)) process.send?.(told);
  process.disconnect?.();
}

async function runProcess(job: number, jobs: number, take: (told: Told) => void): Promise<void> {
  const own = [`--from=${first + job}`, `--seeds=${Number(values.seeds) - job}`, `--step=${jobs}`];
  const child = fork(import.meta.filename, [...process.argv.slice(2), ...own]);
  child.on("message", (told) => take(told as Told));
  const code = await new Promise<number | null>((resolve) => child.once("close", resolve));
  if (code !== 0) throw new Error(`a process of the simulator ended with ${code}`);
}
