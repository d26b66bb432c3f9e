import type { Result } from "./connection.ts";

/** Around queries that are to see the same moment. */
export const oneMoment = {
  begin: ["SET TRANSACTION ISOLATION LEVEL REPEATABLE READ", "START TRANSACTION READ ONLY"],
  end: ["COMMIT"],
} as const;

interface Asked {
  readonly query: string;
  readonly answer: (result: Result) => void;
  readonly fail: (error: unknown) => void;
}

/**
 * Queries that are asked without waiting in between are one packet, and are answered as of one moment: what goes from
 * one table to another meanwhile is found in one of them.
 */
export class JointRead {
  readonly #send: (...sql: readonly string[]) => Promise<Result[]>;
  #asked: Asked[] = [];

  constructor(send: (...sql: readonly string[]) => Promise<Result[]>) {
    this.#send = send;
  }

  async ask(query: string): Promise<Result> {
    const { promise, resolve, reject } = Promise.withResolvers<Result>();
    this.#asked.push({ query, answer: resolve, fail: reject });
    if (this.#asked.length === 1) queueMicrotask(() => void this.#answer());
    return await promise;
  }

  async #answer(): Promise<void> {
    const asked = this.#asked;
    this.#asked = [];
    try {
      const { begin, end } = oneMoment;
      const results = await this.#send(...begin, ...asked.map(({ query }) => query), ...end);
      for (const [index, { answer }] of asked.entries()) answer(results[begin.length + index] ?? []);
    } catch (error) {
      for (const { fail } of asked) fail(error);
    }
  }
}
