import { spawnSync } from "node:child_process";
import { join } from "node:path";

export const root = join(import.meta.dirname, "..");

/** Runs a program at the root, its output passed on; true if it ended well. */
export function run(program: string, args: readonly string[], env: NodeJS.ProcessEnv = process.env): boolean {
  const ended = spawnSync(program, args, {
    cwd: root,
    env,
    stdio: "inherit",
    shell: process.platform === "win32" && program !== process.execPath,
  });
  if (ended.error !== undefined) throw ended.error;
  return ended.status === 0;
}
