import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const fileName = "address";

/** Writes the URL of `heddle dev` to its data folder, so that commands typed in a project reach the server of that project. */
export function writeAddress(dataFolder: string, url: string): { remove(): void } {
  const file = join(dataFolder, fileName);
  writeFileSync(file, `${url}\n`, { mode: 0o600 });
  return { remove: () => rmSync(file, { force: true }) };
}

/** Reads the server URL from `.heddle` in the working folder, if a server wrote one. */
export function addressHere(): string | undefined {
  try {
    const url = readFileSync(join(".heddle", fileName), "utf8").trim();
    return URL.canParse(url) ? url : undefined;
  } catch {
    // No server has been started in this folder.
    return undefined;
  }
}
