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

/** Reads the lines of an export, and finds out where they are not what was written. */
export class LineReader {
  readonly #hash = createHash("sha256");
  readonly #rows = noRows();
  #lines = 0;
  #isOver = false;

  /** Of the line read last, counted from 1. */
  get number(): number {
    return this.#lines;
  }

  /** Of all lines up to the end. `OPTION_INVALID` if that has not come. */
  get rows(): RowCounts {
    if (this.#isOver) return this.#rows;
    throw refused(`it stops after line ${this.#lines}, without its last line: it was cut off there`);
  }

  /** With or without its line break. `OPTION_INVALID`. */
  read(text: string): Line {
    if (typeof text !== "string")
      throw refused(`what comes after line ${this.#lines} is no text: give it line by line`);
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

  /** Of the line read last. */
  wrong(what: string): EngineError {
    return refused(`line ${this.#lines} ${what}`);
  }

  #parse(text: string): Line {
    const number = this.#lines + 1;
    if (this.#isOver) throw refused(`line ${number} comes after its end`);
    if (text.includes("\n"))
      throw refused(`what comes after line ${number - 1} is several lines: give them one by one`);
    let value: unknown;
    try {
      value = JSON.parse(text);
    } catch (error) {
      throw refused(`line ${number} is no whole line of JSON: it was cut off or altered there`, error);
    }
    const problem = number === 1 ? headerProblem(value) : lineProblem(value);
    if (problem !== undefined) throw refused(`line ${number} ${problem}`);
    return value as Line;
  }

  #checkEnd(end: End, sha256: string): void {
    const lines = this.#lines - 1;
    if (end.lines !== lines) throw this.wrong(`says that ${end.lines} lines come before it, and there are ${lines}`);
    // An export of an earlier program says nothing of a kind that came later.
    const told = { ...noRows(), ...end.rows };
    for (const kind of Object.keys(told)) {
      if (!(kind in this.#rows)) throw this.wrong(`counts rows of ${kind}, which is no kind of rows`);
    }
    for (const kind of rowKinds) {
      if (told[kind] === this.#rows[kind]) continue;
      throw this.wrong(`says that there are ${told[kind]} rows of ${kind}, and there are ${this.#rows[kind]}`);
    }
    if (end.sha256 !== sha256) throw this.wrong("has another hash than the lines before it: one of them was altered");
    this.#isOver = true;
  }
}

function refused(what: string, cause?: unknown): EngineError {
  const message = `The export cannot be imported: ${what}. Export again, and import what that gives.`;
  return new EngineError("OPTION_INVALID", message, { cause });
}

function headerProblem(value: unknown): string | undefined {
  const { kind, format, version, shards, owner, clean } = fieldsOf(value);
  if (kind !== ("header" satisfies Header["kind"]) || format !== formatName) {
    return `does not say that this is a ${formatName}`;
  }
  if (version !== formatVersion) {
    return `says format version ${String(version)}, and this program reads version ${formatVersion}`;
  }
  const isWhole = typeof shards === "number" && typeof owner === "string" && typeof clean === "boolean";
  return isWhole ? undefined : "is no whole header";
}

function lineProblem(value: unknown): string | undefined {
  const { kind, rows, sha256 } = fieldsOf(value);
  if (kind === ("end" satisfies End["kind"])) {
    return typeof rows === "object" && rows !== null ? undefined : "is no whole end";
  }
  if (kind === ("closed" satisfies Closed["kind"])) {
    return typeof sha256 === "string" ? undefined : "is no whole end of an instance";
  }
  if (!(rowKinds as unknown[]).includes(kind)) return `is of no known kind`;
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
