import { readdirSync, readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import type { DatabaseServer } from "../../scripts/servers/postgres-server.ts";
import { execute } from "./databases.ts";

/** The server stands still, with all its processes, and its clients wait. Gives back how to let it go on. */
export function freeze({ process: server }: DatabaseServer): () => void {
  const { pid } = server;
  // First the one that would start others.
  process.kill(pid, "SIGSTOP");
  const pids = [pid, ...childrenOf(pid)];
  signal(pids, "SIGSTOP");
  return () => signal(pids, "SIGCONT");
}

/** From one moment to the next all of it is gone, as if its machine had lost power; what it had synced stays. */
export async function crash(server: DatabaseServer): Promise<void> {
  const children = childrenOf(server.process.pid);
  const killed = server.process.kill();
  signal(children, "SIGKILL");
  await killed;
  // The next one finds what they share in use until the last of them is gone.
  while (children.some(isRunning)) await sleep(5);
}

/** Ends everybody's session with the database, whatever it is doing. */
export async function endSessions(url: string): Promise<number> {
  if (url.startsWith("postgres")) {
    const ended = await execute(
      url,
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
       WHERE datname = current_database() AND pid <> pg_backend_pid()`,
    );
    return ended.length;
  }
  const sessions = (await execute(
    url,
    "SELECT id FROM information_schema.processlist WHERE db = database() AND id <> connection_id()",
  )) as { id: number }[];
  // One that ended by itself meanwhile cannot be ended.
  for (const { id } of sessions) await execute(url, `KILL ${id}`).catch(() => undefined);
  return sessions.length;
}

/** A server of several processes has them all as children of the first. */
function childrenOf(parent: number): number[] {
  return readdirSync("/proc").flatMap((name) => {
    const pid = Number(name);
    return pid > 0 && parentOf(pid) === parent ? [pid] : [];
  });
}

function parentOf(pid: number): number | undefined {
  return factsOf(pid)?.parent;
}

/** Dead processes have no parts any more, also while nobody has taken notice of their end. */
function isRunning(pid: number): boolean {
  const facts = factsOf(pid);
  return facts !== undefined && facts.state !== "Z";
}

function factsOf(pid: number): { state: string; parent: number } | undefined {
  try {
    // The name of the program, in brackets, may hold anything.
    const [state = "", parent] = readFileSync(`/proc/${pid}/stat`, "utf8").replace(/^.*\)/s, "").trim().split(" ");
    return { state, parent: Number(parent) };
  } catch {
    // It ended while we looked.
    return undefined;
  }
}

function signal(pids: readonly number[], name: NodeJS.Signals): void {
  for (const pid of pids) {
    try {
      process.kill(pid, name);
    } catch (error) {
      // It ended by itself meanwhile.
      if (!(error instanceof Error && "code" in error && error.code === "ESRCH")) throw error;
    }
  }
}
