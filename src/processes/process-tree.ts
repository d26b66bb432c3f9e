import type { ChildProcess } from "node:child_process";
import { setTimeout as delay } from "node:timers/promises";
import { findOrphans, findOwnProcesses } from "./process-mark.ts";

/** Kills the processes of an attempt that a worker which was killed has left behind. */
export async function killOrphans(attemptId: string): Promise<void> {
  for (const pid of await findOrphans(attemptId)) signalProcess(pid, "SIGKILL");
}

/**
 * Kills the process group of an attempt's child, and every process that carries its mark (`markOf`). Repeats until none is
 * left: one that is found may have started another meanwhile.
 */
export async function killTree(child: ChildProcess, attemptId: string): Promise<void> {
  signalGroup(child, "SIGKILL");
  for (let round = 0; round < 100; round++) {
    const pids = await findOwnProcesses(attemptId);
    if (pids.length === 0) return;
    for (const pid of pids) signalProcess(pid, "SIGKILL");
    await delay(10);
  }
}

/** The child must be the leader of its group: `detached`. */
export function signalGroup({ pid }: ChildProcess, signal: NodeJS.Signals): void {
  if (pid !== undefined) signalProcess(-pid, signal);
}

function signalProcess(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    // It has ended by itself.
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
}
