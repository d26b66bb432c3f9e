import { readFileSync, readlinkSync } from "node:fs";

/**
 * What tells one process from all others that ever ran: the boot of the machine, the namespace that its number is of, that
 * number, and when it was started. Undefined where the system does not say (only Linux does).
 */
export function ownStamp(): string | undefined {
  const start = startOf(process.pid);
  const place = placeOf();
  return start === undefined || place === undefined ? undefined : `${place}/${process.pid}/${start.at}`;
}

/** True only if that process ran on this machine, since its last boot, and is there no more. */
export function hasDied(stamp: string): boolean {
  const [boot, space, pid, startedAt] = stamp.split("/");
  if (startedAt === undefined || `${boot}/${space}` !== placeOf()) return false;
  const start = startOf(Number(pid));
  return start === undefined || start.at !== startedAt || start.isZombie;
}

function placeOf(): string | undefined {
  try {
    const boot = readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim();
    const space = /\d+/.exec(readlinkSync("/proc/self/ns/pid"))?.[0] ?? "";
    return `${boot}/${space}`;
  } catch {
    // Another system: nothing is known, and so nobody is taken for dead.
    return undefined;
  }
}

/** Undefined if there is no process of that number. */
function startOf(pid: number): { readonly at: string; readonly isZombie: boolean } | undefined {
  try {
    // The name of the program stands in brackets, and may hold anything.
    const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ").at(-1)?.split(" ") ?? [];
    return { at: fields[19] ?? "", isZombie: fields[0] === "Z" };
  } catch {
    return undefined;
  }
}
