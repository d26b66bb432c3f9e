import { EngineError } from "../../base/error.ts";
import { list, type Literal } from "./literal.ts";
import type { Statement } from "./statement.ts";

/**
 * Every packet begins with these settings: literals are written for them, and a proxy may have changed the session. Strict
 * mode makes a value that does not fit an error instead of truncating it.
 */
export const settings = "SET NAMES utf8mb4, sql_mode = 'STRICT_ALL_TABLES,NO_BACKSLASH_ESCAPES,NO_ENGINE_SUBSTITUTION'";

/**
 * Timeout of the server between the packets of one transaction: the locks of a stalled client are released before other
 * members remove it.
 */
const patienceInTransactionS = 10;

/** Timeout of the server between transactions, where a client holds no locks. */
export const patienceS = 3600;

/** Longer lists gain nothing: from a thousand keys on MariaDB materializes them, and both servers stop using the index. */
export const rowsPerStatementMax = 500;

interface ScriptStatement {
  readonly statement: Statement;
  /** Rows, keys or conditions that replace `?1`. */
  readonly rows: readonly Literal[];
}

/** Statements that write rows, in order. */
export class Script {
  readonly #statements: ScriptStatement[] = [];

  /** Adds statements of up to `rowsPerStatementMax` rows; none for no rows. */
  add(statement: Statement, rows: readonly Literal[]): void {
    for (let from = 0; from < rows.length; from += rowsPerStatementMax) {
      this.#statements.push({ statement, rows: rows.slice(from, from + rowsPerStatementMax) });
    }
  }

  get text(): string {
    let text = "";
    for (const { statement, rows } of this.#statements) text += `${statement.with(list(rows))};`;
    return text;
  }

  /** Splits the script into texts of limited size. `STORE_DATA` if a single row is larger. */
  textsOf(bytesMax: number): string[] {
    const packer = new Packer(bytesMax);
    for (const { statement, rows } of this.#statements) packer.add(statement, rows);
    return packer.texts();
  }
}

/**
 * Returns the packets of one transaction: usually one, which the server completes without the client. A transaction that is
 * larger than a packet takes several. If one fails, the connection must be closed, which rolls back.
 */
export function transaction(opening: readonly Literal[], script: Script, bytesMax: number): string[] {
  const begin = ["START TRANSACTION", ...opening].join(";");
  const whole = `${settings};${begin};${script.text}COMMIT`;
  if (fits(whole, bytesMax)) return [whole];
  return [
    `${settings};SET wait_timeout = ${patienceInTransactionS};${begin}`,
    ...script.textsOf(bytesMax - settings.length - 1).map((text) => `${settings};${text}`),
    `${settings};COMMIT;SET wait_timeout = ${patienceS}`,
  ];
}

function fits(text: string, bytesMax: number): boolean {
  const bytesPerUnitMax = 3;
  return text.length * bytesPerUnitMax <= bytesMax || Buffer.byteLength(text) <= bytesMax;
}

/** Packs statements into texts of limited size. */
class Packer {
  readonly #bytesMax: number;
  readonly #texts: string[] = [];
  #text = "";
  #bytes = 0;

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  add(statement: Statement, rows: readonly Literal[]): void {
    const frameBytes = Buffer.byteLength(statement.with(list([]))) + 1;
    let taken: Literal[] = [];
    const close = (): void => {
      if (taken.length > 0) this.#text += `${statement.with(list(taken))};`;
      taken = [];
    };
    for (const row of rows) {
      const rowBytes = Buffer.byteLength(row) + 1;
      if (taken.length === 0) this.#bytes += frameBytes;
      if (this.#bytes + rowBytes > this.#bytesMax) {
        close();
        this.#next();
        this.#bytes = frameBytes;
      }
      this.#bytes += rowBytes;
      if (this.#bytes > this.#bytesMax) throw tooLarge(rowBytes, this.#bytesMax);
      taken.push(row);
    }
    close();
  }

  texts(): string[] {
    this.#next();
    return this.#texts;
  }

  #next(): void {
    if (this.#text !== "") this.#texts.push(this.#text);
    this.#text = "";
    this.#bytes = 0;
  }
}

function tooLarge(rowBytes: number, bytesMax: number): EngineError {
  return new EngineError(
    "STORE_DATA",
    `a row of ${rowBytes} bytes does not fit into a packet of ${bytesMax} bytes; raise the server's setting max_allowed_packet, and restart the engine`,
  );
}
