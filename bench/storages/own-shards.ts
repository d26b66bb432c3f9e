import { storage as storeAt } from "../../src/storage.ts";

/**
 * Makes the tables of a database on a server and claims these shards in it, as an engine does when it starts. Returns the
 * epochs of the claims by shard.
 */
export async function ownShards(address: string, shards: Iterable<number>): Promise<Map<number, number>> {
  const store = await storeAt(address);
  const owner = "the bare ceiling";
  await store.open();
  await store.join({ id: owner, address: "" });
  const epochs = new Map<number, number>();
  for (const shard of shards) epochs.set(shard, (await store.claimShard(shard, owner))?.epoch ?? 0);
  await store.close();
  return epochs;
}
