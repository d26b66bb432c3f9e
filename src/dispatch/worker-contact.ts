import type { Clock, Timer } from "../base/clock.ts";
import type { ClusterTimings } from "../cluster/timings.ts";

/** A worker is unreachable after this many heartbeat intervals without a message: half an interval is allowed for delays. */
const heartbeatsUntilUnreachable = 1.5;

export interface WorkerContactParts {
  readonly clock: Clock;
  readonly timings: Pick<ClusterTimings, "workerBeatMs" | "workerLostMs">;
  /** Called once, after `workerLostMs` without a message. */
  readonly onLost: () => void;
}

/** The failure detector of one remote worker: when it was heard last, whether it is reachable, and when it counts as lost. */
export class WorkerContact {
  readonly #parts: WorkerContactParts;
  #heardAt: number;
  /** Wall-clock time of the last message. */
  #lastHeardAt: number;
  /** Monotonic time since which no heartbeat was missed and the link was open. Undefined until the first message of a link. */
  #reachableSince: number | undefined;
  #timer: Timer | undefined;
  #isOver = false;

  constructor(parts: WorkerContactParts) {
    this.#parts = parts;
    this.#heardAt = parts.clock.monotonic();
    this.#lastHeardAt = parts.clock.now();
    this.#armTimer(parts.timings.workerLostMs);
  }

  get isReachable(): boolean {
    return this.#reachableSince !== undefined && !this.#hasMissedHeartbeat;
  }

  get #hasMissedHeartbeat(): boolean {
    const { clock, timings } = this.#parts;
    return clock.monotonic() - this.#heardAt >= heartbeatsUntilUnreachable * timings.workerBeatMs;
  }

  get lastHeardAt(): number {
    return this.#lastHeardAt;
  }

  /** See `ConnectedWorker.timeoutGraceMs`. */
  timeoutGraceMs(since: number): number {
    const { clock, timings } = this.#parts;
    if (this.#reachableSince === undefined || this.#hasMissedHeartbeat) return Infinity;
    if (this.#reachableSince <= since) return 0;
    return Math.max(0, this.#reachableSince + timings.workerBeatMs - clock.monotonic());
  }

  onMessage(): void {
    const { clock } = this.#parts;
    const now = clock.monotonic();
    if (this.#reachableSince === undefined || this.#hasMissedHeartbeat) this.#reachableSince = now;
    this.#heardAt = now;
    this.#lastHeardAt = clock.now();
  }

  /** The link was closed or replaced: the worker is unreachable until its next message. */
  onLinkChanged(): void {
    this.#reachableSince = undefined;
  }

  end(): void {
    this.#isOver = true;
    this.#timer?.cancel();
  }

  /** Reads messages that arrived while this member was busy before it declares the worker lost. */
  #armTimer(delayMs: number): void {
    const { clock, timings, onLost } = this.#parts;
    const look = (): void => {
      const silentMs = clock.monotonic() - this.#heardAt;
      if (this.#isOver) return;
      if (silentMs < timings.workerLostMs) this.#armTimer(Math.max(1, timings.workerLostMs - silentMs));
      else onLost();
    };
    this.#timer = clock.after(delayMs, () => clock.soon(look));
  }
}
