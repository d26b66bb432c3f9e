import { type ProcessTable, systemProcessTable } from "./process-table.ts";

/** Identity and liveness of processes on this machine. */
export interface ThisMachine {
  /**
   * Identifies this process among all that ever ran: the boot of the machine, the namespaces that its number and its
   * start time belong to, that number, and the start time. Undefined where the system does not say (only Linux does).
   */
  readonly stamp: string | undefined;
  /**
   * True only with a proof that this process has ended: it ran on this machine, since its last boot, in this pid
   * namespace, and either the kernel knows no process of its number (`ESRCH`), or that number belongs to a process with
   * another start time, or it is a zombie. Every error other than `ESRCH` means that nothing is known: without file
   * descriptors, without permission, or with a `/proc` that hides the processes of other users (`hidepid`), nobody is
   * taken for dead.
   */
  readonly hasDied: (stamp: string) => boolean;
}

const nothingKnown: ThisMachine = { stamp: undefined, hasDied: () => false };

export function thisMachine(table: ProcessTable = systemProcessTable): ThisMachine {
  const place = placeOf(table);
  const own = startOf(table.ownPid, table);
  if (place === undefined || own === undefined) return nothingKnown;
  return {
    stamp: `${place}/${table.ownPid}/${own.at}`,
    hasDied: (stamp) => {
      const parts = stamp.split("/");
      const [boot, space, pid = "", startedAt = ""] = parts;
      if (parts.length !== 4 || `${boot}/${space}` !== place || !isPid(pid) || !isNumber(startedAt)) return false;
      if (isAbsent(Number(pid), table)) return true;
      const start = startOf(Number(pid), table);
      return start !== undefined && (start.at !== startedAt || start.isZombie);
    },
  };
}

/** Undefined if the system does not say it, or if `/proc` belongs to another pid namespace than this process. */
function placeOf(table: ProcessTable): string | undefined {
  try {
    if (table.readLink("/proc/self") !== String(table.ownPid)) return undefined;
    const boot = table.readFile("/proc/sys/kernel/random/boot_id").trim();
    const pidSpace = namespaceOf("pid", table);
    if (!/^[0-9a-f-]{36}$/.test(boot) || pidSpace === undefined) return undefined;
    return `${boot}/${pidSpace}${timeSpaceOf(table)}`;
  } catch {
    return undefined;
  }
}

/** A start time is counted on the clock of the reader's time namespace. Kernels before 5.6 have only one. */
function timeSpaceOf(table: ProcessTable): string {
  try {
    const space = namespaceOf("time", table);
    return space === undefined ? "" : `-${space}`;
  } catch (error) {
    if (codeOf(error) === "ENOENT") return "";
    throw error;
  }
}

function namespaceOf(kind: "pid" | "time", table: ProcessTable): string | undefined {
  return /\[(\d+)\]/.exec(table.readLink(`/proc/self/ns/${kind}`))?.[1];
}

/** Signal 0 needs no file descriptor and no permission, and `hidepid` does not hide from it. */
function isAbsent(pid: number, table: ProcessTable): boolean {
  try {
    table.probe(pid);
    return false;
  } catch (error) {
    return codeOf(error) === "ESRCH";
  }
}

/** Undefined if it cannot be read, for whatever reason. */
function startOf(pid: number, table: ProcessTable): { readonly at: string; readonly isZombie: boolean } | undefined {
  let text: string;
  try {
    text = table.readFile(`/proc/${pid}/stat`);
  } catch {
    return undefined;
  }
  // The name of the program stands in brackets, and may hold anything.
  const fields = text.slice(text.lastIndexOf(") ") + 2).split(" ");
  const [state = "", at = "", next] = [fields[0], fields[19], fields[20]];
  // A text that was cut off could hold the beginning of a number.
  if (!/^[A-Za-z]$/.test(state) || !isNumber(at) || next === undefined) return undefined;
  return { at, isZombie: state === "Z" || state === "X" };
}

function isPid(text: string): boolean {
  return isNumber(text) && Number(text) > 0 && Number(text) <= 0x7fffffff;
}

function isNumber(text: string): boolean {
  return /^\d+$/.test(text);
}

function codeOf(error: unknown): unknown {
  return error instanceof Error && "code" in error ? error.code : undefined;
}
