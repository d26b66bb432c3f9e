import type { Clock } from "../../src/base/clock.ts";
import { defineJob, type Job } from "../../src/index.ts";

/** A job that takes a while, and counts how many of it run at a time, over all members. */
export class Meter {
  /** The most that ever ran at a time, since it was last looked at. */
  most = 0;
  /** Attempts that have ended, in order, each with the member that ran it. */
  readonly ended: { readonly instanceId: string; readonly member: string }[] = [];
  readonly #dead = new Set<string>();
  readonly #running = new Map<symbol, { readonly instanceId: string; readonly member: string }>();
  readonly #clock: () => Clock;
  readonly #ms: number;

  constructor(options: { clock: () => Clock; ms: number }) {
    this.#clock = options.clock;
    this.#ms = options.ms;
  }

  get running(): number {
    return this.#running.size;
  }

  runningOn(member: string): number {
    return [...this.#running.values()].filter((each) => each.member === member).length;
  }

  /** The most that ran at a time from now on. */
  reset(): void {
    this.most = this.running;
  }

  /** The process is gone, and what it ran. */
  died(member: string): void {
    this.#dead.add(member);
    for (const [key, each] of this.#running) if (each.member === member) this.#running.delete(key);
  }

  job(member: string): Job {
    return defineJob("measured", async (_: unknown, { instanceId, signal }) => {
      const key = Symbol(instanceId);
      this.#running.set(key, { instanceId, member });
      this.most = Math.max(this.most, this.running);
      const { promise, resolve } = Promise.withResolvers<void>();
      const timer = this.#clock().after(this.#ms, resolve);
      signal.addEventListener("abort", () => resolve(), { once: true });
      await promise;
      timer.cancel();
      if (this.#dead.has(member)) return await new Promise<never>(() => undefined);
      if (this.#running.delete(key) && !signal.aborted) this.ended.push({ instanceId, member });
      return member;
    });
  }
}
