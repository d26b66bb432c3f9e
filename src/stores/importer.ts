import { EngineError } from "../base/error.ts";
import type { ShardRow } from "./store.ts";

/** Prefix of importers' names: names of members and engines have no slash. */
const importing = "import/";

/** Name under which an import owns the shards that it writes. */
export function importerName(id: string): string {
  return `${importing}${id}`;
}

export function isImporter(owner: string): boolean {
  return owner.startsWith(importing);
}

/** Returns whether an import owns the shard and has not released it. */
export function isBeingImported({ owner, released }: ShardRow): boolean {
  return !released && isImporter(owner);
}

/**
 * Returns whether an import into the store is under way or was interrupted, so that the store is incomplete. An import
 * releases all its shards in one commit, the last one.
 */
export function isHalfImported(shards: readonly ShardRow[]): boolean {
  return shards.some(isBeingImported);
}

/** `STORE_LOCKED` if the store is half imported. */
export function refuseHalfImported(shards: readonly ShardRow[]): void {
  if (!isHalfImported(shards)) return;
  throw new EngineError(
    "STORE_LOCKED",
    "the store cannot be used, because an import into it is under way or was interrupted; wait for it, or repeat it",
  );
}
