import { styleText } from "node:util";
import type { WriteStream } from "node:tty";
import { frame, note, seconds } from "./frame.ts";
import type { FrameOptions, Line } from "./frame.ts";
import { isDone } from "./progress.ts";
import type { Row } from "./progress.ts";

/** How a run is told: by a picture that changes, or line by line. */
export interface Display {
  show(rows: readonly Row[]): void;
  say(text: string): void;
  /** Leaves the last state of every task to be read. */
  close(): void;
}

interface DisplayOptions {
  readonly out: WriteStream;
  readonly remarks: ReadonlyMap<string, string>;
}

/** Lines where the output is kept or read by a program: a file, a pipe, a build server. */
export function openDisplay(options: DisplayOptions): Display {
  const isScreen = options.out.isTTY && process.env["TERM"] !== "dumb" && !process.env["CI"];
  return isScreen ? new LiveDisplay(options) : new PlainDisplay(options);
}

const redrawMs = 100;

/** Of the screen, left to what was said before the picture. */
const linesAbove = 7;

/** Draws over its last picture. The cursor stays visible below it: nobody gives it back after a kill -9. */
class LiveDisplay implements Display {
  readonly #out: WriteStream;
  readonly #remarks: ReadonlyMap<string, string>;
  readonly #startedAt = Date.now();
  #timer: NodeJS.Timeout | undefined;
  #rows: readonly Row[] = [];
  /** Lengths of the lines that are on the screen. */
  #drawn: readonly number[] = [];

  constructor({ out, remarks }: DisplayOptions) {
    this.#out = out;
    this.#remarks = remarks;
  }

  show(rows: readonly Row[]): void {
    this.#rows = rows;
    this.#timer ??= setInterval(() => this.#draw(this.#frame(this.#out.rows - linesAbove)), redrawMs);
  }

  say(text: string): void {
    this.#draw([]);
    this.#out.write(`${text}\n`);
  }

  close(): void {
    clearInterval(this.#timer);
    this.#draw(this.#frame(Infinity));
    this.#drawn = [];
  }

  #frame(lines: number): Line[] {
    if (this.#rows.length === 0) return [];
    const now = Date.now();
    const { columns } = this.#out;
    const options: FrameOptions = {
      now,
      elapsedMs: now - this.#startedAt,
      columns,
      lines,
      remarks: this.#remarks,
    };
    return [[], ...frame(this.#rows, options)];
  }

  #draw(lines: readonly Line[]): void {
    // A window made narrower has broken the lines of the last picture.
    const height = this.#drawn.reduce((sum, length) => sum + Math.max(1, Math.ceil(length / this.#out.columns)), 0);
    const up = height === 0 ? "" : `\u001B[${height}A`;
    const text = lines.map((line) => `${styled(line, this.#out)}\u001B[K\n`).join("");
    this.#out.write(`\r${up}${text}\u001B[J`);
    this.#drawn = lines.map((line) => line.reduce((sum, piece) => sum + piece.text.length, 0));
  }
}

/** Without colours where they are not wanted: `styleText` asks the stream and NO_COLOR. */
function styled(line: Line, stream: WriteStream): string {
  return line.map(({ text, style }) => (style === "none" ? text : styleText(style, text, { stream }))).join("");
}

class PlainDisplay implements Display {
  readonly #out: WriteStream;
  readonly #remarks: ReadonlyMap<string, string>;
  readonly #startedAt = Date.now();
  #before: ReadonlyMap<string, string> | undefined;

  constructor({ out, remarks }: DisplayOptions) {
    this.#out = out;
    this.#remarks = remarks;
  }

  /** One line for each task that has become something else. What was so at the start is not told. */
  show(rows: readonly Row[]): void {
    const now = Date.now();
    const texts = new Map(rows.map((row) => [row.name, this.#text(row)]));
    for (const [name, text] of texts) {
      if (text !== "" && this.#before !== undefined && this.#before.get(name) !== text) {
        this.say(`${seconds(now - this.#startedAt).padStart(7)}  ${text}`);
      }
    }
    this.#before = texts;
  }

  say(text: string): void {
    this.#out.write(`${text}\n`);
  }

  close(): void {
    // Everything has been said.
  }

  /** The same for as long as nothing happens to the task. */
  #text(row: Row): string {
    const { name, status, attempt, startedAt, endedAt, retryAt, failure } = row;
    if (retryAt !== undefined) {
      return `↻ ${name} failed at attempt ${attempt}, is tried again at ${clockTime(retryAt)}: ${failure?.message ?? ""}`;
    }
    if (status === "Pending") return "";
    if (status === "Running") return `▶ ${name}${attempt > 1 ? `, attempt ${attempt}` : ""}`;
    if (!isDone(row)) return "";
    const glyph = status === "Success" ? "✓" : status === "Failed" || status === "TimeoutFailed" ? "✗" : "–";
    const spent = startedAt === undefined || endedAt === undefined ? "" : ` (${seconds(endedAt - startedAt)})`;
    const remark = note(row, { now: 0, remarks: this.#remarks });
    return `${glyph} ${name}${status === "Canceled" ? "" : spent}${remark === "" ? "" : `, ${remark}`}`;
  }
}

function clockTime(at: number): string {
  return new Date(at).toTimeString().slice(0, 8);
}
