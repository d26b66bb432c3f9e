import { deepEqual, ok } from "node:assert/strict";
import { cpSync, existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { SqliteStore } from "../../src/stores/sqlite/sqlite-store.ts";
import type { Batch } from "../../src/stores/store.ts";
import { checkers } from "./checkers.ts";
import { gatherEvidence } from "./evidence.ts";
import { live } from "./live.ts";
import { checkOutputs } from "./outputs.ts";
import { workload } from "./workload.ts";
import type { Scenario } from "./workload.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

/** As a crash at that moment would leave them: what has been committed, and what has been done. */
interface Remains {
  readonly databaseFile: string;
  readonly logFile: string;
}

/** Keeps a copy of everything from before each commit. */
class CopyingStore extends SqliteStore {
  readonly copies: Remains[] = [];
  readonly #from: Remains;
  readonly #folder: string;

  constructor(from: Remains, folder: string) {
    super({ file: from.databaseFile });
    this.#from = from;
    this.#folder = folder;
  }

  override async commit(batch: Batch): Promise<void> {
    const to = remainsIn(join(this.#folder, String(this.copies.length)));
    for (const ending of ["", "-wal"]) copyFile(`${this.#from.databaseFile}${ending}`, `${to.databaseFile}${ending}`);
    copyFile(this.#from.logFile, to.logFile);
    this.copies.push(to);
    await super.commit(batch);
  }
}

function remainsIn(folder: string): Remains {
  mkdirSync(folder, { recursive: true });
  return { databaseFile: join(folder, "heddle.db"), logFile: join(folder, "side-effects.log") };
}

function copyFile(from: string, to: string): void {
  if (existsSync(from)) cpSync(from, to);
}

/** Those that would make each recovery take seconds are left to kill.test.ts. */
const slow = ["late", "timed-task", "timed-instance", "limited"];

/** Few, so that most tasks wait for a slot when the crash comes. */
const poolSize = 3;

/** So many recoveries at a time. */
const lanes = 8;

test("a crash before any commit loses nothing and repeats nothing", { timeout: 240_000 }, async (t) => {
  const folder = temporaryFolder(t);
  const scenarios = workload(1, 21).filter(({ kind }) => !slow.includes(kind));
  const original = remainsIn(join(folder, "original"));
  const store = new CopyingStore(original, join(folder, "copies"));
  await live({ storage: store, logFile: original.logFile, life: 1, scenarios, submitEveryMs: 0, poolSize });
  t.diagnostic(`${store.copies.length} commits`);
  ok(store.copies.length > 50, "there were many moments to crash at");
  deepEqual(await recoveredWrong(original, scenarios), [], "without any crash");

  const wrong: string[] = [];
  const moments = store.copies.entries();
  const lane = async (): Promise<void> => {
    for (const [moment, remains] of moments) {
      await live({
        storage: new SqliteStore({ file: remains.databaseFile }),
        logFile: remains.logFile,
        life: 2,
        scenarios,
        submitEveryMs: 0,
        poolSize,
      });
      wrong.push(...(await recoveredWrong(remains, scenarios)).map((each) => `before commit ${moment}: ${each}`));
    }
  };
  await Promise.all(Array.from({ length: lanes }, lane));
  deepEqual(wrong, []);
});

async function recoveredWrong(remains: Remains, scenarios: readonly Scenario[]): Promise<string[]> {
  const evidence = await gatherEvidence(remains);
  const wrong = Object.values(checkers).flatMap((check) => check(evidence, scenarios));
  return [...wrong, ...(await checkOutputs(remains, scenarios))];
}
