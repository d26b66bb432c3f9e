import { EngineError } from "../../base/error.ts";
import { list, type Literal } from "./literal.ts";
import type { Statement } from "./statement.ts";

/**
 * Every packet begins with it: what literals are written for must not depend on what somebody between us and the server
 * did to the connection. Strict, so that a value which does not fit is an error and nothing is cut off.
 */
export const settings = "SET NAMES utf8mb4, sql_mode = 'STRICT_ALL_TABLES,NO_BACKSLASH_ESCAPES,NO_ENGINE_SUBSTITUTION'";

/**
 * A transaction of several packets is open while the server waits for the next of them. Then it waits no longer than
 * this: the locks of a client that was stopped are free again before others lose patience with it.
 */
const patienceInTransactionS = 10;

/** Between transactions, where nobody is in anybody's way. */
export const patienceS = 3600;

/** Longer lists gain nothing. From a thousand keys on MariaDB makes a table of them, and both give up on the index later. */
export const rowsPerStatementMax = 500;

interface Step {
  readonly statement: Statement;
  /** Rows, keys or conditions; they go where `?1` stands. */
  readonly rows: readonly Literal[];
}

/** What is to be written, in order. */
export class Script {
  readonly #steps: Step[] = [];

  /** Nothing if there are no rows. */
  add(statement: Statement, rows: readonly Literal[]): void {
    for (let from = 0; from < rows.length; from += rowsPerStatementMax) {
      this.#steps.push({ statement, rows: rows.slice(from, from + rowsPerStatementMax) });
    }
  }

  get text(): string {
    let text = "";
    for (const { statement, rows } of this.#steps) text += `${statement.with(list(rows))};`;
    return text;
  }

  /** The same in several texts, none of them longer. STORE_DATA if a row alone is. */
  textsOf(bytesMax: number): string[] {
    const packer = new Packer(bytesMax);
    for (const { statement, rows } of this.#steps) packer.add(statement, rows);
    return packer.texts();
  }
}

/**
 * The packets of one transaction: as a rule one, and the server needs nothing more from us to bring it to an end. If that
 * would be too large, several. Whatever fails in it, nothing comes of it as long as the connection is then given up.
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

/** Fills one text after the other, and one statement after the other in it. */
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
