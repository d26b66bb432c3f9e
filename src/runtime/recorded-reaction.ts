import { type ReactionSlot, suspectLosses } from "../dispatch/reaction-slots.ts";
import type { CodeState } from "../kernel/code/code-state.ts";
import { CrashLoop, type ReactionCaution } from "./reaction-caution.ts";

/**
 * The reactions of one instance's code that are recorded before they run, in a shard whose last owner did not release it.
 * A reaction waits for a slot, is recorded, runs, and keeps its slot until it is durable that it came through.
 */
export class RecordedReaction {
  readonly #caution: ReactionCaution;
  readonly #key: number;
  readonly #lossesMax: number;
  /** Counts reactions at the present step that were lost with their process. */
  #losses = 0;
  /** The step at which the reaction was recorded. */
  #step = 0;
  #slot: ReactionSlot | undefined;
  /** True while a requested slot is not granted yet. */
  #isSlotRequested = false;
  /** True while the turn that is being prepared waits for the slot. */
  #isOnHold = false;

  constructor(caution: ReactionCaution, key: number, lossesMax: number) {
    this.#caution = caution;
    this.#key = key;
    this.#lossesMax = lossesMax;
  }

  /** A reaction that is on record as started was lost with its process. */
  restore({ reaction }: CodeState): void {
    if (reaction !== undefined) this.#losses = reaction.losses + (reaction.isUnderWay ? 1 : 0);
  }

  forgetLosses(): void {
    this.#losses = 0;
  }

  /** True if the next reaction of the instance is to be recorded. */
  get isNeeded(): boolean {
    return this.#caution.isNeeded(this.#key);
  }

  get losses(): number {
    return this.#losses;
  }

  get hasSlot(): boolean {
    return this.#slot !== undefined;
  }

  get isOnHold(): boolean {
    return this.#isOnHold;
  }

  /** Begins at that step of the code. `CrashLoop` if it was lost there too often. */
  begin(step: number): void {
    this.#step = step;
    if (this.#losses > this.#lossesMax) throw new CrashLoop(this.#losses, step);
  }

  /** Puts the turn on hold; calls `onSlot` when it may run, unless the hold was ended before. */
  awaitSlot(onSlot: () => void): void {
    this.#isOnHold = true;
    if (this.#isSlotRequested) return;
    this.#isSlotRequested = true;
    this.#caution.enter(this.#suspicion, (slot) => {
      this.#isSlotRequested = false;
      // A turn that needs no code is being written; the next one asks again.
      if (!this.#isOnHold) return slot.leave();
      this.#isOnHold = false;
      this.#slot = slot;
      onSlot();
    });
  }

  /** An instance is a suspect after some losses, and on its last try, however few losses are allowed. */
  get #suspicion(): number {
    const isLastTry = this.#losses >= this.#lossesMax;
    return isLastTry ? Math.max(this.#losses, suspectLosses) : this.#losses;
  }

  endHold(): void {
    this.#isOnHold = false;
  }

  leaveSlot(): void {
    this.#slot?.leave();
    this.#slot = undefined;
  }

  /** The reaction came through. Losses are forgotten after enough reactions, or once the code has taken a step. */
  end(step: number): void {
    const isEnough = this.#caution.noteCameThrough(this.#key);
    if (isEnough || step !== this.#step) this.#losses = 0;
  }
}
