import { readFileSync } from "node:fs";
import { readdir, readFile } from "node:fs/promises";

/** Variables that every process of a command inherits, and by which it is found again. */
const attemptVariable = "HEDDLE_ATTEMPT_ID";
const workerVariable = "HEDDLE_WORKER_PROCESS";

const isLinux = process.platform === "linux";

/** The environment that marks the processes of an attempt. */
export function markOf(attemptId: string): Record<string, string> {
  return { [attemptVariable]: attemptId, [workerVariable]: processIdentity(process.pid) ?? String(process.pid) };
}

/** Ids of the processes of an attempt that this process has started. Linux alone lets us find those that left their group. */
export async function findOwnProcesses(attemptId: string): Promise<number[]> {
  const own = markOf(attemptId)[workerVariable];
  return (await markedProcesses(attemptId)).filter(({ worker }) => worker === own).map(({ pid }) => pid);
}

/** Ids of the processes of an attempt whose worker is gone: it was killed, and the attempt runs again. */
export async function findOrphans(attemptId: string): Promise<number[]> {
  return (await markedProcesses(attemptId)).filter(({ worker }) => !isAlive(worker)).map(({ pid }) => pid);
}

function isAlive(worker: string): boolean {
  return processIdentity(Number(worker.split(".")[0])) === worker;
}

async function markedProcesses(attemptId: string): Promise<{ pid: number; worker: string }[]> {
  if (!isLinux) return [];
  const pids = (await readdir("/proc")).filter((name) => /^\d+$/.test(name));
  const found = await Promise.all(
    pids.map(async (pid) => {
      // A process may be another user's, or gone by now.
      const text = await readFile(`/proc/${pid}/environ`, "utf8").catch(() => "");
      const variables = text.split("\0");
      const worker = variables.find((each) => each.startsWith(`${workerVariable}=`));
      if (worker === undefined || !variables.includes(`${attemptVariable}=${attemptId}`)) return [];
      return [{ pid: Number(pid), worker: worker.slice(workerVariable.length + 1) }];
    }),
  );
  return found.flat();
}

/** Its id and start time: an id alone is given to another process some day. */
function processIdentity(pid: number): string | undefined {
  if (!isLinux) return undefined;
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    // The name of the program, in parentheses, may hold spaces; the start time is the twentieth field after it.
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    return `${pid}.${fields[19]}`;
  } catch {
    return undefined;
  }
}
