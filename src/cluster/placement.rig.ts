import { ownersOf } from "./placement.ts";

/** The member that one shard belongs to. */
export function ownerOf(shard: number, members: Iterable<string>): string | undefined {
  return ownersOf(shard + 1, members)[shard];
}
