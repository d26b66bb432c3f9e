import type { Clock, Timer } from "../base/clock.ts";
import { Fifo } from "../base/fifo.ts";

/** A slot is freed after this long at the latest, even if the reaction has not left it. */
const slotMs = 2000;

/** Reactions that wait for attempts to end or to grow older check again after this long. */
const recheckMs = 500;

/** An instance with this many losses is a suspect. */
export const suspectLosses = 2;

export interface ReactionSlot {
  /** Frees the slot; idempotent. */
  leave(): void;
}

interface Waiting {
  readonly losses: number;
  readonly start: (slot: ReactionSlot) => void;
}

/**
 * Recorded reactions of one process. Many may run side by side, and all of them count as lost if the process ends; a
 * suspect runs with no other recorded reaction beside it. What attempts mean for them is decided by `Isolation`.
 */
export class ReactionSlots {
  readonly #clock: Clock;
  readonly #isBlocked: (losses: number) => boolean;
  readonly #onFreed: () => void;
  /** Queues by number of losses; all suspects share the last queue. */
  readonly #queues = Array.from({ length: suspectLosses + 1 }, () => new Fifo<Waiting>());
  #waitingCount = 0;
  #running = 0;
  #isSuspectRunning = false;
  /** A started reaction may leave at once, and so ask for the next recheck inside this one. */
  #isRechecking = false;
  #needsRecheck = false;
  #timer: Timer | undefined;

  constructor(parts: {
    clock: Clock;
    /** True if an attempt runs beside which a reaction of an instance with that many losses must not run. */
    isBlocked: (losses: number) => boolean;
    /** Called when no recorded reaction is left, or the suspect has left. */
    onFreed: () => void;
  }) {
    this.#clock = parts.clock;
    this.#isBlocked = parts.isBlocked;
    this.#onFreed = parts.onFreed;
  }

  /** True if no reaction is running or waiting. */
  get isEmpty(): boolean {
    return this.#running === 0 && this.#waitingCount === 0;
  }

  get isSuspectRunning(): boolean {
    return this.#isSuspectRunning;
  }

  /** Calls `start` when the reaction may be recorded and run: at once, or later. */
  enter(losses: number, start: (slot: ReactionSlot) => void): void {
    if (this.#mayStart(losses)) this.#start({ losses, start });
    else {
      this.#queues[Math.min(losses, suspectLosses)]?.push({ losses, start });
      this.#waitingCount++;
      this.#armRecheck();
    }
  }

  /** Starts waiting reactions that may start now. Those with fewer losses go first: a suspect waits until none of them runs. */
  recheck(): void {
    if (this.#waitingCount === 0) return;
    this.#needsRecheck = true;
    if (this.#isRechecking) return;
    this.#isRechecking = true;
    try {
      while (this.#needsRecheck) {
        this.#needsRecheck = false;
        for (const [losses, queue] of this.#queues.entries()) this.#startFrom(queue, losses);
      }
    } finally {
      this.#isRechecking = false;
    }
    this.#armRecheck();
  }

  #startFrom(queue: Fifo<Waiting>, losses: number): void {
    while (queue.length > 0 && this.#mayStart(losses)) {
      const waiting = queue.take() as Waiting;
      this.#waitingCount--;
      this.#start(waiting);
    }
  }

  #mayStart(losses: number): boolean {
    const isExcluded = losses >= suspectLosses ? this.#running > 0 : this.#isSuspectRunning;
    return !isExcluded && !this.#isBlocked(losses);
  }

  #start({ losses, start }: Waiting): void {
    const isSuspect = losses >= suspectLosses;
    this.#running++;
    if (isSuspect) this.#isSuspectRunning = true;
    let isHeld = true;
    const leave = (): void => {
      if (!isHeld) return;
      isHeld = false;
      timer.cancel();
      this.#running--;
      if (isSuspect) this.#isSuspectRunning = false;
      this.recheck();
      if (isSuspect || this.isEmpty) this.#onFreed();
    };
    const timer = this.#clock.after(slotMs, leave);
    start({ leave });
  }

  #armRecheck(): void {
    if (this.#timer !== undefined || this.#waitingCount === 0) return;
    this.#timer = this.#clock.after(recheckMs, () => {
      this.#timer = undefined;
      this.recheck();
    });
  }
}
