import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const fileName = "address";
const folderHere = ".heddle";

/**
 * Writes the URL of a server to its data folder until this process ends, so that commands typed in a project reach the
 * server of that project.
 */
export function leaveAddress(dataFolder: string, url: string): void {
  const file = join(dataFolder, fileName);
  mkdirSync(dataFolder, { recursive: true, mode: 0o700 });
  writeFileSync(file, `${url}\n`, { mode: 0o600 });
  process.once("exit", () => {
    // Another server may have written its own meanwhile.
    if (urlIn(file) === url) rmSync(file, { force: true });
  });
}

/** Reads the server URL from `.heddle` in the working folder, if a server wrote one. */
export function addressHere(): string | undefined {
  return urlIn(join(folderHere, fileName));
}

/** Whether `.heddle` in the working folder holds a database. Without an address, no server runs on it. */
export function isDatabaseHere(): boolean {
  return existsSync(join(folderHere, "heddle.db"));
}

function urlIn(file: string): string | undefined {
  try {
    const url = readFileSync(file, "utf8").trim();
    return URL.canParse(url) ? url : undefined;
  } catch {
    // No server has been started in this folder.
    return undefined;
  }
}
