import { type Colours, coloursFor } from "./colour.ts";
import { type Column, tableText } from "./table.ts";

/** Where the program speaks: for people in words and tables, or for programs as one JSON document. */
export class Output {
  readonly isJson: boolean;
  readonly colour: Colours;
  readonly isTerminal: boolean;

  constructor(options: { json?: boolean }) {
    this.isJson = options.json === true;
    this.colour = coloursFor(process.stdout, process.env);
    this.isTerminal = process.stdout.isTTY && !this.isJson;
  }

  /** The answer: all of it for programs, or what `words` makes of it. */
  give(data: unknown, words: () => string): void {
    const text = this.isJson ? JSON.stringify(data, null, 2) : words();
    if (text !== "") process.stdout.write(`${text}\n`);
  }

  /** A list, as a table; or what to do about it where it is empty. */
  list<Row>(rows: readonly Row[], columns: readonly Column<Row>[], whenEmpty: string): void {
    this.give(rows, () => (rows.length === 0 ? whenEmpty : tableText(columns, rows)));
  }

  /** One of several answers, each on a line of its own: what is followed has no end. */
  line(data: unknown, words: () => string): void {
    process.stdout.write(`${this.isJson ? JSON.stringify(data) : words()}\n`);
  }

  /** Beside the answer, for people alone. */
  say(text: string): void {
    if (!this.isJson) process.stdout.write(`${text}\n`);
  }

  /** Never among what is read by programs. */
  warn(text: string): void {
    process.stderr.write(`${text}\n`);
  }
}
