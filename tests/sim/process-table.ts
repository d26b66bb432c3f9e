import type { ProcessTable } from "../../src/cluster/process-table.ts";
import type { SimRandom } from "./sim-random.ts";
import type { LifeRecord } from "./evidence.ts";

const firstPid = 100;

/** The probabilities that reading another process fails, and that reading this one or the machine fails. */
const failureShare = 0.3;
const ownFailureShare = 0.02;

/** Errors that do not prove anything about a process: no file descriptors, no permission, a `/proc` that hides others. */
const errors = ["EMFILE", "EACCES", "ENOENT", "EIO"] as const;

/**
 * The process table that one process sees of the machine which all members of a run share. Signal 0 is always right, as
 * in a kernel; reads below `/proc` may fail or return garbage. The pid of an ended process is free, belongs to a
 * zombie, or was reused.
 */
export class SimProcessTable implements ProcessTable {
  readonly ownPid: number;
  readonly #lives: readonly LifeRecord[];
  readonly #random: SimRandom;
  readonly #isFaulty: boolean;

  constructor(parts: { life: number; lives: readonly LifeRecord[]; random: SimRandom; isFaulty: boolean }) {
    this.ownPid = firstPid + parts.life;
    this.#lives = parts.lives;
    this.#random = parts.random;
    this.#isFaulty = parts.isFaulty;
  }

  probe(pid: number): void {
    if (this.#isFree(pid)) throw failure("ESRCH");
    // The process belongs to another user.
    if (this.#isFaulty && this.#random.isLucky(failureShare)) throw failure("EPERM");
  }

  readFile(path: string): string {
    const pid = Number(/^\/proc\/(\d+)\/stat$/.exec(path)?.[1] ?? this.ownPid);
    this.#mayFail(pid === this.ownPid ? ownFailureShare : failureShare);
    if (path.endsWith("boot_id")) return "01234567-89ab-4def-8123-456789abcdef\n";
    if (this.#isFree(pid)) throw failure("ENOENT");
    if (this.#isFaulty && this.#random.isLucky(failureShare / 3)) return "";
    const hasEnded = this.#hasEnded(pid);
    const state = hasEnded && pid % 3 === 1 ? "Z" : "S";
    const startedAt = hasEnded && pid % 3 === 2 ? pid + 1_000_000 : pid;
    return `${pid} (node (sim)) ${state} ${"0 ".repeat(18)}${startedAt} 0 0\n`;
  }

  readLink(path: string): string {
    this.#mayFail(ownFailureShare);
    return path === "/proc/self" ? String(this.ownPid) : `${path.split("/").at(-1)}:[4026531836]`;
  }

  #mayFail(share: number): void {
    if (this.#isFaulty && this.#random.isLucky(share)) throw failure(this.#random.pick(errors));
  }

  #hasEnded(pid: number): boolean {
    const life = this.#lives[pid - firstPid - 1];
    return life === undefined || life.end !== undefined;
  }

  #isFree(pid: number): boolean {
    return this.#hasEnded(pid) && pid % 3 === 0;
  }
}

function failure(code: string): Error {
  return Object.assign(new Error(code), { code });
}
