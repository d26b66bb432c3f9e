/** Source of random numbers, passed in so that a run can be repeated exactly. */
export interface Random {
  /** Returns a number in [0, 1). */
  next(): number;
  /** A new identifier: UUID version 7, so that ids sort by the time they were made. */
  uuid(nowMs: number): string;
}
