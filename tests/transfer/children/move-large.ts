/** Moves far more than fits into its memory from one file to another, by way of a third. */
import { createWriteStream, statSync } from "node:fs";
import { open } from "node:fs/promises";
import { pipeline } from "node:stream/promises";
import { SqliteStore } from "../../../src/stores/sqlite/sqlite-store.ts";
import type { Store } from "../../../src/stores/store.ts";
import { exportInstances, importInstances } from "../../../src/transfer.ts";
import { finishedRow, historyRow, instanceRow } from "../../contract/store/rows.ts";
import { Owner } from "../../contract/store/subject.ts";

const [, , folder = ""] = process.argv;
const instances = 5000;
const turns = 100_000;

/** Many with a large value each, and one with a long history. */
async function fill(store: Store): Promise<void> {
  await store.settleShardCount(1);
  const owner = await Owner.claim(store, 0, "engine");
  const lastKey = instances + 1;
  for (let key = 1; key <= instances; key++) {
    const bytes = 8000;
    const events = JSON.stringify([{ type: "TaskSucceeded", task: 0, attempt: 1, output: { ref: 0, bytes } }]);
    const rows = {
      finished: [finishedRow({ key })],
      history: [historyRow({ instance: key, turn: 0, firstEvent: 0, events })],
      payloads: [{ instance: key, ref: 0, body: JSON.stringify("é".repeat(bytes)) }],
    };
    await owner.commit(rows, { lastKey });
  }
  await owner.commit({ instances: [instanceRow({ key: lastKey })] }, { lastKey });
  for (let first = 0; first < turns; first += 1000) {
    const history = Array.from({ length: 1000 }, (_, place) => historyRow({ instance: lastKey, turn: first + place }));
    await owner.commit({ history }, { lastKey, released: true });
  }
}

const from = new SqliteStore({ file: `${folder}/from.db` });
await from.open();
await fill(from);
const file = `${folder}/lines.jsonl`;
await pipeline(exportInstances(from), createWriteStream(file));
await from.close();
const to = new SqliteStore({ file: `${folder}/to.db` });
await to.open();
const lines = await open(file);
const rows = await importInstances(to, lines.readLines());
await to.close();
const residentBytes = process.resourceUsage().maxRSS * 1024;
process.stdout.write(JSON.stringify({ bytes: statSync(file).size, rows, residentBytes }));
