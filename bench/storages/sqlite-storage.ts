import { join } from "node:path";
import type { DatabaseSync, SQLInputValue, StatementSync } from "node:sqlite";
import { lastKeyOf } from "../../src/stores/instance-key.ts";
import { type StatementName, Statements } from "../../src/stores/sql/statements.ts";
import { openFile, sqlFiles } from "../../src/stores/sqlite/database.ts";
import { type StatementRunner, writeChanges } from "../../src/stores/sqlite/write-changes.ts";
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
  readonly epochs = new Map<number, number>();
  readonly #db: DatabaseSync;
  readonly #statements: Statements<StatementSync>;

  constructor(file: string) {
    this.#db = openFile(file);
    this.#db.function("clock_seconds", () => Math.floor(Date.now() / 1000));
    this.#statements = new Statements(sqlFiles, (sql) => this.#db.prepare(sql));
  }

  claim(shard: number): void {
    this.#statements.get("insert-shard").run(shard);
    this.#statements.get("claim-shard").run(shard, "the bare ceiling");
    this.epochs.set(shard, Number(this.#statements.get("find-shard").get(shard)?.["epoch"]));
  }

  readyRead(read: Read): () => unknown {
    const { statement, values } = this.#callOf(read);
    return () => statement.all(...values);
  }

  readyCommit({ fences, changes }: Batch): () => unknown {
    const calls = fences.map(({ number, lastKey, released, shard, epoch }): Call => {
      return {
        statement: this.#statements.get("raise-batches"),
        values: [number, lastKey, released ? 1 : 0, shard, epoch],
      };
    });
    writeChanges(this.#takingDown(calls), changes);
    const begin = this.#db.prepare("BEGIN IMMEDIATE");
    const commit = this.#db.prepare("COMMIT");
    return () => {
      begin.run();
      for (const { statement, values } of calls) statement.run(...values);
      commit.run();
    };
  }

  async lastBatch(shard: number): Promise<number> {
    return Number(this.#statements.get("find-shard").get(shard)?.["lastBatch"]);
  }

  async close(): Promise<void> {
    this.#db.close();
  }

  #callOf(read: Read): Call {
    return read.name === "listUnfinished"
      ? {
          statement: this.#statements.get("list-unfinished-by-shard"),
          values: [read.after, lastKeyOf(read.shard), read.limit],
        }
      : { statement: this.#statements.get("load-history"), values: [JSON.stringify(read.instances)] };
  }

  /** Statements that take down what was to be run. */
  #takingDown(calls: Call[]): StatementRunner {
    const statements = this.#statements;
    return {
      get: (name: StatementName) => ({
        run: (...values: SQLInputValue[]) => calls.push({ statement: statements.get(name), values }),
      }),
    };
  }
}
