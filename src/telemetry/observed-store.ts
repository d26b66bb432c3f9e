import type { Store } from "../stores/store.ts";
import { wrapStore } from "../stores/wrap-store.ts";
import type { StoreMetrics, StoreOperation } from "./store-metrics.ts";

/** Wraps a store: every call is timed and counted under the name of its method. */
export function observedStore(store: Store, metrics: StoreMetrics): Store {
  return wrapStore(store, (name, method) => withTiming(store, method, metrics.operation(name)));
}

/** Returns the store's own promise, so that the caller waits no longer. */
function withTiming<Parameters extends unknown[], Answer>(
  store: Store,
  method: (this: Store, ...parameters: Parameters) => Answer,
  operation: StoreOperation,
): (...parameters: Parameters) => Answer {
  return (...parameters) => {
    const startedAt = operation.begin();
    const end = (): void => operation.end(startedAt);
    const fail = (error: unknown): void => operation.fail(startedAt, error);
    try {
      const answer = method.apply(store, parameters);
      if (answer instanceof Promise) answer.then(end, fail);
      else end();
      return answer;
    } catch (error) {
      fail(error);
      throw error;
    }
  };
}
