import { SqliteStore } from "../../../src/stores/sqlite/sqlite-store.ts";
import { noChanges } from "../../../src/stores/store.ts";

/** Commits one turn after the other and says the number of each one that was acknowledged, until it is killed. */
const store = new SqliteStore({ file: process.argv[2] ?? "" });
await store.open();
const { epoch, batch } = await store.claimShard(0, "child");
for (let number = batch + 1; ; number++) {
  const history = Array.from({ length: 20 }, (_, i) => {
    const turn = number * 20 + i;
    return { instance: 1, turn, firstEvent: turn, at: 0, events: "x".repeat(500) };
  });
  await store.commit({ shard: 0, epoch, number, lastKey: 1, clean: false, changes: { ...noChanges(), history } });
  process.stdout.write(`${number}\n`);
}
