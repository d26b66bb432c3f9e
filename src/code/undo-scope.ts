import { messageOf } from "../base/error.ts";

type Handler = () => unknown;

/** Compensation handlers of a stretch of code, run if it does not get to its end: the last one first. */
export class UndoScope {
  #handlers: Handler[] | undefined;

  add(handler: Handler): void {
    (this.#handlers ??= []).push(handler);
  }

  get size(): number {
    return this.#handlers?.length ?? 0;
  }

  /** Runs all undo handlers, even if some fail; returns the messages of those that failed. */
  async undo(): Promise<string[]> {
    const problems: string[] = [];
    for (let handler = this.#handlers?.pop(); handler !== undefined; handler = this.#handlers?.pop()) {
      try {
        await handler();
      } catch (error) {
        problems.push(messageOf(error));
      }
    }
    return problems;
  }
}

/** The error with which the code failed, and the undo handlers that failed after that. */
export class UndoFailed extends Error {
  override readonly name = "UndoFailed";

  constructor(cause: unknown, problems: readonly string[]) {
    super(`${messageOf(cause)}; and not everything could be undone: ${problems.join("; ")}`, { cause });
  }
}
