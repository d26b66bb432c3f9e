import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { SkippingClock } from "./skipping-clock.ts";

const yearMs = 365 * 24 * 3_600_000;

/** Something that looks after itself every minute, and now and then wants to be woken. */
class Sleeper {
  readonly clock = new SkippingClock({ now: 0 });
  readonly wakes: { readonly at: number; readonly resolve: () => void }[] = [];
  isBusy = false;
  rounds = 0;

  constructor() {
    this.#round();
    this.clock.follow({
      isBusy: () => this.isBusy,
      nextWake: (after) => {
        const times = this.wakes.map(({ at }) => at).filter((at) => at > after);
        return Promise.resolve(times.length === 0 ? undefined : Math.min(...times));
      },
    });
  }

  sleep(ms: number): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.wakes.push({ at: this.clock.now() + ms, resolve });
    return promise;
  }

  #round(): void {
    this.rounds++;
    for (const { at, resolve } of this.wakes) if (at <= this.clock.now()) resolve();
    this.clock.after(60_000, () => this.#round());
  }
}

describe("a clock that follows somebody's work", () => {
  test("leaps over what nobody waits for", async () => {
    const sleeper = new Sleeper();
    const twice = sleeper.sleep(100 * yearMs).then(() => sleeper.sleep(yearMs));
    await sleeper.clock.until(twice);
    assert.equal(sleeper.clock.now(), 101 * yearMs);
    assert.ok(sleeper.rounds < 10, `${sleeper.rounds} rounds`);
  });

  test("advances exactly as far as it is told, and wakes those in between at their time", async () => {
    const sleeper = new Sleeper();
    const woken: number[] = [];
    for (const ms of [3 * yearMs, yearMs, 20 * yearMs])
      void sleeper.sleep(ms).then(() => woken.push(sleeper.clock.now()));
    await sleeper.clock.advance(10 * yearMs);
    assert.deepEqual(woken, [yearMs, 3 * yearMs]);
    assert.equal(sleeper.clock.now(), 10 * yearMs);
  });

  test("stands still while work is done, unless it is advanced by hand, from timer to timer", async () => {
    const sleeper = new Sleeper();
    sleeper.isBusy = true;
    setTimeout(() => {
      sleeper.isBusy = false;
    }, 20);
    const slept = sleeper.sleep(yearMs);
    const fired: number[] = [];
    await sleeper.clock.until(slept.then(() => fired.push(sleeper.clock.now())));
    assert.deepEqual(fired, [yearMs]);

    sleeper.isBusy = true;
    const { rounds } = sleeper;
    await sleeper.clock.advance(10 * 60_000);
    assert.equal(sleeper.rounds, rounds + 10);
  });

  test("says when no time brings what is waited for, or none within the limit", async () => {
    const { clock } = new Sleeper();
    await assert.rejects(clock.until(new Promise(() => undefined)), /waits for something that no time brings/);
    const sleeper = new Sleeper();
    await assert.rejects(
      sleeper.clock.until(sleeper.sleep(yearMs), { maxMs: 5000 }),
      /still waiting at 1970-01-01T00:00:05/,
    );
    await assert.rejects(clock.until(Promise.reject(new Error("no"))), /no/);
  });

  test("is an ordinary test clock when it follows nobody", async () => {
    const sleeper = new Sleeper();
    sleeper.clock.unfollow();
    await sleeper.clock.advance(10 * 60_000);
    assert.equal(sleeper.rounds, 11);
    await sleeper.clock.until(sleeper.sleep(30 * 60_000));
    assert.equal(sleeper.rounds, 41);
  });
});
