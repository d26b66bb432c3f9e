import { doneOf, isDone } from "./progress.ts";
import type { Row } from "./progress.ts";

/** What the terminal shows: lines of styled pieces of text. Pure, so that a test can look at it. */
export type Style = "green" | "red" | "yellow" | "cyan" | "dim" | "none";

export interface Piece {
  readonly text: string;
  readonly style: Style;
}

export type Line = readonly Piece[];

export interface FrameOptions {
  readonly now: number;
  /** Of this start, not of the run. */
  readonly elapsedMs: number;
  readonly columns: number;
  /** At most; tasks that find no room are told in a line. */
  readonly lines: number;
  /** By task name. */
  readonly remarks: ReadonlyMap<string, string>;
}

const spinner = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];

/** Tasks, however small the window. */
const roomMin = 8;

export function frame(rows: readonly Row[], options: FrameOptions): Line[] {
  const nameWidth = Math.max(0, ...rows.map(indented).map((name) => name.length));
  const { shown, doneHidden, waitingHidden } = fold(rows, Math.max(roomMin, options.lines - 2));
  const lines: Line[] = [
    ...(doneHidden > 0 ? [[piece(` ✓ ${doneHidden} more done`, "dim")]] : []),
    ...shown.map((row) => rowLine(row, nameWidth, options)),
    ...(waitingHidden > 0 ? [[piece(` · ${waitingHidden} more to come`, "dim")]] : []),
    [],
    barLine(rows, options),
  ];
  return lines.map((line) => cut(line, options.columns - 1));
}

/** What runs is always there; the room that is left goes to what has just ended and to what comes next. */
function fold(
  rows: readonly Row[],
  room: number,
): { shown: readonly Row[]; doneHidden: number; waitingHidden: number } {
  if (rows.length <= room) return { shown: rows, doneHidden: 0, waitingHidden: 0 };
  const active = rows.filter((row) => isActive(row)).slice(0, room - 2);
  const done = rows.filter((row) => isDone(row) && !isActive(row));
  const waiting = rows.filter((row) => !isDone(row) && !isActive(row));
  const left = room - 2 - active.length;
  const waitingCount = Math.min(waiting.length, Math.max(Math.ceil(left / 2), left - done.length));
  const latest = done.toSorted((a, b) => (b.endedAt ?? 0) - (a.endedAt ?? 0)).slice(0, left - waitingCount);
  const visible = new Set([...active, ...latest, ...waiting.slice(0, waitingCount)]);
  return {
    shown: rows.filter((row) => visible.has(row)),
    doneHidden: done.length - latest.length,
    waitingHidden: waiting.length - waitingCount,
  };
}

function isActive({ status, retryAt }: Row): boolean {
  return status === "Running" || status === "Failed" || status === "TimeoutFailed" || retryAt !== undefined;
}

function rowLine(row: Row, nameWidth: number, options: FrameOptions): Line {
  const { style, glyph } = look(row, options.now);
  const quiet = style === "dim" ? "dim" : "none";
  return [
    piece(` ${glyph} `, style),
    piece(indented(row).padEnd(nameWidth), quiet),
    piece(duration(row, options.now).padStart(9), quiet),
    piece(`  ${note(row, options)}`, row.retryAt === undefined && !isFailed(row) ? "dim" : style),
  ];
}

function indented({ name, depth }: Row): string {
  return depth === 0 ? name : `${"  ".repeat(depth - 1)}└ ${name}`;
}

function look(row: Row, now: number): { style: Style; glyph: string } {
  switch (row.status) {
    case "Success":
      return { style: "green", glyph: "✓" };
    case "Running":
      return { style: "cyan", glyph: spinner[Math.floor(now / 100) % spinner.length] ?? "" };
    case "Failed":
    case "TimeoutFailed":
      return { style: "red", glyph: "✗" };
    case "Pending":
      return row.retryAt === undefined ? { style: "dim", glyph: "·" } : { style: "yellow", glyph: "↻" };
    default:
      return { style: "dim", glyph: "–" };
  }
}

function isFailed({ status }: Row): boolean {
  return status === "Failed" || status === "TimeoutFailed";
}

function duration({ status, startedAt, endedAt }: Row, now: number): string {
  if (status === "Pending" || status === "Canceled" || startedAt === undefined) return "";
  return seconds((endedAt ?? now) - startedAt);
}

/** What else there is to say about a task. */
export function note(row: Row, options: Pick<FrameOptions, "now" | "remarks">): string {
  const { status, cause, attempt, failure, retryAt, wait } = row;
  const why = failure === undefined ? "" : `: ${failure.message}`;
  if (retryAt !== undefined) return `attempt ${attempt + 1} in ${seconds(Math.max(0, retryAt - options.now))}${why}`;
  if (isFailed(row)) return `attempt ${attempt}${why}`;
  if (status === "Canceled")
    return cause === "branch" ? "not needed: the decision went the other way" : `not reached (${cause})`;
  if (status === "Pending" && wait !== undefined) return `waits for ${wait.text}`;
  const remark = options.remarks.get(row.name) ?? "";
  return attempt > 1 ? `attempt ${attempt}` : remark;
}

function barLine(rows: readonly Row[], { columns, elapsedMs }: FrameOptions): Line {
  const text = `  ${doneOf(rows)}  ${seconds(elapsedMs)}`;
  const width = Math.max(0, Math.min(40, columns - 3 - text.length));
  const full = Math.round((width * rows.filter(isDone).length) / Math.max(1, rows.length));
  return [piece(` ${"█".repeat(full)}`, "green"), piece("░".repeat(width - full), "dim"), piece(text, "none")];
}

export function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(1)} s`;
}

function piece(text: string, style: Style): Piece {
  return { text, style };
}

/** Every character here takes one column. */
function cut(line: Line, width: number): Line {
  let left = Math.max(1, width);
  const length = line.reduce((sum, { text }) => sum + text.length, 0);
  if (length <= left) return line;
  const pieces: Piece[] = [];
  for (const { text, style } of line) {
    if (text.length >= left) {
      pieces.push(piece(`${text.slice(0, left - 1)}…`, style));
      break;
    }
    pieces.push(piece(text, style));
    left -= text.length;
  }
  return pieces;
}
