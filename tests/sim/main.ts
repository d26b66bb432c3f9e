import { messageOf } from "../../src/base/error.ts";
import { Schedule } from "../../src/schedules/schedule-workflow.ts";
import { SimRandom } from "./sim-random.ts";
import { checkers, asyncCheckers, restoreCheckers } from "./checkers/all.ts";
import type { Checker, AsyncChecker } from "./checkers/checker.ts";
import type { Evidence } from "./evidence.ts";
import type { Mutation } from "./mutations.ts";
import { nameProcess } from "./process-name.ts";
import { redefine } from "./redefine.ts";
import { World, type WorldOptions } from "./world.ts";

/** The result of a seed. */
export interface Outcome {
  readonly seed: number;
  /** Two runs with the same hash were the same run. */
  readonly hash: string;
  /** The violations that checkers found, each prefixed with the checker's name. */
  readonly violations: readonly string[];
  /** A short description of the run. */
  readonly about: string;
  readonly events: number;
  readonly virtualMs: number;
  /** The log, oldest line first; or only its last lines. */
  readonly log: (lines?: number) => string[];
}

/** Options that replace what a seed would draw. */
export type SeedOptions = Omit<WorldOptions, "seed" | "memberCount" | "workerCount"> & {
  /** The number of members of a cluster, or a single engine. Default: drawn from the seed. */
  readonly members?: number | "alone" | undefined;
  /** The number of machines with a remote worker. Default: drawn from the seed. */
  readonly workers?: number | undefined;
  /** Called with the world before it runs. */
  readonly onWorld?: (world: World) => void;
};

/** The options that can be sent to another process. */
export type PlainSeedOptions = Omit<SeedOptions, "mutation" | "onWorld">;

/** The number of runs after which a schedule continues as new; small, because a schedule has few runs here. */
const runsPerBeginning = 3;

/** Runs one seed and checks its evidence. */
export async function runSeed(seed: number, options: SeedOptions = {}): Promise<Outcome> {
  const {
    members = drawMembers(seed),
    workers = drawWorkers(seed),
    onWorld,
    ...rest
  } = {
    restores: drawRestores(seed),
    ...options,
  };
  const memberCount = members === "alone" ? undefined : members;
  const restoreName = nameProcess();
  const restore = redefine(Schedule.prototype, "runsPerBeginning", { get: () => runsPerBeginning });
  const uninstall = options.mutation?.install?.();
  try {
    const world = new World({ ...rest, seed, memberCount, workerCount: workers });
    onWorld?.(world);
    const evidence = await world.run();
    const { profile, scheduler, log } = world;
    return {
      seed,
      hash: log.hash,
      violations: await violationsIn(evidence),
      about: `${population(memberCount, workers)}, ${profile.name}, ${evidence.restores.length > 0 ? "restored" : profile.storeKind}`,
      events: scheduler.happened,
      virtualMs: scheduler.now,
      log: (lines) => log.lines(lines),
    };
  } finally {
    uninstall?.();
    restore();
    restoreName();
  }
}

async function violationsIn(evidence: Evidence): Promise<string[]> {
  const found: string[] = [];
  const all = evidence.restores.length > 0 ? restoreCheckers : { ...checkers, ...asyncCheckers };
  for (const [name, check] of Object.entries(all))
    found.push(...(await wrongBy(check, evidence)).map((what) => `${name}: ${what}`));
  return found;
}

/** Reports an error of a checker as a violation: an impossible history may break it. */
async function wrongBy(check: Checker | AsyncChecker, evidence: Evidence): Promise<readonly string[]> {
  try {
    return await check(evidence);
  } catch (error) {
    return [`what happened cannot be followed: ${messageOf(error)}`];
  }
}

/** A cluster may have one member; most have three. */
function drawMembers(seed: number): number | "alone" {
  return new SimRandom(seed).fork("members").pick(["alone", "alone", 1, 2, 3, 3, 3, 4, 5]);
}

/** Draws the number of workers: a third of all runs have any. */
function drawWorkers(seed: number): number {
  return new SimRandom(seed).fork("worker count").pick([0, 0, 0, 0, 0, 0, 1, 2, 3]);
}

/** A backup is restored in one of ten clusters. */
function drawRestores(seed: number): boolean {
  return new SimRandom(seed).fork("restores").isLucky(0.1);
}

function population(memberCount: number | undefined, workerCount: number): string {
  const engines = memberCount === undefined ? "alone" : `${memberCount} members`;
  return workerCount === 0 ? engines : `${engines}, ${workerCount} workers`;
}

/** The options under which the mutation is found soonest; they replace what a seed would draw. */
export function circumstancesOf({ profile, kinds, codeKinds, restores, needsLoneWorkers }: Mutation): PlainSeedOptions {
  return {
    ...(needsLoneWorkers && { members: "alone", workers: 2 }),
    ...(restores !== undefined && { restores }),
    ...(profile !== undefined && { profile }),
    ...(kinds !== undefined && { kinds }),
    ...(codeKinds !== undefined && { codeKinds }),
  };
}

/** Returns the result of the first seed that finds the mutation; undefined if none does. */
export async function firstToCatch<Result extends Pick<Outcome, "violations"> = Outcome>(
  mutation: Mutation,
  seeds: Iterable<number>,
  options: PlainSeedOptions,
  run: (seed: number, options: PlainSeedOptions) => Promise<Result>,
): Promise<Result | undefined> {
  for (const seed of seeds) {
    const circumstances = { ...circumstancesOf(mutation), ...options };
    const { members = drawMembers(seed), workers = drawWorkers(seed) } = circumstances;
    const { needsCluster, needsWorkers } = mutation;
    if ((needsCluster || needsWorkers) && members === "alone") continue;
    if (needsWorkers && workers === 0) continue;
    const outcome = await run(seed, { ...circumstances, members });
    if (outcome.violations.length > 0) return outcome;
  }
  return undefined;
}
