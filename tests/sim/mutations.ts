import type { Clock } from "../../src/base/clock.ts";
import type { Bus } from "../../src/cluster/bus.ts";
import { Lease } from "../../src/cluster/lease.ts";
import type { Care } from "../../src/dispatch/attempt.ts";
import { Dispatcher } from "../../src/dispatch/dispatcher.ts";
import { DomainPool } from "../../src/dispatch/domain-pool.ts";
import type { Batch, Store } from "../../src/stores/store.ts";

/**
 * A bug put in on purpose, to see whether the simulator finds it. It changes what an engine is given, or, while it is
 * installed, a class of the engine itself.
 */
export interface Mutation {
  readonly name: string;
  /** What is wrong, in a sentence. */
  readonly about: string;
  /** It makes no difference to a process alone. */
  readonly needsCluster?: true;
  readonly store?: (store: Store) => Store;
  readonly bus?: (bus: Bus) => Bus;
  readonly clock?: (clock: Clock) => Clock;
  /** Gives back how to take it out again. */
  readonly install?: () => () => void;
}

export const mutations: readonly Mutation[] = [
  {
    name: "hasty-store",
    about: "A commit is answered when it is sent, not when it is durable.",
    store: (store) => changed(store, { commit: (batch) => hasten(store, batch) }),
  },
  {
    name: "lost-letters",
    about: "Letters that were not read before a restart are not read after it.",
    store: (store) => changed(store, { loadLetters: async () => [] }),
  },
  {
    name: "fast-clock",
    about: "Timers fire after half their time.",
    clock: (clock) => ({
      now: () => clock.now(),
      monotonic: () => clock.monotonic(),
      soon: (callback) => clock.soon(callback),
      after: (delayMs, callback) => clock.after(delayMs / 2, callback),
    }),
  },
  {
    name: "endless-domains",
    about: "A domain is never full.",
    install: withoutQuota,
  },
  {
    name: "deaf-dispatcher",
    about: "What is told to stop goes on.",
    install: () => redefined(Dispatcher.prototype, "abort", { value: () => undefined }),
  },
  {
    name: "endless-lease",
    about: "A member trusts its lease for ever.",
    needsCluster: true,
    install: () => redefined(Lease.prototype, "isValid", { get: () => true }),
  },
  {
    name: "forgotten-requests",
    about: "Nobody knows what was carried out before.",
    needsCluster: true,
    store: (store) => changed(store, { findRequest: async () => undefined }),
  },
  {
    name: "rash-removal",
    about: "A member is removed even if it has given a sign of life since.",
    needsCluster: true,
    store: (store) => changed(store, { removeMember: (member) => store.removeMember(member) }),
  },
];

export function findMutation(name: string): Mutation {
  const found = mutations.find((mutation) => mutation.name === name);
  if (found !== undefined) return found;
  throw new Error(`no mutation is called ${name}; there are: ${mutations.map(({ name }) => name).join(", ")}`);
}

/** The store, with some of its methods replaced. */
function changed(store: Store, methods: Partial<Store>): Store {
  return new Proxy(store, {
    get(target, name) {
      const own: unknown = Reflect.get(methods, name);
      if (own !== undefined) return own;
      const value: unknown = Reflect.get(target, name);
      return typeof value === "function" ? (value.bind(target) as unknown) : value;
    },
  });
}

/** That it fails is told to nobody: this is the bug. */
async function hasten(store: Store, batch: Batch): Promise<void> {
  store.commit(batch).catch(() => undefined);
}

/** Asks the pool as if it had slots without end. */
function withoutQuota(): () => void {
  const asked = Object.getOwnPropertyDescriptor(DomainPool.prototype, "hasNext")?.value as (care: Care) => boolean;
  const value = function (this: DomainPool, care: Care): boolean {
    const { quota } = this;
    this.quota = Infinity;
    try {
      return asked.call(this, care);
    } finally {
      this.quota = quota;
    }
  };
  return redefined(DomainPool.prototype, "hasNext", { value });
}

/** Gives back how to restore it. */
function redefined(prototype: object, name: string, change: PropertyDescriptor): () => void {
  const before = Object.getOwnPropertyDescriptor(prototype, name);
  if (before === undefined) throw new Error(`there is no ${name} to change`);
  Object.defineProperty(prototype, name, { configurable: true, ...change });
  return () => Object.defineProperty(prototype, name, before);
}
