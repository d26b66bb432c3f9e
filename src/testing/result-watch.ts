import type { Logger } from "../base/logger.ts";

/** Real time without news after which a result is not going to come by itself. */
const quietMs = 1000;

export interface ResultWatchParts {
  readonly logger: Logger;
  /** A test lets time pass, or a job runs: the result may come by itself. */
  readonly isMoving: () => boolean;
  /** The test moves the clock step by step, and wants to find it where it left it. */
  readonly isStepping: () => boolean;
  /** When the first instance wants to be woken, epoch ms. */
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
 * Keeps a test from hanging that awaits a result which only time can bring, while the clock of its engine stands still: time
 * is skipped until it comes. In a test that has moved the clock itself it is a warning, given once.
 *
 * Its timer is real, and keeps the process alive for as long as it takes to find out.
 */
export class ResultWatch {
  readonly #parts: ResultWatchParts;
  readonly #waiting = new Set<Waiting>();
  #isOver = false;

  constructor(parts: ResultWatchParts) {
    this.#parts = parts;
  }

  /** The same result. It is watched from when somebody awaits it. */
  watch<T>(instanceId: string, result: Promise<T>): Promise<T> {
    return new WatchedResult(result, () => this.#begin({ instanceId, result, isOver: false }));
  }

  /** Does nothing from now on. */
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
      // Somebody else has to do something; a process in which nobody does is not kept alive for it.
      this.#lookLater(waiting);
      return void waiting.timer?.unref();
    }
    if (isStepping()) return this.#warn(waiting, wake);
    await this.#skip(waiting);
  }

  /** Where time alone does not bring it, the next look finds out. */
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

/** Knows when it is first awaited: `await` calls `then` of a promise whose constructor is not `Promise`. */
class WatchedResult<T> extends Promise<T> {
  readonly #onAwaited: () => void;
  #isAwaited = false;

  /** What is derived of it is an ordinary promise. */
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
