import type { LoopWorkEntry, LoopWorkPhase } from "./loop-work-table.ts";

/** Heartbeat check interval of the watchdog's thread. */
export const tickMs = 250;

export interface StallLimits {
  /** Stall time before a report; 0 for never. */
  readonly warnAfterMs: number;
  /** Stall time before the process is ended; 0 for never. */
  readonly endAfterMs: number;
}

export interface StallVerdict {
  readonly action: "none" | "warn" | "end";
  readonly stalledMs: number;
}

/**
 * Decides what to do about an event loop whose heartbeat does not change. A stall is counted in ticks, never by a clock: a
 * machine that is suspended, or a process that is stopped, stops both threads, and that is no stall.
 */
export class StallDetector {
  readonly #limits: StallLimits;
  #heartbeat: number | undefined;
  #stalledMs = 0;
  #hasWarned = false;

  constructor(limits: StallLimits) {
    this.#limits = limits;
  }

  get stalledMs(): number {
    return this.#stalledMs;
  }

  tick(heartbeat: number): StallVerdict {
    if (heartbeat !== this.#heartbeat) {
      this.#heartbeat = heartbeat;
      this.#stalledMs = 0;
      this.#hasWarned = false;
      return { action: "none", stalledMs: 0 };
    }
    this.#stalledMs += tickMs;
    return { action: this.#decide(), stalledMs: this.#stalledMs };
  }

  #decide(): StallVerdict["action"] {
    const { warnAfterMs, endAfterMs } = this.#limits;
    if (endAfterMs > 0 && this.#stalledMs >= endAfterMs) return "end";
    if (this.#hasWarned || warnAfterMs === 0 || this.#stalledMs < warnAfterMs) return "none";
    this.#hasWarned = true;
    return "warn";
  }
}

/** Phases of work, the most likely cause of a stall first. */
const phases: readonly LoopWorkPhase[] = ["running", "reacting", "waiting"];

export interface Suspects {
  readonly named: readonly LoopWorkEntry[];
  /** Number of suspects, including those without a name. */
  readonly count: number;
}

/**
 * Returns the work that may block the loop. If work runs, it is the cause, and everything else waits for it. Otherwise
 * the suspects are code whose promises are settling, or jobs that have resumed after an await.
 */
export function suspectsOf(entries: readonly LoopWorkEntry[], unnamedCount: number): Suspects {
  const phase = phases.find((each) => entries.some((entry) => entry.phase === each));
  const named = entries.filter((entry) => entry.phase === phase);
  return { named, count: named.length + (phase === "running" ? 0 : unnamedCount) };
}
