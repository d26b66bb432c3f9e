import { messageOf } from "../../src/base/error.ts";
import { Schedule } from "../../src/schedules/schedule-workflow.ts";
import { SimRandom } from "./sim-random.ts";
import { checkers, asyncCheckers } from "./checkers/all.ts";
import type { Checker, AsyncChecker } from "./checkers/checker.ts";
import type { Evidence } from "./evidence.ts";
import type { Mutation } from "./mutations.ts";
import { redefine } from "./redefine.ts";
import { World, type WorldOptions } from "./world.ts";

/** What came of a seed. */
export interface Outcome {
  readonly seed: number;
  /** Two runs with the same hash were the same run. */
  readonly hash: string;
  /** What the checkers found, each with the checker's name before it. */
  readonly violations: readonly string[];
  /** What kind of run it was, in a few words. */
  readonly about: string;
  readonly events: number;
  readonly virtualMs: number;
  /** All that happened, oldest first; or only the last of it. */
  readonly log: (lines?: number) => string[];
}

/** What a seed leaves open, and whoever runs it may say. */
export type SeedOptions = Omit<WorldOptions, "seed" | "memberCount" | "workerCount"> & {
  /** So many members of a cluster, or one engine alone. By default the seed says. */
  readonly members?: number | "alone" | undefined;
  /** So many machines that run jobs for the members of a cluster. By default the seed says. */
  readonly workers?: number | undefined;
  /** Told of the world before it runs. */
  readonly onWorld?: (world: World) => void;
};

/** Those that can be sent to another process. */
export type PlainSeedOptions = Omit<SeedOptions, "mutation" | "onWorld">;

/** A schedule has few runs here, and is to begin anew between them. */
const runsPerBeginning = 3;

/** Runs one seed from beginning to end, and checks what it left. */
export async function runSeed(seed: number, options: SeedOptions = {}): Promise<Outcome> {
  const { members = drawMembers(seed), workers = drawWorkers(seed), onWorld, ...rest } = options;
  const memberCount = members === "alone" ? undefined : members;
  const workerCount = memberCount === undefined ? 0 : workers;
  const restore = redefine(Schedule.prototype, "runsPerBeginning", { get: () => runsPerBeginning });
  const uninstall = options.mutation?.install?.();
  try {
    const world = new World({ ...rest, seed, memberCount, workerCount });
    onWorld?.(world);
    const evidence = await world.run();
    const { profile, scheduler, log } = world;
    return {
      seed,
      hash: log.hash,
      violations: await violationsIn(evidence),
      about: `${population(memberCount, workerCount)}, ${profile.name}, ${profile.storeKind}`,
      events: scheduler.happened,
      virtualMs: scheduler.now,
      log: (lines) => log.lines(lines),
    };
  } finally {
    uninstall?.();
    restore();
  }
}

async function violationsIn(evidence: Evidence): Promise<string[]> {
  const found: string[] = [];
  for (const [name, check] of Object.entries({ ...checkers, ...asyncCheckers }))
    found.push(...(await wrongBy(check, evidence)).map((what) => `${name}: ${what}`));
  return found;
}

/** A history that no engine could have written may break whoever follows it. */
async function wrongBy(check: Checker | AsyncChecker, evidence: Evidence): Promise<readonly string[]> {
  try {
    return await check(evidence);
  } catch (error) {
    return [`what happened cannot be followed: ${messageOf(error)}`];
  }
}

/** A cluster of one is a cluster; most have three. */
function drawMembers(seed: number): number | "alone" {
  return new SimRandom(seed).fork("members").pick(["alone", "alone", 1, 2, 3, 3, 3, 4, 5]);
}

/** A third of the clusters have them. */
function drawWorkers(seed: number): number {
  return new SimRandom(seed).fork("worker count").pick([0, 0, 0, 0, 0, 0, 1, 2, 3]);
}

function population(memberCount: number | undefined, workerCount: number): string {
  if (memberCount === undefined) return "alone";
  return workerCount === 0 ? `${memberCount} members` : `${memberCount} members, ${workerCount} workers`;
}

/** In which the mutation shows soonest: what else a seed would draw is left out. */
export function circumstancesOf({ profile, kinds, codeKinds }: Mutation): PlainSeedOptions {
  return {
    ...(profile !== undefined && { profile }),
    ...(kinds !== undefined && { kinds }),
    ...(codeKinds !== undefined && { codeKinds }),
  };
}

/** The first seed that shows the mutation, with which `run` runs it, and what it showed; undefined if none of them does. */
export async function firstToCatch<Result extends Pick<Outcome, "violations"> = Outcome>(
  mutation: Mutation,
  seeds: Iterable<number>,
  options: PlainSeedOptions,
  run: (seed: number, options: PlainSeedOptions) => Promise<Result>,
): Promise<Result | undefined> {
  for (const seed of seeds) {
    const { members = drawMembers(seed), workers = drawWorkers(seed) } = options;
    const { needsCluster, needsWorkers } = mutation;
    if ((needsCluster || needsWorkers) && members === "alone") continue;
    if (needsWorkers && workers === 0) continue;
    const outcome = await run(seed, { ...circumstancesOf(mutation), ...options, members });
    if (outcome.violations.length > 0) return outcome;
  }
  return undefined;
}
