import { join } from "node:path";
import type { DatabaseSync, SQLInputValue, StatementSync } from "node:sqlite";
import { lastKeyOf } from "../../src/stores/instance-key.ts";
import { openFile } from "../../src/stores/sqlite/database.ts";
import { prepareStatements } from "../../src/stores/sqlite/statements.ts";
import type { Statements } from "../../src/stores/sqlite/statements.ts";
import { writeChanges } from "../../src/stores/sqlite/write-changes.ts";
import type { Batch } from "../../src/stores/store.ts";
import { copyDatabase, inFolder } from "../folder.ts";
import type { BareDriver, BenchStorage, Read } from "./bench-storage.ts";

const scheme = "sqlite:";

/** One statement, with what is bound to it. */
interface Call {
  readonly statement: StatementSync;
  readonly values: readonly SQLInputValue[];
}

/** A file in a temporary folder. */
export const sqliteStorage: BenchStorage = {
  place: scheme,

  inDatabase: async (work, copyOf) => {
    return await inFolder(async (folder) => {
      const file = join(folder, "bench.db");
      if (copyOf !== undefined) copyDatabase(fileAt(copyOf), file);
      return await work(scheme + file);
    });
  },

  openDriver: async (address, { shards }) => {
    const driver = new SqliteDriver(fileAt(address));
    for (const shard of shards) driver.claim(shard);
    return driver;
  },
};

function fileAt(address: string): string {
  return address.slice(scheme.length);
}

/** The statements that the store would run, with the same values. */
class SqliteDriver implements BareDriver {
  readonly #db: DatabaseSync;
  readonly #statements: Statements;

  constructor(file: string) {
    this.#db = openFile(file);
    this.#statements = prepareStatements(this.#db);
  }

  claim(shard: number): void {
    this.#statements.claimShard.run(shard, "the bare ceiling");
  }

  readyRead(read: Read): () => unknown {
    const { statement, values } = this.#callOf(read);
    return () => statement.all(...values);
  }

  readyCommit({ fences, changes }: Batch): () => unknown {
    const calls = fences.map(({ number, lastKey, clean, shard, epoch }): Call => {
      return { statement: this.#statements.fence, values: [number, lastKey, clean ? 1 : 0, shard, epoch] };
    });
    writeChanges(this.#takingDown(calls), changes);
    const { begin, commit } = this.#statements;
    return () => {
      begin.run();
      for (const { statement, values } of calls) statement.run(...values);
      commit.run();
    };
  }

  async lastBatch(shard: number): Promise<number> {
    return Number(this.#statements.readShard.get(shard)?.["batch"]);
  }

  async close(): Promise<void> {
    this.#db.close();
  }

  #callOf(read: Read): Call {
    const { loadInstances, loadHistory } = this.#statements;
    return read.name === "loadInstances"
      ? { statement: loadInstances, values: [read.after, lastKeyOf(read.shard), read.limit] }
      : { statement: loadHistory, values: [JSON.stringify(read.instances)] };
  }

  /** Statements that only say what was to be run. */
  #takingDown(calls: Call[]): Statements {
    const statements = this.#statements;
    const takingDown = (_: object, name: string | symbol): { run(...values: SQLInputValue[]): void } => ({
      run: (...values) => void calls.push({ statement: statements[name as keyof Statements], values }),
    });
    return new Proxy({}, { get: takingDown }) as Statements;
  }
}
