import { EngineError } from "../base/error.ts";
import type { ClusterView, Store } from "../stores/store.ts";

/** Reads the members and shards: the heartbeat of an unknown member changes nothing. */
export async function viewOf(store: Store): Promise<ClusterView> {
  return await store.heartbeat("");
}

/** `STORE_LOCKED` while members are registered. For an embedded store, the lock on its file excludes others. */
export function refuseLiving({ members }: ClusterView, what: string): void {
  if (members.length === 0) return;
  const names = members.map(({ id }) => id).join(", ");
  throw new EngineError(
    "STORE_LOCKED",
    `the store cannot be ${what} while engines run on it (${names}); stop them first, or, if they were killed, start one engine on it, which removes them after 40 seconds, and stop it`,
  );
}
