import { execFileSync } from "node:child_process";
import { mkdtempSync, rmdirSync, rmSync, statfsSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestContext } from "node:test";

/** Lends a file system of two megabytes; skips the test where the system lets nobody mount one. */
export async function withSmallDisk(t: TestContext, use: (disk: string) => Promise<void>): Promise<void> {
  const disk = mkdtempSync(join(tmpdir(), "heddle-disk-"));
  try {
    execFileSync("mount", ["-t", "tmpfs", "-o", "size=2m", "tmpfs", disk], { stdio: "ignore" });
  } catch {
    rmdirSync(disk);
    t.skip("a small file system cannot be mounted here");
    return;
  }
  try {
    await use(disk);
  } finally {
    execFileSync("umount", [disk]);
    rmdirSync(disk);
  }
}

/** Leaves that many bytes free; gives what frees the rest again. */
export function fill(disk: string, bytesLeft: number): () => void {
  const { bavail, bsize } = statfsSync(disk);
  const filler = join(disk, "filler");
  writeFileSync(filler, Buffer.alloc(bavail * bsize - bytesLeft));
  return () => rmSync(filler);
}
