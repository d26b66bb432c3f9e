import type { DatabaseSync, SQLInputValue, StatementSync } from "node:sqlite";
import { openFile } from "../src/stores/sqlite/database.ts";
import { prepareStatements } from "../src/stores/sqlite/statements.ts";
import type { Statements } from "../src/stores/sqlite/statements.ts";
import type { Call, PackedRecording } from "./recording-store.ts";

interface Bound {
  readonly statement: StatementSync;
  readonly values: readonly SQLInputValue[];
}

/**
 * The bare ceiling: the statements that an engine ran, with the same values and in the same commits, straight to the
 * driver, on a file with the same schema and settings. Everything is bound beforehand; only the driver is timed.
 */
export class Ceiling {
  readonly #db: DatabaseSync;
  readonly #statements: Statements;
  readonly #reads: readonly Bound[];
  readonly #commits: readonly (readonly Bound[])[];

  constructor(file: string, recording: PackedRecording) {
    this.#db = openFile(file);
    this.#statements = prepareStatements(this.#db);
    const { reads, commits } = recording.unpacked();
    this.#reads = reads.map((call) => this.#bind(call));
    this.#commits = commits.map((calls) => calls.map((call) => this.#bind(call)));
    this.#statements.claimShard.run(1, "the bare ceiling");
  }

  /** What reading takes, in ms. */
  read(): number {
    const start = performance.now();
    for (const { statement, values } of this.#reads) statement.all(...values);
    return performance.now() - start;
  }

  /** What each commit takes, in ms. */
  write(): number[] {
    const { begin, commit } = this.#statements;
    return this.#commits.map((calls) => {
      const start = performance.now();
      begin.run();
      for (const { statement, values } of calls) statement.run(...values);
      commit.run();
      return performance.now() - start;
    });
  }

  close(): void {
    this.#db.close();
  }

  #bind([name, ...values]: Call): Bound {
    return { statement: this.#statements[name], values };
  }
}
