import { createHash } from "node:crypto";
import { EngineError } from "../base/error.ts";
import {
  type Closed,
  type End,
  formatName,
  formatVersion,
  type Header,
  type Line,
  misshapen,
  noRows,
  type RowCounts,
  type RowKind,
  rowKinds,
  type RowsLine,
} from "./export-line.ts";

/** Reads the lines of an export, and refuses an export that was cut off or altered. */
export class LineReader {
  readonly #hash = createHash("sha256");
  readonly #rows = noRows();
  #lines = 0;
  #isOver = false;

  /** Number of the line read last, counted from 1. */
  get number(): number {
    return this.#lines;
  }

  /** Number of rows by kind. `OPTION_INVALID` unless the last line was read. */
  get rows(): RowCounts {
    if (this.#isOver) return this.#rows;
    throw refused(`it stops after line ${this.#lines}, without its last line, so it was cut off there`);
  }

  /** Takes a line with or without its line break. `OPTION_INVALID` if it is not what an export writes. */
  read(text: string): Line {
    if (typeof text !== "string")
      throw refused(`the input after line ${this.#lines} is not text, and must be given line by line`);
    const line = text.replace(/\r?\n$/, "");
    const parsed = this.#parse(line);
    const sha256 = parsed.kind === "end" ? this.#hash.copy().digest("hex") : "";
    this.#lines++;
    this.#hash.update(line);
    this.#hash.update("\n");
    if (parsed.kind === "end") this.#checkEnd(parsed, sha256);
    else if ("rows" in parsed) this.#rows[parsed.kind] += parsed.rows.length;
    return parsed;
  }

  /** Returns the error for the line read last. */
  wrong(what: string): EngineError {
    return refused(`line ${this.#lines} ${what}`);
  }

  #parse(text: string): Line {
    const number = this.#lines + 1;
    if (this.#isOver) throw refused(`line ${number} comes after its end`);
    if (text.includes("\n"))
      throw refused(`the input after line ${number - 1} is several lines, which must be given one by one`);
    let value: unknown;
    try {
      value = JSON.parse(text);
    } catch (error) {
      throw refused(`line ${number} is not a complete line of JSON, so it was cut off or altered there`, error);
    }
    const problem = number === 1 ? headerProblem(value) : lineProblem(value);
    if (problem !== undefined) throw refused(`line ${number} ${problem}`);
    return value as Line;
  }

  #checkEnd(end: End, sha256: string): void {
    const lines = this.#lines - 1;
    if (end.lines !== lines) throw this.wrong(`says that ${end.lines} lines come before it, and there are ${lines}`);
    // An export of an earlier version does not count kinds that were added later.
    const told = { ...noRows(), ...end.rows };
    for (const kind of Object.keys(told)) {
      if (!(kind in this.#rows)) throw this.wrong(`counts rows of ${kind}, which is not a known kind`);
    }
    for (const kind of rowKinds) {
      if (told[kind] === this.#rows[kind]) continue;
      throw this.wrong(`says that there are ${told[kind]} rows of ${kind}, and there are ${this.#rows[kind]}`);
    }
    if (end.sha256 !== sha256)
      throw this.wrong("has another hash than the lines before it, so one of them was altered");
    this.#isOver = true;
  }
}

function refused(what: string, cause?: unknown): EngineError {
  const message = `the export cannot be imported: ${what}; export again, and import the new one`;
  return new EngineError("OPTION_INVALID", message, { cause });
}

function headerProblem(value: unknown): string | undefined {
  const { kind, format, version, shards, owner, released } = fieldsOf(value);
  if (kind !== ("header" satisfies Header["kind"]) || format !== formatName) {
    return `does not say that this is a ${formatName}`;
  }
  if (version !== formatVersion) {
    return `says format version ${String(version)}, and this program reads version ${formatVersion}`;
  }
  const isWhole = typeof shards === "number" && typeof owner === "string" && typeof released === "boolean";
  return isWhole ? undefined : "is not a complete header";
}

function lineProblem(value: unknown): string | undefined {
  const { kind, rows, sha256 } = fieldsOf(value);
  if (kind === ("end" satisfies End["kind"])) {
    return typeof rows === "object" && rows !== null ? undefined : "is not a complete end";
  }
  if (kind === ("closed" satisfies Closed["kind"])) {
    return typeof sha256 === "string" ? undefined : "is not a complete end of an instance";
  }
  if (!(rowKinds as unknown[]).includes(kind)) return `has an unknown kind`;
  if (!Array.isArray(rows)) return `has no list of ${String(kind)}`;
  const isOne = kind === ("unfinished" satisfies RowsLine["kind"]) || kind === "finished";
  if (isOne && rows.length !== 1) return "does not hold one instance";
  for (const row of rows as unknown[]) {
    const problem = misshapen(kind as RowKind, row);
    if (problem !== undefined) return problem;
  }
  return undefined;
}

function fieldsOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
}
