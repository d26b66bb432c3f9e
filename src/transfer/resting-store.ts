import { EngineError } from "../base/error.ts";
import type { ClusterView, Store } from "../stores/store.ts";

/** Nobody's beat: it changes nothing, and shows who there is. */
export async function viewOf(store: Store): Promise<ClusterView> {
  return await store.beat("");
}

/** `STORE_LOCKED` while members are registered. Of an embedded store the lock on its file says that nobody is there. */
export function refuseLiving({ members }: ClusterView, what: string): void {
  if (members.length === 0) return;
  const names = members.map(({ id }) => id).join(", ");
  throw new EngineError(
    "STORE_LOCKED",
    `The store cannot be ${what} while engines run on it (${names}). Stop them first. If they were killed, start one engine on it: it removes them after 40 seconds, and can then be stopped.`,
  );
}
