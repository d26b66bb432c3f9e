import { statusColour } from "./colour.ts";
import type { Output } from "./output.ts";
import { type Notice, noticeText } from "./notices.ts";
import type { NodeRow } from "./progress.ts";
import { cut, oneLine } from "./table.ts";
import { progressText } from "./progress-text.ts";
import { durationText, timeText } from "./time-text.ts";

/** Shows the progress of an instance. */
export interface ProgressDisplay {
  onChange(row: NodeRow): void;
  /** Called whenever the list of notices has changed; a notice says why the instance makes no progress. */
  notice(notices: readonly Notice[]): void;
  /** Called on every redraw, because durations grow. */
  show(rows: readonly NodeRow[]): void;
  close(rows: readonly NodeRow[]): void;
}

export function displayFor(output: Output): ProgressDisplay {
  if (output.isJson) return silent;
  return output.isTerminal ? new TerminalDisplay(output) : new LineDisplay();
}

const ignore = (): void => undefined;
const silent: ProgressDisplay = { onChange: ignore, notice: ignore, show: ignore, close: ignore };

/** Prints one line per change, for output that is not a terminal. */
class LineDisplay implements ProgressDisplay {
  onChange(row: NodeRow): void {
    if (row.status === "Pending" && row.retryAt === undefined) return;
    process.stdout.write(`${timeText(Date.now())} ${oneLine(row.label)} ${statusText(row)}\n`);
  }

  notice(notices: readonly Notice[]): void {
    const now = Date.now();
    for (const notice of notices) process.stdout.write(`${timeText(now)} ${oneLine(noticeText(notice, now))}\n`);
  }

  show(): void {}

  close(): void {}
}

const spinner = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];
const marks: Readonly<Record<string, string>> = {
  Success: "✔",
  Failed: "✖",
  TimeoutFailed: "✖",
  Stopped: "■",
  Canceled: "–",
  Skipped: "–",
  Pending: "·",
};

/** Redraws the nodes in place on a terminal. */
class TerminalDisplay implements ProgressDisplay {
  readonly #output: Output;
  #notices: readonly Notice[] = [];
  #drawnLines = 0;
  #frame = 0;

  constructor(output: Output) {
    this.#output = output;
  }

  onChange(): void {}

  notice(notices: readonly Notice[]): void {
    this.#notices = notices;
  }

  show(rows: readonly NodeRow[]): void {
    this.#frame++;
    this.#draw(fitting(rows, Math.max(3, sizeOr(24, process.stdout.rows) - 3 - this.#notices.length)), rows.length);
  }

  close(rows: readonly NodeRow[]): void {
    this.#notices = [];
    this.#draw(rows, rows.length);
  }

  #draw(rows: readonly NodeRow[], total: number): void {
    const lines = rows.map((row) => this.#line(row));
    if (rows.length < total) lines.push(this.#output.colour("grey", `  … and ${total - rows.length} more`));
    for (const notice of this.#notices) lines.push(...this.#noticeLines(notice));
    // Moves the cursor to the first drawn line and redraws everything.
    const up = this.#drawnLines === 0 ? "" : `\u001B[${this.#drawnLines}A`;
    process.stdout.write(`${up}\r\u001B[J${lines.map((line) => `${line}\n`).join("")}`);
    this.#drawnLines = lines.length;
  }

  /** The advice has a line of its own, which is not cut: it is a command to copy. */
  #noticeLines({ advice, ...notice }: Notice): string[] {
    const text = cut(`! ${oneLine(noticeText({ ...notice, advice: undefined }, Date.now()))}`, lineWidth());
    const lines = advice === undefined ? [text] : [text, `  ${oneLine(advice)}`];
    return lines.map((line) => this.#output.colour("yellow", line));
  }

  #line(row: NodeRow): string {
    const { colour } = this.#output;
    const running = spinner[this.#frame % spinner.length] ?? "";
    const mark = row.status === "Running" ? running : (marks[row.status] ?? "?");
    const width = lineWidth() - 2;
    // On a narrow terminal the status matters more than aligned columns.
    const label = oneLine(row.label).padEnd(Math.min(24, Math.floor(width / 2)));
    const text = cut(`${label} ${oneLine(statusText(row))}`, width);
    const isQuiet = row.status === "Pending" || row.status === "Canceled" || row.status === "Skipped";
    return `${colour(statusColour(row.status), mark)} ${isQuiet ? colour("grey", text) : text}`;
  }
}

function lineWidth(): number {
  return sizeOr(80, process.stdout.columns) - 2;
}

/** Falls back to the usual size: a terminal of unknown size reports 0 or nothing. */
function sizeOr(usual: number, reported: number | undefined): number {
  return reported === undefined || reported === 0 ? usual : reported;
}

function statusText(row: NodeRow): string {
  const { status, attempt, startedAt, endedAt, retryAt, error, progress } = row;
  const took = startedAt === undefined ? undefined : (endedAt ?? Date.now()) - startedAt;
  const parts = [status];
  if (took !== undefined && status !== "Pending") parts.push(durationText(Math.max(0, took)));
  if (progress !== undefined) parts.push(progressText(progress));
  if (attempt > 1) parts.push(`attempt ${attempt}`);
  if (status === "Pending" && retryAt !== undefined) parts.push("waits for its next attempt");
  if (error !== undefined && status !== "Success") parts.push(status.endsWith("Failed") ? error : `after: ${error}`);
  return parts.join(", ");
}

/** Chooses the rows that fit: running nodes first, then failed ones, then the rest. Keeps the order of the workflow. */
function fitting(rows: readonly NodeRow[], most: number): readonly NodeRow[] {
  if (rows.length <= most) return rows;
  const chosen = new Set(rows.toSorted((a, b) => rank(a) - rank(b)).slice(0, most));
  return rows.filter((row) => chosen.has(row));
}

function rank({ status }: NodeRow): number {
  return status === "Running" ? 0 : status.endsWith("Failed") ? 1 : status === "Pending" ? 2 : 3;
}
