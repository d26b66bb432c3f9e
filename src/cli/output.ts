import { type Colours, coloursFor } from "./colour.ts";
import { type Column, tableText } from "./table.ts";

/** Output of a command: text and tables, or one JSON document with `--json`. */
export class Output {
  readonly isJson: boolean;
  readonly colour: Colours;
  readonly isTerminal: boolean;

  constructor(options: { json?: boolean }) {
    this.isJson = options.json === true;
    this.colour = coloursFor(process.stdout);
    this.isTerminal = process.stdout.isTTY && !this.isJson;
  }

  /** Prints the result: `data` as JSON, or the text of `words`. */
  give(data: unknown, words: () => string): void {
    const text = this.isJson ? JSON.stringify(data, null, 2) : words();
    if (text !== "") process.stdout.write(`${text}\n`);
  }

  /** Prints a list as a table, or `whenEmpty`. */
  list<Row>(rows: readonly Row[], columns: readonly Column<Row>[], whenEmpty: string): void {
    this.give(rows, () => (rows.length === 0 ? whenEmpty : tableText(columns, rows)));
  }

  /** Prints one item of a stream, as one line. */
  line(data: unknown, words: () => string): void {
    process.stdout.write(`${this.isJson ? JSON.stringify(data) : words()}\n`);
  }

  /** Prints a remark for people; nothing with `--json`. */
  say(text: string): void {
    if (!this.isJson) process.stdout.write(`${text}\n`);
  }

  /** Prints to standard error, which programs that parse the output do not read. */
  warn(text: string): void {
    process.stderr.write(`${text}\n`);
  }
}
