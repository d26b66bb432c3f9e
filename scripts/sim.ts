/**
 * `npm run sim`: whole clusters in one process, on virtual time, with faults; see tests/sim/.
 *
 * - `--seeds 1000 --from 1`: so many seeds; `--minutes 5`: as many as fit. `--jobs 2`: in so many processes.
 * - `--seed 123`: this one, with the end of its log; `--log`: with all of it. The same seed is the same run.
 * - `--members 3`, `--members alone`, `--workers 2`, `--profile crashes`: what the seed would otherwise choose.
 * - `--restored`: in every cluster a backup of the store is restored, and not in one of ten.
 * - `--kinds limited,chain`, `--code-kinds code-mailer`: only these DAGs, and only this code.
 * - `--mutation name`: with a bug put in on purpose; `--mutations`: with each of them, or with those that `--mutation`
 *   names, until a seed finds it.
 * - `--stacks`: errors have stacks.
 *
 * Runs are in child processes. A watchdog ends one that makes no progress, and its seed has failed.
 *
 * Ends with 1 if anything is wrong, or if a mutation is not found.
 */
import { readFlags } from "./command-line.ts";
import { type FaultProfileName, faultProfileNames } from "../tests/sim/fault-profile.ts";
import type { CodeKind } from "../tests/sim/code-shapes.ts";
import { circumstancesOf, firstToCatch, type PlainSeedOptions } from "../tests/sim/main.ts";
import { findMutation, mutations } from "../tests/sim/mutations.ts";
import { SeedProcess, type SeedReport } from "../tests/sim/seed-process.ts";
import type { Kind } from "../tests/sim/shapes.ts";

const values = readFlags(import.meta.url, {
  seeds: { type: "string", default: "100" },
  from: { type: "string", default: "1" },
  seed: { type: "string" },
  minutes: { type: "string" },
  jobs: { type: "string", default: "1" },
  members: { type: "string" },
  workers: { type: "string" },
  profile: { type: "string" },
  restored: { type: "boolean", default: false },
  kinds: { type: "string" },
  "code-kinds": { type: "string" },
  mutation: { type: "string" },
  mutations: { type: "boolean", default: false },
  log: { type: "boolean", default: false },
  stacks: { type: "boolean", default: false },
});

const tailLines = 60;
const violationsShown = 20;
const failuresShown = 3;
const progressEveryMs = 5000;

const options: PlainSeedOptions = {
  hasStacks: values.stacks,
  ...(values.members !== undefined && { members: values.members === "alone" ? "alone" : Number(values.members) }),
  ...(values.workers !== undefined && { workers: Number(values.workers) }),
  ...(values.profile !== undefined && { profile: findProfile(values.profile) }),
  ...(values.restored && { restores: true }),
  ...(values.kinds !== undefined && { kinds: values.kinds.split(",") as Kind[] }),
  ...(values["code-kinds"] !== undefined && { codeKinds: values["code-kinds"].split(",") as CodeKind[] }),
};
const named = values.mutation?.split(",").map(findMutation) ?? [];
const first = Number(values.from);
const beganAt = performance.now();
const endsAt = values.minutes === undefined ? Infinity : beganAt + Number(values.minutes) * 60_000;

if (values.seed !== undefined) await one(Number(values.seed));
else if (values.mutations) await findMutations();
else await many();

function findProfile(given: string): FaultProfileName {
  const profile = faultProfileNames.find((name) => name === given);
  if (profile === undefined) throw new Error(`no profile "${given}"; there are ${faultProfileNames.join(", ")}`);
  return profile;
}

async function one(seed: number): Promise<void> {
  const [mutation] = named;
  const drawn = { ...(mutation !== undefined && circumstancesOf(mutation)), ...options };
  const logLines = values.log ? {} : { logLines: tailLines };
  await inProcesses(async (seeds) => {
    const report = await seeds.run({ ...drawn, ...logLines, seed, mutation: mutation?.name, isLogged: true });
    for (const line of report.tail) console.log(line);
    const { hash, about, events, virtualMs, violations } = report;
    console.log(`seed ${seed}: ${about}; ${events} events, ${(virtualMs / 1000).toFixed(0)} s; hash ${hash}`);
    for (const violation of violations) console.log(`  ${violation}`);
    if (violations.length > 0) process.exitCode = 1;
  });
}

async function findMutations(): Promise<void> {
  const left = [...(named.length > 0 ? named : mutations)];
  await inProcesses(async (seeds) => {
    for (let mutation = left.shift(); mutation !== undefined; mutation = left.shift()) {
      const range = Array.from({ length: Number(values.seeds) }, (_, i) => first + i);
      const { name } = mutation;
      const report = await firstToCatch(mutation, range, options, (seed, drawn) => {
        return seeds.run({ ...drawn, seed, mutation: name, logLines: tailLines });
      });
      // A mutation whose place is gone ends the process that makes it.
      const isMade = !report?.violations[0]?.startsWith("watchdog: its process ended");
      if (report === undefined || !isMade) process.exitCode = 1;
      const seed = isMade ? `seed ${report?.seed}` : "COULD NOT BE MADE";
      const found = report === undefined ? `NOT FOUND by ${range.length} seeds` : seed;
      console.log(`${name}: ${found}  ${report?.violations[0] ?? ""}`);
    }
  });
}

/** Each of the jobs has a process of its own. */
async function inProcesses(job: (seeds: SeedProcess) => Promise<void>): Promise<void> {
  const processes = Array.from({ length: Number(values.jobs) }, () => new SeedProcess());
  await Promise.all(processes.map((seeds) => job(seeds).finally(() => seeds.stop())));
}

async function many(): Promise<void> {
  const failures: number[] = [];
  let count = 0;
  let shownAt = beganAt;
  const take = (told: SeedReport): void => {
    count++;
    if (told.violations.length > 0) {
      failures.push(told.seed);
      show(told, failures.length <= failuresShown);
    }
    if (performance.now() - shownAt < progressEveryMs) return;
    shownAt = performance.now();
    console.log(progress(count, failures.length));
  };
  const end = values.minutes === undefined ? first + Number(values.seeds) : Infinity;
  let next = first;
  await inProcesses(async (seeds) => {
    while (next < end && performance.now() < endsAt) {
      take(await seeds.run({ ...options, seed: next++, mutation: named[0]?.name, logLines: tailLines }));
    }
  });
  console.log(progress(count, failures.length));
  if (failures.length === 0) return;
  console.log(`failed: ${failures.sort((a, b) => a - b).join(" ")}`);
  process.exitCode = 1;
}

function progress(count: number, failed: number): string {
  const seconds = (performance.now() - beganAt) / 1000;
  return `${count} seeds in ${seconds.toFixed(0)} s, ${(count / seconds).toFixed(1)} seeds/s, ${failed} failed`;
}

function show({ seed, about, hash, violations, tail }: SeedReport, withLog: boolean): void {
  console.log(`\nseed ${seed} FAILED: ${about}; hash ${hash}`);
  for (const violation of violations.slice(0, withLog ? violationsShown : 1)) console.log(`  ${violation}`);
  if (withLog) for (const line of tail) console.log(`  | ${line}`);
  const given = (["members", "workers", "profile", "kinds", "code-kinds"] as const).filter(
    (name) => values[name] !== undefined,
  );
  const more = given.map((name) => ` --${name} ${values[name]}`).join("");
  console.log(`  again: npm run sim -- --seed ${seed}${values.restored ? " --restored" : ""}${more}`);
}
