import { cpSync, existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { SqliteStore } from "../../src/stores/sqlite/sqlite-store.ts";
import type { Batch, Store } from "../../src/stores/store.ts";
import { exportInstances, importInstances } from "../../src/transfer.ts";
import { checkers } from "../recovery/checkers.ts";
import { gatherEvidence } from "../recovery/evidence.ts";
import { live } from "../recovery/live.ts";
import { checkOutputs } from "../recovery/outputs.ts";
import { type Scenario, workload } from "../recovery/workload.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

/** What a crash leaves: what has been committed, and what has been done. */
export interface Remains {
  readonly databaseFile: string;
  readonly logFile: string;
}

/** Keeps a copy of everything from before some of the commits. */
class CopyingStore extends SqliteStore {
  readonly copies: Remains[] = [];
  readonly #from: Remains;
  readonly #folder: string;
  readonly #commitsApart: number;
  #commits = 0;

  constructor(from: Remains, options: { folder: string; commitsApart: number }) {
    super({ file: from.databaseFile });
    this.#from = from;
    this.#folder = options.folder;
    this.#commitsApart = options.commitsApart;
  }

  override async commit(batch: Batch): Promise<void> {
    if (this.#commits++ % this.#commitsApart === 0) {
      const to = remainsIn(join(this.#folder, String(this.copies.length)));
      for (const ending of ["", "-wal"]) copyFile(`${this.#from.databaseFile}${ending}`, `${to.databaseFile}${ending}`);
      copyFile(this.#from.logFile, to.logFile);
      this.copies.push(to);
    }
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

/** Few, so that most tasks wait for a slot when the crash comes. */
const poolSize = 3;

/** Those that take seconds by themselves. */
const slow = ["late", "timed-task", "timed-instance"];

/** One of each kind of the recovery tests. */
export const scenarios: readonly Scenario[] = workload(1, 21).filter(({ kind }) => !slow.includes(kind));

/** An engine on SQLite that crashes at many moments of the scenarios' lives. */
export async function crashes(t: TestContext, commitsApart: number): Promise<Remains[]> {
  const folder = temporaryFolder(t);
  const original = remainsIn(join(folder, "original"));
  const store = new CopyingStore(original, { folder: join(folder, "copies"), commitsApart });
  await live({ storage: store, logFile: original.logFile, life: 1, scenarios, submitEveryMs: 0, poolSize });
  return store.copies;
}

/** Opens both and closes them again. */
export async function move(from: Store, to: Store): Promise<void> {
  await from.open();
  try {
    await to.open();
    try {
      await importInstances(to, exportInstances(from));
    } finally {
      await to.close();
    }
  } finally {
    await from.close();
  }
}

/**
 * Moves what a crash left to another store, lets it come to its end there, and moves it on, at last into a file. Gives
 * back what is wrong with that.
 */
export async function livedElsewhere(
  { databaseFile, logFile }: Remains,
  [there, ...others]: [Store, ...Store[]],
): Promise<string[]> {
  await move(new SqliteStore({ file: databaseFile }), there);
  await live({ storage: there, logFile, life: 2, scenarios, submitEveryMs: 0, poolSize });
  const back = { databaseFile: `${databaseFile}-back`, logFile };
  let from = there;
  for (const to of [...others, new SqliteStore({ file: back.databaseFile })]) {
    await move(from, to);
    from = to;
  }
  const evidence = await gatherEvidence(back);
  const wrong = Object.values(checkers).flatMap((check) => check(evidence, scenarios));
  return [...wrong, ...(await checkOutputs(back, scenarios))];
}
