/** Process groups of running commands. A module variable, because the process has one end: one listener kills all that still run then. */
const groups = new Set<number>();

/** Kills the group when this process exits, unless the returned function is called before. */
export function killAtExit(group: number): () => void {
  if (groups.size === 0) process.once("exit", killGroups);
  groups.add(group);
  return () => {
    groups.delete(group);
    if (groups.size === 0) process.removeListener("exit", killGroups);
  };
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
