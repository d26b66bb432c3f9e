import type { TestContext } from "node:test";
import type { Job } from "../../src/authoring/job.ts";
import type { Clock, Timer } from "../../src/base/clock.ts";
import type { Random } from "../../src/base/random.ts";
import { Engine } from "../../src/engine/engine.ts";
import type { EngineOptions } from "../../src/engine/options.ts";
import type { Store } from "../../src/stores/store.ts";
import { memoryStore, SeededRandom, TestClock } from "../../src/testing.ts";
import { LogBook } from "../../src/testing/log-book.rig.ts";
import { Disk, FaultyStore } from "./faulty-store.ts";

export interface WorldOptions extends Partial<Omit<EngineOptions, "storage" | "clock" | "jobs" | "logger">> {
  readonly inner?: Store;
  readonly jobs: readonly Job[];
}

/** One engine after the other on the same disk, with time, chance and the disk in the hands of the test. */
export class World {
  readonly clock = new TestClock();
  readonly random: Random;
  readonly log = new LogBook();
  readonly disk: Disk;
  readonly #options: WorldOptions;
  readonly #jobs: Job[];
  #life: Life | undefined;

  private constructor(options: WorldOptions) {
    this.#options = options;
    this.#jobs = [...options.jobs];
    this.random = options.random ?? new SeededRandom(1);
    this.disk = new Disk(options.inner ?? memoryStore());
  }

  static async start(t: TestContext, options: WorldOptions): Promise<World> {
    const world = new World(options);
    t.after(() => world.#end());
    await world.begin();
    return world;
  }

  get engine(): Engine {
    if (this.#life === undefined) throw new Error("no engine was started");
    return this.#life.engine;
  }

  get store(): FaultyStore {
    if (this.#life === undefined) throw new Error("no engine was started");
    return this.#life.store;
  }

  /** The machine's clock is set forward or back; timers know nothing of it. */
  setClock(skewMs: number): void {
    if (this.#life !== undefined) this.#life.clock.skewMs = skewMs;
  }

  /** The next process. `prepare` may change the store before it is opened. */
  async begin(prepare?: (store: FaultyStore) => void): Promise<void> {
    const { inner: _inner, jobs: _jobs, ...options } = this.#options;
    const clock = new MortalClock(this.clock);
    const store = new FaultyStore(this.disk);
    const { random, log: logger } = this;
    const engine = new Engine({ ...options, jobs: this.#jobs, storage: store, clock, random, logger });
    this.#life = { engine, store, clock };
    prepare?.(store);
    await engine.start();
  }

  /** In good order: the engine is stopped, and the next one started. */
  async restart(): Promise<void> {
    await this.clock.until(this.engine.stop());
    await this.begin();
  }

  /** From one moment to the next the process is gone: nothing it had begun goes on, nothing it had promised is kept. */
  kill(): void {
    this.#life?.clock.die();
    this.#life?.store.die();
  }

  async crash(): Promise<void> {
    this.kill();
    await this.begin();
  }

  async #end(): Promise<void> {
    const life = this.#life;
    if (life !== undefined && !life.clock.isDead && this.#isRunning()) {
      this.store.faultOf = undefined;
      await this.clock.until(life.engine.stop().catch(() => undefined));
    }
    life?.clock.die();
    await this.disk.inner.close();
  }

  #isRunning(): boolean {
    const { status } = this.engine.health;
    return status === "up" || status === "degraded";
  }
}

interface Life {
  readonly engine: Engine;
  readonly store: FaultyStore;
  readonly clock: MortalClock;
}

/** A clock that calls nobody back once its process is gone. */
export class MortalClock implements Clock {
  readonly #clock: Clock;
  isDead = false;
  skewMs = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  now(): number {
    return this.#clock.now() + this.skewMs;
  }

  monotonic(): number {
    return this.#clock.monotonic();
  }

  after(delayMs: number, callback: () => void): Timer {
    return this.#clock.after(delayMs, () => this.#ifAlive(callback));
  }

  soon(callback: () => void): void {
    this.#clock.soon(() => this.#ifAlive(callback));
  }

  die(): void {
    this.isDead = true;
  }

  #ifAlive(callback: () => void): void {
    if (!this.isDead) callback();
  }
}

/** Whether and how a promise has settled, without waiting for it. */
export function watch<T>(promise: Promise<T>): Watched<T> {
  const watched: { state: Watched<T>["state"]; value?: T; error?: unknown } = { state: "waiting" };
  promise.then(
    (value) => Object.assign(watched, { state: "done", value }),
    (error: unknown) => Object.assign(watched, { state: "failed", error }),
  );
  return watched;
}

export interface Watched<T> {
  readonly state: "waiting" | "done" | "failed";
  readonly value?: T;
  readonly error?: unknown;
}
