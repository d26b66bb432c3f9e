/** Chance is passed in, so that a run can be repeated exactly. */
export interface Random {
  /** In [0, 1). */
  next(): number;
  /** A new identifier: UUID version 7, so that ids sort by the time they were made. */
  uuid(nowMs: number): string;
}
