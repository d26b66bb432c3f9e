import { EngineError } from "../base/error.ts";

/** A row of the database does not hold what was written: the file or the table was damaged. */
export class DamagedRow extends EngineError {
  /** Column and row that are damaged. */
  readonly damage: string;

  constructor(damage: string) {
    super("STORE_CORRUPT", `the database is damaged: ${damage}; restore it from a backup`);
    this.damage = damage;
  }
}
