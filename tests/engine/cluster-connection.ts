import { EngineError } from "../../src/base/error.ts";
import type { Store } from "../../src/index.ts";

/** How a connection treats what is asked of it. */
type State = "up" | "failing" | "hanging" | "mute" | "dead";

/**
 * One member's connection to the store, in the hands of the test. Opening and closing always succeed: they are this end's
 * own affair.
 */
export class Connection {
  readonly store: Store;
  /** While it says so of a method, that one goes through whatever is the matter with the others. */
  spares: (method: string) => boolean = () => false;
  #state: State = "up";
  #mended = Promise.withResolvers<void>();

  constructor(inner: Store) {
    this.store = new Proxy(inner, {
      get: (target, name) => {
        const value: unknown = Reflect.get(target, name);
        if (typeof value !== "function") return value;
        const method = value as (...args: unknown[]) => unknown;
        return (...args: unknown[]) => this.#pass(String(name), () => method.apply(target, args));
      },
    });
  }

  /** From now on every call fails at once. */
  fail(): void {
    this.#state = "failing";
  }

  /** From now on every call waits, and reaches the store late: when the connection is mended. */
  hang(): void {
    this.#state = "hanging";
  }

  /** From now on every call reaches the store, and is not answered. */
  mute(): void {
    this.#state = "mute";
  }

  /** For ever: the process is gone, and what it had not sent yet is gone with it. */
  die(): void {
    this.#state = "dead";
  }

  mend(): void {
    if (this.#state === "dead") return;
    this.#state = "up";
    this.#mended.resolve();
    this.#mended = Promise.withResolvers();
  }

  async #pass(method: string, call: () => unknown): Promise<unknown> {
    if (method === "open" || method === "close" || this.spares(method)) return await call();
    if (this.#state === "dead") return await new Promise<never>(() => undefined);
    while (this.#state === "hanging") await this.#mended.promise;
    if (this.#state === "failing") throw new EngineError("STORE_UNAVAILABLE", "the database does not answer");
    const answer = await call();
    if (this.#state === "mute") await this.#mended.promise;
    return answer;
  }
}
