/**
 * The recovery test for as long as you like, with other sizes each round; not part of `npm test`.
 *
 *     node tests/recovery/soak.ts --minutes 5 --seed 123
 *
 * Each round has a seed of its own, counted up from the first, and a new folder under the system's folder for temporary
 * files: some hundreds to some thousands of mixed instances, a process that is killed some tens of times, and all the
 * checks of kill.test.ts. A round that goes wrong says what is wrong and keeps its folder, with the database and the log
 * of side effects, and the program ends with 1. Without `--minutes` it runs for five, without `--seed` from a random one.
 *
 * A seed gives the same workload and the same draws of when to kill; where exactly a kill hits is the machine's chance.
 */
import { randomInt } from "node:crypto";
import { mkdtemp, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { runChaos } from "./chaos.ts";
import { checkers } from "./checkers.ts";
import { Dice } from "./dice.ts";
import { gatherEvidence } from "./evidence.ts";
import { checkOutputs } from "./outputs.ts";
import { workload } from "./workload.ts";

const { values } = parseArgs({ options: { minutes: { type: "string" }, seed: { type: "string" } } });
const endsAt = performance.now() + Number(values.minutes ?? 5) * 60_000;
const firstSeed = Number(values.seed ?? randomInt(2 ** 31));

for (let seed = firstSeed; performance.now() < endsAt && process.exitCode === undefined; seed++) await round(seed);

async function round(seed: number): Promise<void> {
  const dice = new Dice(seed, 0x50a4);
  const folder = await mkdtemp(join(tmpdir(), "heddle-soak-"));
  const instances = dice.between(100, 3000);
  const kills = dice.between(20, 60);
  const submitEveryMs = dice.next() < 0.3 ? 0 : dice.between(1, Math.ceil(30_000 / instances));
  say(`seed ${seed}: ${instances} instances, one every ${submitEveryMs} ms, ${kills} kills, in ${folder}`);
  const startedAt = performance.now();
  try {
    const wrong = await run({ folder, seed, instances, submitEveryMs, kills });
    say(`  ${wrong.length === 0 ? "all well" : "WRONG"} after ${Math.round((performance.now() - startedAt) / 1000)} s`);
    if (wrong.length === 0) return await rm(folder, { recursive: true, force: true });
    for (const each of wrong.slice(0, 20)) say(`  ${each}`);
  } catch (error) {
    say(`  WRONG: ${error instanceof Error ? error.message : String(error)}`);
  }
  process.exitCode = 1;
}

interface Round {
  readonly folder: string;
  readonly seed: number;
  readonly instances: number;
  readonly submitEveryMs: number;
  readonly kills: number;
}

async function run({ kills, ...options }: Round): Promise<string[]> {
  const walBytesMax = { value: 0 };
  const chaos = await runChaos({
    ...options,
    isKillWanted: (life) => life <= kills,
    onKill: () => void noteWal(options.folder, walBytesMax),
  });
  const scenarios = workload(options.seed, options.instances);
  const evidence = await gatherEvidence(chaos);
  const wrong = Object.values(checkers).flatMap((check) => check(evidence, scenarios));
  wrong.push(...(await checkOutputs(chaos, scenarios)));
  const { size } = await stat(chaos.databaseFile);
  const starts = evidence.log.filter(({ what }) => what === "start").length;
  say(`  ${starts} starts, database ${megabytes(size)}, log at most ${megabytes(walBytesMax.value)} when killed`);
  return wrong;
}

/** How far SQLite's log had grown when the process was killed. */
async function noteWal(folder: string, max: { value: number }): Promise<void> {
  try {
    max.value = Math.max(max.value, (await stat(join(folder, "heddle.db-wal"))).size);
  } catch {
    // There is none before the first commit.
  }
}

function megabytes(bytes: number): string {
  return `${(bytes / 2 ** 20).toFixed(1)} MB`;
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}
