/** A column of a text table. */
export interface Column<Row> {
  readonly title: string;
  readonly text: (row: Row) => string;
  /** Right-aligned, for numbers. */
  readonly right?: boolean;
  readonly paint?: (row: Row, text: string) => string;
}

/** Formats rows as columns, each as wide as its widest cell, two blanks apart. Colours are added last, because they take no width. */
export function tableText<Row>(columns: readonly Column<Row>[], rows: readonly Row[]): string {
  const cells = rows.map((row) => columns.map(({ text }) => oneLine(text(row))));
  const widths = columns.map(({ title }, at) =>
    Math.max(...[title, ...cells.map((row) => row[at] ?? "")].map(widthOf)),
  );
  const line = (texts: readonly string[], row?: Row): string =>
    texts
      .map((text, at) => {
        const column = columns[at];
        const blanks = " ".repeat((widths[at] ?? 0) - widthOf(text));
        const painted = row === undefined || column?.paint === undefined ? text : column.paint(row, text);
        return column?.right === true ? blanks + painted : painted + blanks;
      })
      .join("  ")
      .trimEnd();
  const head = line(columns.map(({ title }) => title.toUpperCase()));
  return [head, ...rows.map((row, at) => line(cells[at] ?? [], row))].join("\n");
}

// oxlint-disable-next-line no-control-regex -- control characters are what is taken out
const control = /[\u0000-\u001F\u007F-\u009F]+/g;

/** Replaces control characters, so that foreign text cannot move the cursor or change the colours of a terminal. */
export function oneLine(text: string): string {
  return text.replaceAll(control, " ");
}

/** The width of a text in terminal cells: East Asian characters and emoji take two. */
export function widthOf(text: string): number {
  let width = 0;
  for (const character of text) {
    if (/\p{Mark}/u.test(character)) continue;
    width +=
      /[\u1100-\u115F\u2E80-\uA4CF\uAC00-\uD7A3\uF900-\uFAFF\uFE30-\uFE6F\uFF00-\uFF60]|\p{Emoji_Presentation}/u.test(
        character,
      )
        ? 2
        : 1;
  }
  return width;
}

/** Cuts a text with an ellipsis if it is wider than that many cells. */
export function cut(text: string, width: number): string {
  if (widthOf(text) <= width) return text;
  let kept = "";
  for (const character of text) {
    if (widthOf(kept + character) >= width) break;
    kept += character;
  }
  return `${kept}…`;
}
