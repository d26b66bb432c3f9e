import type { SQLInputValue, StatementSync } from "node:sqlite";
import { openFile } from "../src/stores/sqlite/database.ts";
import { prepareStatements } from "../src/stores/sqlite/statements.ts";
import type { Statements } from "../src/stores/sqlite/statements.ts";
import type { Call, Recording } from "./recording-store.ts";

/** All in ms. */
export interface BareTimes {
  /** Opening the file, which may have a log to recover. */
  readonly open: number;
  readonly reads: number;
  /** Each commit. */
  readonly commits: number[];
}

interface Bound {
  readonly statement: StatementSync;
  readonly values: readonly SQLInputValue[];
}

/**
 * The bare ceiling: the statements that an engine ran, with the same values and in the same commits, straight to the
 * driver, on a file with the same schema and settings. What can be made ready is, so that only the driver is timed.
 */
export function runBare(file: string, recording: Recording): BareTimes {
  const start = performance.now();
  const db = openFile(file);
  const statements = prepareStatements(db);
  for (const shard of recording.shards) statements.claimShard.run(shard, "the bare ceiling");
  const open = performance.now() - start;

  const reads = recording.reads.map((call) => bind(statements, call));
  const commits = recording.commits.map((calls) => calls.map((call) => bind(statements, call)));
  const times = { open, reads: timeReads(reads), commits: timeCommits(statements, commits) };
  checkLanded(statements, recording);
  db.close();
  return times;
}

function bind(statements: Statements, [name, values]: Call): Bound {
  return { statement: statements[name], values };
}

function timeReads(reads: readonly Bound[]): number {
  const start = performance.now();
  for (const { statement, values } of reads) statement.all(...values);
  return performance.now() - start;
}

function timeCommits({ begin, commit }: Statements, commits: readonly (readonly Bound[])[]): number[] {
  return commits.map((calls) => {
    const start = performance.now();
    begin.run();
    for (const { statement, values } of calls) statement.run(...values);
    commit.run();
    return performance.now() - start;
  });
}

/** A commit whose fence did not hold would have written its rows all the same here; so a wrong replay is found out. */
function checkLanded(statements: Statements, { commits }: Recording): void {
  const expected = new Map<number, number>();
  for (const [name, [number, , , shard]] of commits.flat()) {
    if (name === "fence") expected.set(Number(shard), Number(number));
  }
  for (const [shard, number] of expected) {
    const batch = Number(statements.readShard.get(shard)?.["batch"]);
    if (batch !== number) throw new Error(`shard ${shard} has batch ${batch} after the bare commits, not ${number}`);
  }
}
