import { hasCode } from "../base/error.ts";
import type { Store } from "../stores/store.ts";

const backoffMsFirst = 50;
const backoffMsMax = 5000;

/** Most of a minute, all in all: a server that is started anew is back by then. */
const triesMax = 15;

/** The same store, but one that is away for a moment is asked again: hours of work are not lost to a short fault. */
export function withRetries(store: Store): Store {
  return new Proxy(store, {
    get: (target, name) => {
      const value: unknown = Reflect.get(target, name, target);
      if (typeof value !== "function") return value;
      const method = value as (...args: unknown[]) => Promise<unknown>;
      return (...args: unknown[]) => again(() => method.apply(target, args));
    },
  });
}

async function again<T>(work: () => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries++) {
    try {
      return await work();
    } catch (error) {
      if (!hasCode(error, "STORE_UNAVAILABLE") || tries === triesMax) throw error;
      const delayMs = Math.min(backoffMsFirst * 2 ** (tries - 1), backoffMsMax);
      await new Promise((resolve) => setTimeout(resolve, delayMs));
    }
  }
}
