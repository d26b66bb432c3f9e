import { readFileSync, readlinkSync } from "node:fs";

/** What is known of the processes on this machine. */
export interface ThisMachine {
  /**
   * What tells this process from all others that ever ran: the boot of the machine, the namespace that its number is of,
   * that number, and when it was started. Undefined where the system does not say (only Linux does).
   */
  readonly stamp: string | undefined;
  /** True only if that process ran on this machine, since its last boot, and is there no more. */
  readonly hasDied: (stamp: string) => boolean;
}

export function thisMachine(): ThisMachine {
  const place = placeOf();
  const own = startOf(process.pid);
  if (place === undefined || own === undefined) return { stamp: undefined, hasDied: () => false };
  return {
    stamp: `${place}/${process.pid}/${own.at}`,
    hasDied: (stamp) => {
      const [boot, space, pid, startedAt] = stamp.split("/");
      if (startedAt === undefined || `${boot}/${space}` !== place) return false;
      const start = startOf(Number(pid));
      return start === undefined || start.at !== startedAt || start.isZombie;
    },
  };
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
