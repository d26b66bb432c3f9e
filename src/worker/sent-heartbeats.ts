import type { Clock } from "../base/clock.ts";
import { type Moment, momentOf } from "../base/moment.ts";

/** Hellos and heartbeats that the member has not answered: a renewal counts from the time its heartbeat was sent (M3). */
export class SentHeartbeats {
  readonly #clock: Clock;
  #sequence = 0;
  readonly #sentAt = new Map<number, Moment>();
  #renewedAt: Moment;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#renewedAt = momentOf(clock);
  }

  /** Time at which the last heartbeat was sent that a member has answered. */
  get renewedAt(): Moment {
    return this.#renewedAt;
  }

  /** Called before the message is sent, so that a renewal never counts from too late. */
  nextSequence(): number {
    this.#sentAt.set(++this.#sequence, momentOf(this.#clock));
    return this.#sequence;
  }

  /** False for a renewal that a later one has overtaken, or of an earlier connection. */
  onRenewal(answered: number): boolean {
    const sentAt = this.#sentAt.get(answered);
    if (sentAt === undefined) return false;
    for (const sequence of this.#sentAt.keys()) if (sequence <= answered) this.#sentAt.delete(sequence);
    this.#renewedAt = sentAt;
    return true;
  }

  /** The next member does not answer what was sent to the last one. */
  onReconnect(): void {
    this.#sentAt.clear();
  }
}
