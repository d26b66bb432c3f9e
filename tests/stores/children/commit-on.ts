import { SqliteStore } from "../../../src/stores/sqlite/sqlite-store.ts";
import { noChanges } from "../../../src/stores/store.ts";

/** Commits one turn after the other and says the number of each one that was acknowledged, until it is killed. */
const store = new SqliteStore({ file: process.argv[2] ?? "" });
await store.open();
const claim = await store.claimShard(0, "child");
if (!claim) throw new Error("the shard is free, for no member is alive");
const { epoch } = claim;
for (let number = claim.lastBatch + 1; ; number++) {
  const history = Array.from({ length: 20 }, (_, i) => {
    const turn = number * 20 + i;
    return { instance: 1, turn, firstEvent: turn, at: 0, events: "x".repeat(500) };
  });
  const fence = { shard: 0, epoch, number, lastKey: 1, released: false };
  await store.commit({ fences: [fence], changes: { ...noChanges(), history } });
  process.stdout.write(`${number}\n`);
}
