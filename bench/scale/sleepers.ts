import { firstKey, shardOfId } from "../../src/stores/instance-key.ts";
import { type HistoryRow, type InstanceRow, noChanges, type Store } from "../../src/stores/store.ts";

/** An instance asleep, as an engine has written it. */
export interface Sleeper {
  readonly instance: InstanceRow;
  readonly history: readonly HistoryRow[];
}

export async function readSleeper(store: Store, id: string, shards: number): Promise<Sleeper> {
  const rows = await store.listUnfinished(shardOfId(id, shards), { after: 0, limit: 1000 });
  const instance = rows.find((row) => row.id === id);
  if (instance === undefined) throw new Error(`instance ${id} is not in the store`);
  return { instance, history: await store.loadHistory([instance.key]) };
}

/** Writes so many copies of the instance, on all shards, while no member runs. */
export async function writeSleepers(
  store: Store,
  { instance, history }: Sleeper,
  { count, shards }: { readonly count: number; readonly shards: number },
): Promise<void> {
  const ids = Array.from({ length: shards }, (): string[] => []);
  for (let number = 0; number < count; number++) {
    const id = `sleeper-${number}`;
    ids[shardOfId(id, shards)]?.push(id);
  }
  for (const [shard, ofShard] of ids.entries()) {
    const claim = await store.claimShard(shard, "writer");
    if (claim === undefined) throw new Error(`shard ${shard} has an owner`);
    const changes = noChanges();
    let key = Math.max(claim.lastKey, firstKey(shard) - 1);
    for (const id of ofShard) {
      key++;
      changes.instances.push({ ...instance, key, id });
      changes.history.push(...history.map((row) => ({ ...row, instance: key })));
    }
    const { epoch, lastBatch } = claim;
    await store.commit({ fences: [{ shard, epoch, number: lastBatch + 1, lastKey: key, released: true }], changes });
  }
}
