import type { Timer } from "../base/clock.ts";
import { KnownShards } from "./known-shards.ts";
import type { Lease } from "./lease.ts";

/** One incarnation of this member: from its join under a new id until it leaves or is removed. */
export class Incarnation {
  readonly id: string;
  readonly lease: Lease;
  readonly shards = new KnownShards();
  hasJoined = false;
  isAnnounced = false;
  isLapsed = false;
  isOver = false;
  /** A heartbeat is on its way. */
  isBeating = false;
  /** The next heartbeat follows at once. */
  isHurried = false;
  /** Timer of the next heartbeat, or of the next attempt to join. */
  heartbeatTimer: Timer | undefined;
  leaseTimer: Timer | undefined;
  readonly #onEnd: () => void;

  constructor(id: string, lease: Lease, onEnd: () => void) {
    this.id = id;
    this.lease = lease;
    this.#onEnd = onEnd;
  }

  /** Cancels its timers; answers that are still on their way are ignored from now on. */
  end(): void {
    this.isOver = true;
    this.lease.end();
    this.heartbeatTimer?.cancel();
    this.leaseTimer?.cancel();
    this.#onEnd();
  }
}
