import { readFileSync, readlinkSync } from "node:fs";

/**
 * Process table of this machine's operating system. An interface, so that tests and the simulator can give one that
 * fails or answers with errors at any step (engine part `processTable`). Methods throw errors with a `code`, as Node's
 * own do.
 */
export interface ProcessTable {
  /** The number of the process that asks. */
  readonly ownPid: number;
  /** Sends signal 0. Throws `ESRCH` if this process's namespace has no process of that number. */
  probe(pid: number): void;
  /** Reads a file below `/proc`. */
  readFile(path: string): string;
  /** Reads a symbolic link below `/proc`. */
  readLink(path: string): string;
}

export const systemProcessTable: ProcessTable = {
  ownPid: process.pid,
  probe: (pid) => void process.kill(pid, 0),
  readFile: (path) => readFileSync(path, "utf8"),
  readLink: (path) => readlinkSync(path),
};
