import { readFile } from "node:fs/promises";

/** Resident memory of a process and its descendants together, in bytes. Undefined where only Linux could tell, or if it is gone. */
export async function treeMemoryBytes(pid: number): Promise<number | undefined> {
  if (process.platform !== "linux") return undefined;
  const own = await memoryBytes(pid);
  if (own === undefined) return undefined;
  const children = await childrenOf(pid);
  const sizes = await Promise.all(children.map((child) => treeMemoryBytes(child)));
  return sizes.reduce<number>((sum, size) => sum + (size ?? 0), own);
}

async function memoryBytes(pid: number): Promise<number | undefined> {
  const status = await readFile(`/proc/${pid}/status`, "utf8").catch(() => "");
  const [, kilobytes] = /^VmRSS:\s+(\d+) kB$/m.exec(status) ?? [];
  return kilobytes === undefined ? undefined : Number(kilobytes) * 1024;
}

async function childrenOf(pid: number): Promise<number[]> {
  const text = await readFile(`/proc/${pid}/task/${pid}/children`, "utf8").catch(() => "");
  return text.split(" ").filter(Boolean).map(Number);
}
