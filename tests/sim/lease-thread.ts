import { SharedLease, sharedLeaseBytes } from "../../src/cluster/shared-lease.ts";
import { type RenewalTimings, StallRenewals } from "../../src/cluster/stall-renewals.ts";
import { StallDetector, tickMs } from "../../src/engine/stall-detector.ts";
import { LifeClock, type MachineTime } from "./clock.ts";
import type { Life } from "./machine.ts";
import type { EventOwner, Scheduler } from "./scheduler.ts";
import type { SimStore, StoreUser } from "./store.ts";

export interface SimLeaseThreadParts {
  readonly life: Life;
  readonly time: MachineTime;
  readonly scheduler: Scheduler;
  readonly timings: RenewalTimings;
}

/**
 * The thread of a process that renews the lease while its event loop is blocked: the code of the real one, on the virtual
 * clock and a connection of its own. It ticks during stalls only, because in all other ticks it does nothing.
 */
export class SimLeaseThread implements EventOwner, StoreUser {
  readonly lease: SharedLease;
  /** The whole process is stopped in the middle of a stall. */
  #isStopped = false;
  readonly #parts: SimLeaseThreadParts;
  readonly #clock: LifeClock;
  readonly #detector = new StallDetector({ warnAfterMs: 0, endAfterMs: 0 });
  readonly #renewals: StallRenewals;
  #loopBeats = 0;
  #ticks: { cancel(): void } | undefined;

  constructor(parts: SimLeaseThreadParts, connect: (user: SimLeaseThread) => SimStore) {
    this.#parts = parts;
    this.#clock = new LifeClock(parts.scheduler, parts.time, this);
    this.lease = new SharedLease(new SharedArrayBuffer(sharedLeaseBytes), 0);
    const store = connect(this);
    this.#renewals = new StallRenewals({
      clock: this.#clock,
      lease: this.lease,
      connect: async () => store,
      timings: parts.timings,
      onFailure: () => undefined,
    });
  }

  get number(): number {
    return this.#parts.life.number;
  }

  get machine(): string {
    return this.#parts.life.machine;
  }

  get isDead(): boolean {
    return this.#parts.life.isDead;
  }

  /** The thread runs while only the event loop is blocked. */
  get isFrozen(): boolean {
    const { life } = this.#parts;
    return this.#isStopped || (life.isFrozen && life.record.freezes.at(-1)?.kind !== "stalled");
  }

  onStoreCall(): void {}

  losesCommit(): boolean {
    return false;
  }

  /** The event loop is blocked from now on. */
  onStall(): void {
    this.#detector.tick(this.#loopBeats);
    this.#tick();
  }

  /** Stops the whole process for a part of the stall. */
  stopFor(ms: number): void {
    const { life, scheduler } = this.#parts;
    const freeze = life.record.freezes.at(-1);
    if (freeze?.kind !== "stalled" || freeze.to !== undefined) return;
    this.#isStopped = true;
    freeze.stop = { from: scheduler.now, to: scheduler.now + ms };
    scheduler.after(ms, undefined, () => {
      this.#isStopped = false;
      scheduler.release(this);
    });
  }

  /** The event loop runs again. */
  onRunning(): void {
    this.#isStopped = false;
    this.#ticks?.cancel();
    this.#loopBeats++;
    this.#renewals.tick(this.#detector.tick(this.#loopBeats).stalledMs);
    this.#parts.scheduler.release(this);
  }

  #tick(): void {
    this.#ticks = this.#clock.after(tickMs, () => {
      this.#tick();
      this.#renewals.tick(this.#detector.tick(this.#loopBeats).stalledMs);
    });
  }
}
