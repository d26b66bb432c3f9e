import type { Clock } from "../base/clock.ts";

/** How many reactions of an instance that was there before the claim are recorded before they run. */
const recordedMax = 10;

/** How long after the claim the first reaction of new instances is recorded: messages that start them come again by then. */
const newInstancesMs = 60_000;

/** A slot is held for this long at most, whatever happens to its holder. */
const slotMs = 2000;

/** An instance with this many losses reacts with no other recorded reaction beside it. */
export const suspectLosses = 2;

/** The code of an instance has ended or blocked its process too often. */
export class Quarantined extends Error {
  override readonly name = "Quarantined";

  constructor(losses: number, step: number) {
    super(
      `its code ended or blocked the process ${losses} times at step ${step}; deploy code that does not, and resume it`,
    );
  }
}

/**
 * Says which reactions of workflow code are recorded durably before they run, in a shard whose last owner did not leave
 * in good order. A reaction that is still on record as started at the next such claim was under way when the process
 * ended: a loss.
 */
export class ReactionCaution {
  readonly #clock: Clock;
  readonly #slots: ReactionSlots;
  readonly #claimedAt: number;
  /** Instances with higher keys are new. */
  readonly #lastKey: number;
  /** By instance key: reactions that came through since the claim. */
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

  /** Calls `start` when the reaction may be recorded and run: at once, or when those have ended that must not run beside it. */
  enter(losses: number, start: (slot: ReactionSlot) => void): void {
    this.#slots.enter(losses >= suspectLosses, start);
  }

  /** Says whether that is enough: earlier losses do not count any more. */
  noteCameThrough(key: number): boolean {
    if (key > this.#lastKey) return true;
    const count = (this.#cameThrough.get(key) ?? 0) + 1;
    this.#cameThrough.set(key, count);
    return count >= recordedMax;
  }
}

export interface ReactionSlot {
  /** May be called again, to no effect. */
  leave(): void;
}

interface Waiting {
  readonly isSuspect: boolean;
  readonly start: (slot: ReactionSlot) => void;
}

/**
 * Recorded reactions of one process. Many may run side by side, and all of them count as lost if the process ends; a suspect
 * runs alone among them, so that one instance whose code ends the process does not bring others over the limit.
 */
export class ReactionSlots {
  readonly #clock: Clock;
  readonly #waiting: Waiting[] = [];
  #running = 0;
  #isSuspectRunning = false;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  enter(isSuspect: boolean, start: (slot: ReactionSlot) => void): void {
    if (this.#mayStart(isSuspect)) this.#start({ isSuspect, start });
    else this.#waiting.push({ isSuspect, start });
  }

  #mayStart(isSuspect: boolean): boolean {
    return isSuspect ? this.#running === 0 : !this.#isSuspectRunning;
  }

  #start({ isSuspect, start }: Waiting): void {
    this.#running++;
    if (isSuspect) this.#isSuspectRunning = true;
    let isHeld = true;
    const leave = (): void => {
      if (!isHeld) return;
      isHeld = false;
      timer.cancel();
      this.#running--;
      if (isSuspect) this.#isSuspectRunning = false;
      this.#startWaiting();
    };
    const timer = this.#clock.after(slotMs, leave);
    start({ leave });
  }

  /** Others go first: a suspect waits until none of them runs. */
  #startWaiting(): void {
    for (const isSuspect of [false, true]) {
      for (;;) {
        const next = this.#waiting.findIndex((waiting) => waiting.isSuspect === isSuspect);
        if (next === -1 || !this.#mayStart(isSuspect)) break;
        const [waiting] = this.#waiting.splice(next, 1);
        if (waiting !== undefined) this.#start(waiting);
      }
    }
  }
}
