/** What members see of each other's work on real servers while it is under way. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { noChanges } from "../../src/stores/store.ts";
import { finishedRow, instanceRow } from "../contract/store/rows.ts";
import { Owner } from "../contract/store/subject.ts";
import { storeAt } from "./database-stores.ts";
import { newDatabase } from "./databases.ts";

for (const kind of ["postgres", "mysql"] as const) {
  test(`${kind}: an instance that ends and goes on, again and again, is in every list once`, async (t) => {
    const url = await newDatabase(kind, t);
    const [one, other] = [storeAt(kind, url), storeAt(kind, url)];
    t.after(async () => {
      await one.close();
      await other.close();
    });
    await one.open();
    await other.open();
    const owner = await Owner.claim(one);
    await owner.commit({ ...noChanges(), instances: [instanceRow({ key: 1 })] });
    const looking = { isOver: false };
    const busy = (async (): Promise<void> => {
      while (!looking.isOver) {
        await owner.commit({ ...noChanges(), instancesEnded: [1], finished: [finishedRow({ key: 1 })] });
        await owner.commit({ ...noChanges(), finishedReopened: [1], instances: [instanceRow({ key: 1 })] });
      }
    })();
    try {
      for (let look = 0; look < 300; look++) {
        const found = await other.listInstances({ limit: 10 });
        assert.deepEqual(
          found.map(({ key }) => key),
          [1],
          `look ${look}`,
        );
      }
    } finally {
      looking.isOver = true;
      await busy;
    }
  });
}
