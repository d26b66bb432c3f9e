import { EngineError, type ErrorCode } from "../../src/base/error.ts";
import type { Store } from "../../src/stores/store.ts";
import type { Journal, News } from "./journal.ts";

/** The store, with every commit, claim and renewal written down: before it is sent, and when it is answered. */
export function journaled(store: Store, journal: Journal, now: () => number): Store {
  let calls = 0;
  const noted = async <T>(
    sent: (call: number) => News,
    act: () => Promise<T>,
    answer: (value: T) => object,
  ): Promise<T> => {
    const call = ++calls;
    journal.write(sent(call));
    try {
      const value = await act();
      journal.write({ what: "answer", call, ...answer(value) });
      return value;
    } catch (error) {
      journal.write({ what: "answer", call, code: codeOf(error) });
      throw error;
    }
  };
  const methods: Partial<Store> = {
    commit: (batch) =>
      noted(
        (call) => ({ what: "commit", call, batch }),
        () => store.commit(batch),
        () => ({}),
      ),
    claimShard: (shard, owner) =>
      noted(
        (call) => ({ what: "claim", call, shard, owner }),
        () => store.claimShard(shard, owner),
        (claim) => ({ claim }),
      ),
    heartbeat: async (member, about) => {
      const sentAt = now();
      const view = await store.heartbeat(member, about);
      if (view.members.some(({ id }) => id === member)) journal.write({ what: "renewal", member, sentAt });
      return view;
    },
  };
  return new Proxy(store, {
    get: (target, name) => {
      const replaced: unknown = Reflect.get(methods, name);
      const own: unknown = replaced ?? Reflect.get(target, name, target);
      return typeof own === "function" ? (own.bind(target) as unknown) : own;
    },
  });
}

function codeOf(error: unknown): ErrorCode {
  if (error instanceof EngineError) return error.code;
  throw new Error("the store gives an error that is not of its contract", { cause: error });
}
