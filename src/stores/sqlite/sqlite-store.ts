import { setImmediate } from "node:timers/promises";
import { EngineError } from "../../base/error.ts";
import { type DatabaseClock, machineClock } from "../database-clock.ts";
import { mailboxesOf } from "../mailbox.ts";
import type { Columns } from "../rows.ts";
import { SqlStore } from "../sql/sql-store.ts";
import type { Batch } from "../store.ts";
import { toDisk } from "../text.ts";
import { openingError, operationError } from "./faults.ts";
import { SqliteDriver } from "./sqlite-driver.ts";
import { writeChanges } from "./write-changes.ts";
import { writeFences } from "./write-fences.ts";

const inMemory = ":memory:";

/** More log lines at a time would block the engine for longer than a commit does. */
const logLinesPerStepMax = 1000;

/**
 * The embedded store: one file, one process, one writer. SQLite is synchronous, so a call has done its work when it
 * returns its promise; callers must not rely on that.
 */
export class SqliteStore extends SqlStore<SqliteDriver> {
  readonly clusters = "never";
  readonly lanes: number = 1;
  readonly place: string;
  readonly #clock: DatabaseClock;

  /** `:memory:` keeps everything in memory, until `close`. `clock` is that of the machine by default. */
  constructor(options: { file: string; clock?: DatabaseClock }) {
    super();
    this.#clock = options.clock ?? machineClock;
    if (typeof options.file !== "string" || options.file === "") {
      throw new EngineError("OPTION_INVALID", `the database needs a file name, got ${JSON.stringify(options.file)}`);
    }
    this.place = options.file;
  }

  async openDriver(): Promise<SqliteDriver> {
    return this.place === inMemory ? SqliteDriver.inMemory(this.#clock) : SqliteDriver.inFile(this.place, this.#clock);
  }

  toOpeningError(error: unknown): Error {
    return openingError(error, this.place);
  }

  toOperationError(error: unknown): Error {
    return operationError(error, this.place);
  }

  /** A store that is closed has nothing to verify. */
  async verify(): Promise<void> {
    if (this.isOpen) this.driver.checkFile();
  }

  async removeMember(member: string, ifHeartbeat?: number): Promise<boolean> {
    return await this.translateErrors(async () =>
      this.driver.inTransaction((statements) => {
        if (statements.get("delete-member").run(toDisk(member), ifHeartbeat ?? null).changes === 0) return false;
        for (const mailbox of mailboxesOf(member)) statements.get("delete-mailbox").run(toDisk(mailbox));
        return true;
      }),
    );
  }

  async commit(batch: Batch): Promise<void> {
    const { driver } = this;
    try {
      driver.inTransaction((statements) => {
        if (writeFences(statements, batch.fences)) writeChanges(statements, batch.changes);
      });
    } catch (error) {
      throw this.toOperationError(error);
    }
  }

  async deleteLines(topicPrefix: string, before: number): Promise<void> {
    for (let last = { at: Number.MIN_SAFE_INTEGER, number: 0 }; ; await setImmediate()) {
      const values = [topicPrefix, before, last.at, last.number, logLinesPerStepMax];
      const found = await this.all("find-old-lines", values, toOldLine);
      const matching = found.filter(({ matches }) => matches);
      if (matching.length > 0) {
        await this.transaction(
          "other",
          matching.map(({ number }) => ({ name: "delete-line", values: [number] })),
        );
      }
      if (found.length < logLinesPerStepMax) return;
      last = found.at(-1) ?? last;
    }
  }

  async deleteTopic(topic: string): Promise<void> {
    for (; ; await setImmediate()) {
      const step = { name: "delete-topic", values: [topic, logLinesPerStepMax] } as const;
      const [deleted] = await this.transaction("other", [step]);
      if (deleted === undefined || deleted.changes < logLinesPerStepMax) return;
    }
  }
}

function toOldLine(row: Columns): { number: number; at: number; matches: boolean } {
  return { number: row.number("number"), at: row.number("at"), matches: row.boolean("matches") };
}
