import { closeSync, openSync } from "node:fs";

/** Mode of folders that Heddle makes: only their owner may enter them. */
export const privateFolderMode = 0o700;
/** Mode of files with data of users. Windows ignores modes. */
export const privateFileMode = 0o600;

/**
 * Makes an empty file that only its owner may read and write, unless one is there: its permissions stay as they are.
 * A file that is there is not opened: closing it would drop this process's locks on it.
 */
export function ensurePrivateFile(path: string): void {
  try {
    closeSync(openSync(path, "wx", privateFileMode));
  } catch (error) {
    if (!(error instanceof Error && "code" in error && error.code === "EEXIST")) throw error;
  }
}
