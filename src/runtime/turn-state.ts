/**
 * Progress of an actor towards its next turn. Every flag changes by one of the transitions below, and by nothing
 * else: `TurnQueue` and its `DelayedActors` call all of them but `endTurn`, which belongs to the release of a turn.
 *
 * ```
 *              delay              enqueue               takeTurn            endTurn
 *   no turn ──────────► delayed ──────────► queued ───────────────► busy ──────────► no turn
 *      └──────────────────────────────────────┘
 *                       enqueue
 * ```
 *
 * A busy actor may be delayed or queued for its next turn.
 */
export abstract class TurnState {
  #delayPlace = -1;
  #isQueued = false;
  #isBusy = false;

  /** True if the next turn is being prepared, or will be opened with the next commit. */
  get isQueued(): boolean {
    return this.#isQueued;
  }

  /** True if a turn is open, being written or being released. */
  get isBusy(): boolean {
    return this.#isBusy;
  }

  /** Place among the delayed actors; -1 if it is not delayed. */
  get delayPlace(): number {
    return this.#delayPlace;
  }

  /** Waits for messages to share a turn with. */
  delay(place: number): void {
    this.#delayPlace = place;
  }

  endDelay(): void {
    this.#delayPlace = -1;
  }

  /** False if it is queued already. */
  enqueue(): boolean {
    if (this.#isQueued) return false;
    this.#isQueued = true;
    return true;
  }

  /** Leaves the queue, because its turn is opened. */
  takeTurn(): void {
    this.#isQueued = false;
    this.#isBusy = true;
  }

  /** The effects of its turn are released. */
  endTurn(): void {
    this.#isBusy = false;
  }
}
