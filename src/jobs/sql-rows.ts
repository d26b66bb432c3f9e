/** Collects the first rows of a result as JSON, and counts the others. */
export class SqlRows {
  readonly #rowsMax: number;
  readonly #bytesMax: number;
  readonly rows: Record<string, unknown>[] = [];
  #bytes = 0;
  count = 0;

  constructor({ rowsMax, bytesMax }: { rowsMax: number; bytesMax: number }) {
    this.#rowsMax = rowsMax;
    this.#bytesMax = bytesMax;
  }

  add(row: object): void {
    this.count++;
    if (this.rows.length < this.count - 1 || this.rows.length >= this.#rowsMax) return;
    const plain = Object.fromEntries(Object.entries(row).map(([name, value]) => [name, plainOf(value)]));
    this.#bytes += JSON.stringify(plain).length;
    if (this.#bytes <= this.#bytesMax) this.rows.push(plain);
  }
}

/** Large numbers are text, because JSON has no others; times are ISO text, bytes base64. */
function plainOf(value: unknown): unknown {
  if (typeof value === "bigint") return Number.isSafeInteger(Number(value)) ? Number(value) : String(value);
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? null : value.toISOString();
  if (value instanceof Uint8Array) return Buffer.from(value).toString("base64");
  return value === undefined ? null : value;
}
