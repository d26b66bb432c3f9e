import type { Store } from "../stores/store.ts";
import type { StoreMetrics, StoreOperation } from "./store-metrics.ts";

type Method = (...parameters: unknown[]) => unknown;

/** Wraps a store: every call is timed and counted under the name of its method. */
export function observedStore(store: Store, metrics: StoreMetrics): Store {
  const observed = {};
  for (const [name, { value }] of membersOf(store)) {
    const property =
      typeof value === "function"
        ? { value: withTiming(store, value as Method, metrics.operation(name)) }
        : { get: () => store[name as keyof Store] };
    Object.defineProperty(observed, name, { ...property, enumerable: true });
  }
  return observed as Store;
}

/** Own properties and those of the prototypes, the nearest first. */
function membersOf(store: object): Map<string, PropertyDescriptor> {
  const members = new Map<string, PropertyDescriptor>();
  for (let owner: object | null = store; owner !== null && owner !== Object.prototype;) {
    for (const [name, descriptor] of Object.entries(Object.getOwnPropertyDescriptors(owner))) {
      if (name !== "constructor" && !members.has(name)) members.set(name, descriptor);
    }
    owner = Object.getPrototypeOf(owner) as object | null;
  }
  return members;
}

/** Returns the store's own promise, so that the caller waits no longer. */
function withTiming(store: Store, method: Method, operation: StoreOperation): Method {
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
