/** A call got no answer before its deadline, and its connection was given up. */
export class NoAnswer extends Error {
  constructor(limitMs: number) {
    super(`no answer within ${Math.ceil(limitMs / 1_000)} seconds`);
  }
}

/** The time by which a call has to end, including waiting for a connection and opening it. */
export class Deadline {
  readonly limitMs: number;
  readonly #until: number;

  constructor(limitMs: number) {
    this.limitMs = limitMs;
    this.#until = performance.now() + limitMs;
  }

  /** Remaining time: at least 1, because 0 means no timeout to some clients. */
  get leftMs(): number {
    return Math.max(1, this.#until - performance.now());
  }
}
