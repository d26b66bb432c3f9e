import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startMariadb } from "../../scripts/servers/mariadb-server.ts";
import { type DatabaseServer, startPostgres } from "../../scripts/servers/postgres-server.ts";
import type { ServerKind } from "../databases/databases.ts";
import { judge } from "./checkers.ts";
import { measureShift } from "./machine-time.ts";
import { SoakWorld } from "./soak-world.ts";
import type { Testimony } from "./testimony.ts";

const starters: Readonly<Record<ServerKind, () => Promise<DatabaseServer>>> = {
  postgres: startPostgres,
  mysql: startMariadb,
};

export interface SoakOptions {
  readonly kind: ServerKind;
  readonly minutes: number;
  readonly memberCount: number;
  readonly seed: number;
  readonly mutation?: string | undefined;
  readonly isCalm?: boolean;
  /** What members and database said is kept, also if all is well. */
  readonly isKept?: boolean;
  readonly say: (line: string) => void;
}

/** What came of it. */
export interface SoakResult {
  readonly violations: readonly string[];
  /** Of the last round: what the checkers saw. */
  readonly testimony: Testimony;
}

/** A round has its own database and its own seed, so that what it leaves can be looked at whole. */
const roundMs = 120_000;

/** How long work and faults go on in a round; the rest of its time is for coming to an end. */
const workShare = 0.7;

/** Rounds, one after the other, on one server that is its own; the first that goes wrong is the last. */
export async function soak(options: SoakOptions): Promise<SoakResult> {
  const server = await starters[options.kind]();
  const endsAt = performance.now() + options.minutes * 60_000;
  try {
    for (let round = 0; ; round++) {
      const leftMs = endsAt - performance.now();
      const spanMs = workShare * Math.min(roundMs, leftMs);
      const result = await runRound({ ...options, seed: options.seed + round }, server, spanMs);
      if (result.violations.length > 0 || endsAt - performance.now() < roundMs / 4) return result;
    }
  } finally {
    await server.process.stop();
    server.process.remove();
  }
}

async function runRound(options: SoakOptions, server: DatabaseServer, spanMs: number): Promise<SoakResult> {
  const { kind, seed, memberCount, mutation, isCalm = false, isKept = false, say } = options;
  const folder = mkdtempSync(join(tmpdir(), "heddle-soak-"));
  say(`seed ${seed}: ${memberCount} members on ${kind}, ${(spanMs / 1000).toFixed(0)} s of work, in ${folder}`);
  const beganAt = performance.now();
  const shiftMs = measureShift();
  const world = await SoakWorld.make({ kind, server, seed, memberCount, spanMs, folder, shiftMs, mutation, isCalm });
  const testimony = await world.run();
  const workedS = ((performance.now() - beganAt) / 1000).toFixed(0);
  const violations = judge(testimony);
  for (const line of summary(testimony, world.faults.counts)) say(`  ${line}`);
  say(`  ${violations.length === 0 ? "all well" : "WRONG"} after ${workedS} s`);
  for (const violation of violations.slice(0, 20)) say(`  ${violation}`);
  if (violations.length === 0 && !isKept) rmSync(folder, { recursive: true, force: true });
  else {
    writeFileSync(join(folder, "testimony.json"), JSON.stringify(testimony, mapsAsLists));
    writeFileSync(join(folder, "violations.txt"), violations.join("\n"));
  }
  return { violations, testimony };
}

/** How much there was to get wrong. */
function summary(testimony: Testimony, counts: ReadonlyMap<string, number>): string[] {
  const { finalState, runs, calls, audit, lives, commitCalls } = testimony;
  const again = runs.length - new Set(runs.map(({ attemptId }) => attemptId)).size;
  const takeovers = audit.filter((row) => row.what === "claim" && !row.released).length;
  const unsure = commitCalls.filter(({ answeredAt, code }) => answeredAt === undefined || code === "STORE_UNAVAILABLE");
  const fenced = commitCalls.filter(({ code }) => code === "STORE_FENCED");
  const faults = [...counts].map(([kind, count]) => `${count} ${kind}`).sort();
  return [
    `${finalState.instances.length} instances, ${runs.length} runs of tasks, ${again} of them again, ${calls.length} calls`,
    `${lives.length} lives, ${commitCalls.length} commits sent, ${unsure.length} without an answer, ${fenced.length} fenced, ${takeovers} takeovers`,
    `faults: ${faults.join(", ")}`,
  ];
}

function mapsAsLists(_key: string, value: unknown): unknown {
  return value instanceof Map ? [...value] : value;
}
