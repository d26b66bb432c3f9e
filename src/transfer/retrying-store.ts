import { hasCode } from "../base/error.ts";
import type { Store } from "../stores/store.ts";

const backoffMsFirst = 50;
const backoffMsMax = 5000;

/** Retries take most of a minute in all: enough for a server to restart. */
const triesMax = 15;

/** Wraps a store: calls that fail with `STORE_UNAVAILABLE` are retried with exponential backoff. */
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
