import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";

/** A package of its own, so that nobody who installs Heddle gets theirs. */
export const peersFolder = join(import.meta.dirname, "peers");

/** At the first use, as the lock file says, which is left as it is. None of the packages needs a script to be run. */
export function installPeers(): void {
  if (existsSync(join(peersFolder, "node_modules", ".package-lock.json"))) return;
  console.error(`Installing the peers into ${join(peersFolder, "node_modules")}; this is done once.`);
  const args = ["install", "--prefix", peersFolder, "--no-save", "--ignore-scripts", "--no-audit", "--no-fund"];
  const { status } = spawnSync("npm", args, { stdio: ["ignore", "ignore", "inherit"] });
  if (status !== 0) throw new Error(`npm ${args.join(" ")} ended with ${status}`);
}
