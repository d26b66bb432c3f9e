import type { Clock } from "../base/clock.ts";
import type { ReactionSlot, ReactionSlots } from "../dispatch/reaction-slots.ts";

/** Number of reactions of an instance older than the claim that are recorded before they run. */
const recordedMax = 10;

/**
 * Time after the claim in which the first reaction of new instances is recorded: by then the messages that start them
 * are delivered again.
 */
const newInstancesMs = 60_000;

/** Quarantine reason: the workflow code of an instance has ended or blocked its process too often. */
export class CrashLoop extends Error {
  override readonly name = "CrashLoop";

  constructor(losses: number, step: number, what: "the process" | "its worker" = "the process") {
    super(
      `its code ended or blocked ${what} ${losses} times at step ${step}; deploy code that does not, and resume it`,
    );
  }
}

/**
 * Decides which reactions of workflow code are recorded durably before they run, in a shard whose last owner did not
 * release it. A reaction that is still on record as started at the next such claim was under way when the process
 * ended: a loss.
 */
export class ReactionCaution {
  readonly #clock: Clock;
  readonly #slots: ReactionSlots;
  readonly #claimedAt: number;
  /** The last instance key before the claim: instances with higher keys are new. */
  readonly #lastKey: number;
  /** Number of reactions without a loss since the claim, by instance key. */
  readonly #cameThrough = new Map<number, number>();

  constructor(options: { clock: Clock; slots: ReactionSlots; lastKey: number }) {
    this.#clock = options.clock;
    this.#slots = options.slots;
    this.#claimedAt = options.clock.monotonic();
    this.#lastKey = options.lastKey;
  }

  isNeeded(key: number): boolean {
    if (key > this.#lastKey) return this.#clock.monotonic() - this.#claimedAt < newInstancesMs;
    return (this.#cameThrough.get(key) ?? 0) < recordedMax;
  }

  /**
   * Calls `start` when the reaction may be recorded and run: at once, or when those have ended that must not run beside
   * it.
   */
  enter(losses: number, start: (slot: ReactionSlot) => void): void {
    this.#slots.enter(losses, start);
  }

  /** Returns whether enough reactions came through: then earlier losses do not count any more. */
  noteCameThrough(key: number): boolean {
    if (key > this.#lastKey) return true;
    const count = (this.#cameThrough.get(key) ?? 0) + 1;
    this.#cameThrough.set(key, count);
    return count >= recordedMax;
  }
}
