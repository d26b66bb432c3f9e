import { spawnSync } from "node:child_process";
import { join } from "node:path";

export const root = join(import.meta.dirname, "..");

/** Runs a program at the root, its output passed on; true if it ended well, and in time. */
export function run(program: string, args: readonly string[], options: { timeoutMs?: number } = {}): boolean {
  const ended = spawnSync(program, args, {
    cwd: root,
    stdio: "inherit",
    shell: process.platform === "win32" && program !== process.execPath,
    timeout: options.timeoutMs,
  });
  if (ended.error !== undefined && !isTimeout(ended.error)) throw ended.error;
  return ended.status === 0;
}

function isTimeout(error: Error): boolean {
  return "code" in error && error.code === "ETIMEDOUT";
}
