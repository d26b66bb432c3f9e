import type { Connection as Wire, Submittable } from "pg";

/** A statement, prepared on each connection under its name at its first use there. */
export interface Statement {
  readonly name: string;
  readonly sql: string;
}

/** A buffer is sent in the binary form of its type, everything else as text. */
export type WireValue = string | number | boolean | null | Buffer;

/** A statement with its values. */
export interface BoundStatement {
  readonly statement: Statement;
  readonly values: readonly WireValue[];
}

export type Row = Record<string, unknown>;

interface Column {
  readonly name: string;
  readonly dataTypeID: number;
}

/** Statements that are prepared on a connection, with the columns of their rows. */
export type Prepared = Map<string, readonly Column[]>;

/** Object ids of types that are read as something other than text, the same on every server. */
const booleanType = 16;
const integerTypes: readonly number[] = [20, 21, 23];

/**
 * Runs several statements in one round trip and one transaction. The server begins it with the first statement and commits
 * it at the Sync after the last. An error rolls back, and the server skips everything up to the Sync. Each statement sees
 * the writes of those before it and, READ COMMITTED, what others have committed by then.
 *
 * The client accepts such an object in place of a query: it calls `submit` and passes on the answers.
 */
export class Pipeline implements Submittable {
  readonly #steps: readonly BoundStatement[];
  readonly #prepared: Prepared;
  readonly #results: Row[][];
  readonly #done: (error: unknown, results: Row[][]) => void;
  /** The step whose answer is being read. */
  #step = 0;

  constructor(
    steps: readonly BoundStatement[],
    /** Statements are added as they are sent: a connection on which anything failed is not used again. */
    prepared: Prepared,
    /** Called once or, after a connection was lost, twice. */
    done: (error: unknown, results: Row[][]) => void,
  ) {
    this.#steps = steps;
    this.#prepared = prepared;
    this.#results = steps.map(() => []);
    this.#done = done;
  }

  submit(wire: Wire): void {
    // All messages go out in one write.
    wire.stream.cork();
    for (const { statement, values } of this.#steps) {
      const { name, sql } = statement;
      if (!this.#prepared.has(name)) {
        wire.parse({ name, text: sql, types: [] }, true);
        wire.describe({ type: "S", name }, true);
        this.#prepared.set(name, []);
      }
      wire.bind({ statement: name, values: values.map(onWire) }, true);
      wire.execute({}, true);
    }
    wire.sync();
    wire.stream.uncork();
  }

  /** Comes once for each statement and connection; a statement that gives no rows has none. */
  handleRowDescription(message: { readonly fields: readonly Column[] }): void {
    const step = this.#steps[this.#step];
    if (step) this.#prepared.set(step.statement.name, message.fields);
  }

  handleDataRow(message: { readonly fields: readonly (string | null)[] }): void {
    const step = this.#steps[this.#step];
    const columns = (step && this.#prepared.get(step.statement.name)) ?? [];
    const row: Row = {};
    for (const [index, { name, dataTypeID }] of columns.entries()) {
      const text = message.fields[index] ?? null;
      row[name] = text === null ? null : fromWire(text, dataTypeID);
    }
    this.#results[this.#step]?.push(row);
  }

  handleCommandComplete(): void {
    this.#step += 1;
  }

  handleError(error: unknown): void {
    this.#done(error, []);
  }

  handleReadyForQuery(): void {
    this.#done(undefined, this.#results);
  }
}

function onWire(value: WireValue): string | Buffer | null {
  return value === null || Buffer.isBuffer(value) ? value : String(value);
}

function fromWire(text: string, type: number): unknown {
  if (type === booleanType) return text === "t";
  return integerTypes.includes(type) ? Number(text) : text;
}
