import { TestClock } from "../../src/testing.ts";

/** A wall clock that can be set. */
export class SetClock extends TestClock {
  aheadMs = 0;

  override now(): number {
    return super.now() + this.aheadMs;
  }
}
