import { storage as storeAt } from "../../src/storage.ts";

/** Makes the tables of a database on a server and claims these shards in it, as an engine does when it starts. */
export async function ownShards(address: string, shards: Iterable<number>): Promise<void> {
  const store = await storeAt(address);
  const owner = "the bare ceiling";
  await store.open();
  await store.join({ id: owner, address: "" });
  for (const shard of shards) await store.claimShard(shard, owner);
  await store.close();
}
