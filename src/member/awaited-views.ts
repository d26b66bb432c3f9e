import type { Clock } from "../base/clock.ts";
import type { Membership } from "../cluster/membership.ts";

/** Waits for views of the cluster that are newer than a question. */
export class AwaitedViews {
  readonly #membership: Pick<Membership, "refreshView" | "viewAskedAt">;
  readonly #clock: Clock;
  readonly #waiters: (() => void)[] = [];

  constructor(membership: Pick<Membership, "refreshView" | "viewAskedAt">, clock: Clock) {
    this.#membership = membership;
    this.#clock = clock;
  }

  /** Waits for a view that was requested after this moment. */
  async next(): Promise<void> {
    const now = this.#clock.monotonic();
    this.#membership.refreshView();
    while (this.#membership.viewAskedAt < now) await new Promise<void>((resolve) => this.#waiters.push(resolve));
  }

  /** Waits for a view that was requested after something else, for both together at most so long. */
  async nextAfter(before: Promise<void>, timeoutMs: number): Promise<void> {
    const { promise: timeout, resolve } = Promise.withResolvers<void>();
    const timer = this.#clock.after(timeoutMs, resolve);
    await Promise.race([before.then(() => this.next()), timeout]);
    timer.cancel();
  }

  onView(): void {
    for (const resolve of this.#waiters.splice(0)) resolve();
  }
}
