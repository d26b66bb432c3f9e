import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** Whatever tells when its tests have ended: a `TestContext`, or `{ after }` of node:test for a whole file or suite. */
export interface Ending {
  after(callback: () => Promise<void> | void): void;
}

/** A new folder that is gone when the test ends. */
export function temporaryFolder(t: Ending): string {
  const folder = mkdtempSync(join(tmpdir(), "heddle-test-"));
  // A process that was killed may still be letting go of its files.
  t.after(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }));
  return folder;
}

/** The path of a new database file in a folder of its own. */
export function temporaryFile(t: Ending): string {
  return join(temporaryFolder(t), "heddle.db");
}
