import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after } from "node:test";
import { MemoryStore } from "../../src/stores/memory/memory-store.ts";
import { SqliteStore } from "../../src/stores/sqlite/sqlite-store.ts";
import { claimSuite } from "./store/claim.ts";
import { commitSuite } from "./store/commit.ts";
import { definitionsSuite } from "./store/definitions.ts";
import { domainsSuite } from "./store/domains.ts";
import { fencesSuite } from "./store/fences.ts";
import { historySuite } from "./store/history.ts";
import { instancesSuite } from "./store/instances.ts";
import { jobsSuite } from "./store/jobs.ts";
import { leasesSuite } from "./store/leases.ts";
import { lettersSuite } from "./store/letters.ts";
import { listingSuite } from "./store/listing.ts";
import { mailSuite } from "./store/mail.ts";
import { membersSuite } from "./store/members.ts";
import { payloadsSuite } from "./store/payloads.ts";
import { purgeSuite } from "./store/purge.ts";
import { requestsSuite } from "./store/requests.ts";
import { shardCountSuite } from "./store/shard-count.ts";
import type { MakeStore, StoreSuite } from "./store/subject.ts";
import { tasksSuite } from "./store/tasks.ts";
import { textSuite } from "./store/text.ts";

const folder = mkdtempSync(join(tmpdir(), "heddle-contract-"));
after(() => rmSync(folder, { recursive: true }));

let files = 0;

const stores: Record<string, MakeStore> = {
  async MemoryStore() {
    const store = new MemoryStore();
    await store.open();
    const reopen = async () => {
      await store.close();
      await store.open();
      return store;
    };
    const connect = async () => {
      const other = store.connect();
      await other.open();
      return other;
    };
    return { store, reopen, connect };
  },

  async "SqliteStore on a file"() {
    files += 1;
    const file = join(folder, `${files}.db`);
    const store = new SqliteStore({ file });
    await store.open();
    const reopen = async () => {
      await store.close();
      const again = new SqliteStore({ file });
      await again.open();
      return again;
    };
    return { store, reopen, connect: undefined };
  },

  async "SqliteStore in memory"() {
    const store = new SqliteStore({ file: ":memory:" });
    await store.open();
    return { store, reopen: undefined, connect: undefined };
  },
};

const suites: StoreSuite[] = [
  shardCountSuite,
  membersSuite,
  claimSuite,
  leasesSuite,
  commitSuite,
  fencesSuite,
  historySuite,
  instancesSuite,
  listingSuite,
  tasksSuite,
  payloadsSuite,
  lettersSuite,
  requestsSuite,
  mailSuite,
  domainsSuite,
  definitionsSuite,
  jobsSuite,
  purgeSuite,
  textSuite,
];

for (const [name, makeStore] of Object.entries(stores)) {
  for (const suite of suites) suite(name, makeStore);
}
