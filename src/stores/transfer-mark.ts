import { EngineError } from "../base/error.ts";
import type { ShardRow } from "./store.ts";

/** No member and no engine has a slash in its name. */
const importing = "import/";

/** As whom an import owns the shards that it writes. */
export function importerName(id: string): string {
  return `${importing}${id}`;
}

export function isImporter(owner: string): boolean {
  return owner.startsWith(importing);
}

/** The import that owns the shard has not given it up. */
export function isBeingImported({ owner, released }: ShardRow): boolean {
  return !released && isImporter(owner);
}

/**
 * An import into the store is under way, or was broken off: what is there is not all of it. An import gives up all its
 * shards in one commit, the last one.
 */
export function isHalfImported(shards: readonly ShardRow[]): boolean {
  return shards.some(isBeingImported);
}

/** `STORE_LOCKED`. */
export function refuseHalfImported(shards: readonly ShardRow[]): void {
  if (!isHalfImported(shards)) return;
  throw new EngineError(
    "STORE_LOCKED",
    "the store cannot be used, because an import into it is under way or was interrupted; wait for it, or repeat it",
  );
}
