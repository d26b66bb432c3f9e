import { type ChildProcess, spawn } from "node:child_process";

/**
 * The process groups that this process has started and that still run. A module variable, because a process has one end:
 * all groups are killed with it.
 */
const groups = new Set<number>();

/** Kills the groups of a process that was killed itself: a shell that reads the current list, and ends with its input. */
let guard: ChildProcess | undefined;

const guardScript = `
  last=
  while read -r line; do last=$line; done
  for group in $last; do kill -s KILL -- "-$group" 2>/dev/null; done`;

/** Kills the group when this process ends, however it ends, unless the returned function is called before. */
export function killWithThisProcess(group: number): () => void {
  if (groups.size === 0) process.once("exit", killGroups);
  groups.add(group);
  tellGuard();
  return () => {
    if (!groups.delete(group)) return;
    if (groups.size === 0) process.removeListener("exit", killGroups);
    tellGuard();
  };
}

/** A guard that cannot be started, or is gone, leaves the end of the process to `killGroups` alone. */
function tellGuard(): void {
  if (process.platform === "win32") return;
  if (guard === undefined && groups.size > 0) guard = startGuard();
  guard?.stdin?.write(`${[...groups].join(" ")}\n`);
}

function startGuard(): ChildProcess {
  // A session of its own: a signal from the terminal must not end it before this process.
  const started = spawn("/bin/sh", ["-c", guardScript], { detached: true, stdio: ["pipe", "ignore", "ignore"] });
  const onGone = (): void => {
    if (guard === started) guard = undefined;
  };
  started.on("error", onGone).on("exit", onGone);
  started.stdin.on("error", onGone);
  // It must not keep this process alive.
  started.unref();
  (started.stdin as typeof started.stdin & { unref(): void }).unref();
  return started;
}

function killGroups(): void {
  for (const group of groups) {
    try {
      process.kill(-group, "SIGKILL");
    } catch {
      // It has ended by itself.
    }
  }
}
