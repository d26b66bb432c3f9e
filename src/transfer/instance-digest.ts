import { createHash, type Hash } from "node:crypto";
import { type Closed, inShape, type PartKind, type RowKind, type Rows } from "./export-line.ts";

const partKinds: readonly PartKind[] = ["history", "payloads"];

/** Hash of an instance with all its rows, however they are divided into lines. */
export class InstanceDigest {
  readonly #row = createHash("sha256");
  readonly #parts = new Map<PartKind, Hash>();
  readonly #counts: Record<PartKind, number> = { history: 0, payloads: 0 };

  constructor(kind: "unfinished" | "finished", row: Rows["unfinished"] | Rows["finished"]) {
    this.#row.update(kind);
    this.#row.update(textOf(kind, row));
  }

  add<Kind extends PartKind>(kind: Kind, rows: readonly Rows[Kind][]): void {
    this.#counts[kind] += rows.length;
    let hash = this.#parts.get(kind);
    if (hash === undefined) this.#parts.set(kind, (hash = createHash("sha256")));
    for (const row of rows) hash.update(textOf(kind, row));
  }

  /** Finishes the hash: it may be called once. */
  close(): Closed {
    for (const kind of partKinds) this.#row.update(`${kind} ${this.#parts.get(kind)?.digest("hex") ?? "none"} `);
    return { kind: "closed", ...this.#counts, sha256: this.#row.digest("hex") };
  }
}

function textOf<Kind extends RowKind>(kind: Kind, row: Rows[Kind]): string {
  return JSON.stringify(Object.values(inShape(kind, row)));
}
