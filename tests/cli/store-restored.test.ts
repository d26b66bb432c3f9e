/** `heddle store restored`: what it says, and what it refuses. */
import assert from "node:assert/strict";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { importerName } from "../../src/stores/importer.ts";
import { SqliteStore } from "../../src/stores/sqlite/sqlite-store.ts";
import { devServer, type Ended, heddle } from "./program.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const address = "sqlite:.heddle/heddle.db";

interface Marked {
  readonly incarnationBefore: number;
  readonly incarnation: number | null;
  readonly isDryRun: boolean;
  readonly isHalfImported: boolean;
  readonly shards: number;
}

function restored(folder: string, ...args: string[]): Promise<Ended> {
  return heddle(["store", "restored", ...args], { cwd: folder });
}

async function marked(folder: string, ...args: string[]): Promise<Marked> {
  const { code, stdout, stderr } = await restored(folder, "--json", ...args);
  assert.equal(code, 0, stderr);
  return JSON.parse(stdout) as Marked;
}

/** A folder with a store that a server has used; the server is still running. */
async function used(t: TestContext): Promise<{ folder: string; stop: () => Promise<void> }> {
  const folder = temporaryFolder(t);
  const { running } = await devServer(t, folder);
  const stop = async (): Promise<void> => {
    running.child.kill("SIGTERM");
    assert.equal((await running.ended).code, 0);
  };
  return { folder, stop };
}

test("store restored is refused while a server runs; then it says what it would do, and does it", async (t) => {
  const { folder, stop } = await used(t);
  const refused = await restored(folder, address);
  assert.equal(refused.code, 1, refused.stdout);
  assert.match(refused.stderr, /heddle\.db is in use by process \d+; stop that one first/);
  assert.doesNotMatch(refused.stderr, /^\s+at /m);
  await stop();

  const dry = await restored(folder, "--dry-run", address);
  assert.equal(dry.code, 0, dry.stderr);
  assert.match(dry.stdout, /^Dry run: nothing was changed\. The store, now of incarnation 0, would get a new one\.$/m);
  assert.match(dry.stdout, /^Would raise the epochs of 1 shards/m);
  const again = await marked(folder, "--dry-run", address);
  assert.deepEqual([again.incarnationBefore, again.incarnation, again.isDryRun], [0, null, true]);

  const done = await restored(folder, address);
  assert.equal(done.code, 0, done.stderr);
  const [, incarnation] = /^The store has incarnation (\d+); it was 0\.$/m.exec(done.stdout) ?? [];
  assert.match(done.stdout, /^Raised the epochs of 1 shards/m);
  assert.doesNotMatch(done.stdout, /repeat the import/);
  const next = await marked(folder, address);
  assert.equal(next.incarnationBefore, Number(incarnation));
  assert.ok((next.incarnation ?? 0) > next.incarnationBefore);
  await devServer(t, folder);
});

test("store restored says that an interrupted import has to be repeated, and a server does not start before", async (t) => {
  const folder = temporaryFolder(t);
  mkdirSync(join(folder, ".heddle"));
  const store = new SqliteStore({ file: join(folder, ".heddle/heddle.db") });
  await store.open();
  await store.settleShardCount(1);
  await store.claimShard(0, importerName("i"));
  await store.close();
  const { code, stdout, stderr } = await restored(folder, address);
  assert.equal(code, 0, stderr);
  assert.match(stdout, /^An import into the store was interrupted before the backup: repeat the import\.$/m);
  assert.equal((await marked(folder, address)).isHalfImported, true);
  const server = await heddle(["dev", "--port", "0"], { cwd: folder });
  assert.equal(server.code, 1, server.stdout);
  assert.match(server.stderr, /an import into it is under way or was interrupted; wait for it, or repeat it/);
});

test("store restored makes no store where none is", async (t) => {
  const { code, stderr } = await restored(temporaryFolder(t), "sqlite:none.db");
  assert.equal(code, 1, stderr);
  assert.match(stderr, /there is no database at none\.db, nothing was changed/);
});
