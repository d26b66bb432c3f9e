import type { Logger } from "../base/logger.ts";

/** Real time without progress after which a result will not come by itself. */
const quietMs = 1000;

export interface ResultWatchParts {
  readonly logger: Logger;
  /** True if a test lets time pass or a job runs, so that the result may come by itself. */
  readonly isMoving: () => boolean;
  /** True if the test advances the clock itself, so that it must not be moved. */
  readonly isStepping: () => boolean;
  /** The earliest wake-up of any instance, epoch ms. */
  readonly nextWake: () => Promise<number | undefined>;
  /** Lets time pass until then. */
  readonly skipUntil: (result: Promise<unknown>) => Promise<unknown>;
}

interface Waiting {
  readonly instanceId: string;
  readonly result: Promise<unknown>;
  isOver: boolean;
  timer?: NodeJS.Timeout;
}

/**
 * Prevents tests from hanging when they await a result that needs time to pass while the clock of the engine stands still:
 * skips time until the result comes. In a test that advances the clock itself, logs a warning once instead.
 *
 * Its timer uses real time, and keeps the process alive until it has fired.
 */
export class ResultWatch {
  readonly #parts: ResultWatchParts;
  readonly #waiting = new Set<Waiting>();
  #isOver = false;

  constructor(parts: ResultWatchParts) {
    this.#parts = parts;
  }

  /** Returns a promise for the same result, which is watched once it is awaited. */
  watch<T>(instanceId: string, result: Promise<T>): Promise<T> {
    return new WatchedResult(result, () => this.#begin({ instanceId, result, isOver: false }));
  }

  /** Stops watching. */
  stop(): void {
    this.#isOver = true;
    for (const waiting of this.#waiting) this.#end(waiting);
  }

  #begin(waiting: Waiting): void {
    this.#waiting.add(waiting);
    this.#lookLater(waiting);
    const end = (): void => this.#end(waiting);
    waiting.result.then(end, end);
  }

  #end(waiting: Waiting): void {
    waiting.isOver = true;
    clearTimeout(waiting.timer);
    this.#waiting.delete(waiting);
  }

  #lookLater(waiting: Waiting): void {
    if (!this.#isOver && !waiting.isOver) waiting.timer = setTimeout(() => void this.#look(waiting), quietMs);
  }

  async #look(waiting: Waiting): Promise<void> {
    const { isMoving, isStepping, nextWake } = this.#parts;
    if (isMoving()) return this.#lookLater(waiting);
    const wake = await nextWake();
    if (waiting.isOver || this.#isOver) return;
    if (wake === undefined) {
      // The result depends on something else than time; that alone must not keep the process alive.
      this.#lookLater(waiting);
      return void waiting.timer?.unref();
    }
    if (isStepping()) return this.#warn(waiting, wake);
    await this.#skip(waiting);
  }

  /** Skips time; if the result does not come, the next check notices. */
  async #skip(waiting: Waiting): Promise<void> {
    const { result } = waiting;
    await this.#parts.skipUntil(result).catch(() => undefined);
    this.#lookLater(waiting);
  }

  #warn({ instanceId }: Waiting, wake: number): void {
    this.stop();
    this.#parts.logger.warn(
      { instanceId, nextWakeAt: new Date(wake).toISOString() },
      "a result is waited for that only time can bring, and the clock of a test engine stands still: use await clock.until(run.result()), or let time pass with clock.advance(ms)",
    );
  }
}

/** A promise that notices when it is first awaited: `await` calls `then` if the constructor is not `Promise`. */
class WatchedResult<T> extends Promise<T> {
  readonly #onAwaited: () => void;
  #isAwaited = false;

  /** Makes derived promises ordinary ones. */
  static override get [Symbol.species](): PromiseConstructor {
    return Promise;
  }

  constructor(result: Promise<T>, onAwaited: () => void) {
    super((resolve, reject) => void result.then(resolve, reject));
    this.#onAwaited = onAwaited;
  }

  // oxlint-disable-next-line unicorn/no-thenable -- the watch begins when the result is first awaited
  override then<A = T, B = never>(
    onFulfilled?: ((value: T) => A | PromiseLike<A>) | null,
    onRejected?: ((reason: unknown) => B | PromiseLike<B>) | null,
  ): Promise<A | B> {
    if (!this.#isAwaited) {
      this.#isAwaited = true;
      this.#onAwaited();
    }
    return super.then(onFulfilled, onRejected);
  }
}
