import type { Clock, Timer } from "../base/clock.ts";
import { EngineError } from "../base/error.ts";

/** A shard that moves is usually there in a moment. */
const movedPauseMsFirst = 50;
const movedPauseMsMax = 1000;

export type Route = "bus" | "mail";

/** What a call that waits may hear: all is over, its shard is elsewhere, its member has a new id, or nothing in time. */
export type News = "settled" | "moved" | "rejoined" | "time";

/** A call of this member that nobody has answered yet. */
export class OutgoingCall {
  readonly id: string;
  readonly key: string;
  readonly shard: number;
  readonly body: unknown;
  readonly promise: Promise<unknown>;
  /** Requests since it was last known where to ask, and the way of the last of them. */
  tries = 0;
  /** It was never sent nor handled. */
  isUntried: boolean;
  lastRoute: Route | undefined;
  readonly #clock: Clock;
  readonly #since: number;
  readonly #onSettled: () => void;
  readonly #resolve: (value: unknown) => void;
  readonly #reject: (error: unknown) => void;
  readonly #deadline: Timer | undefined;
  #isSettled = false;
  #movedTimes = 0;
  #hear: ((news: News) => void) | undefined;

  constructor(parts: {
    clock: Clock;
    id: string;
    key: string;
    shard: number;
    body: unknown;
    timeoutMs: number;
    onSettled: () => void;
  }) {
    const { clock, timeoutMs, shard } = parts;
    const { promise, resolve, reject } = Promise.withResolvers<unknown>();
    this.id = parts.id;
    this.key = parts.key;
    this.shard = shard;
    this.body = parts.body;
    this.promise = promise;
    this.#resolve = resolve;
    this.#reject = reject;
    this.#clock = clock;
    this.#since = clock.monotonic();
    this.#onSettled = parts.onSettled;
    // With a key from outside it may be the repetition of another call.
    this.isUntried = parts.id === parts.key;
    if (timeoutMs === Infinity) return;
    this.#deadline = clock.after(timeoutMs, () => this.reject(unanswered(shard, timeoutMs)));
  }

  get isSettled(): boolean {
    return this.#isSettled;
  }

  get ageMs(): number {
    return this.#clock.monotonic() - this.#since;
  }

  /** Both are harmless once it is settled: the first answer counts. */
  resolve(value: unknown): void {
    this.#settle();
    this.#resolve(value);
  }

  reject(error: unknown): void {
    this.#settle();
    this.#reject(error);
  }

  asked(way: Route): void {
    this.tries++;
    this.lastRoute = way;
  }

  askAnew(): void {
    this.tries = 0;
    this.lastRoute = undefined;
  }

  nextMovedPauseMs(): number {
    return Math.min(movedPauseMsFirst * 2 ** this.#movedTimes++, movedPauseMsMax);
  }

  tell(news: News): void {
    this.#hear?.(news);
  }

  /** Waits for news of any kind. */
  answer(timeoutMs: number): Promise<News> {
    return this.#wait(timeoutMs, () => true);
  }

  /** Waits, and does not listen to members that only now say that the shard has moved. */
  async pause(timeoutMs: number): Promise<void> {
    await this.#wait(timeoutMs, (news) => news !== "moved");
  }

  async #wait(timeoutMs: number, listensTo: (news: News) => boolean): Promise<News> {
    if (this.#isSettled) return "settled";
    const { promise, resolve } = Promise.withResolvers<News>();
    const timer = this.#clock.after(timeoutMs, () => resolve("time"));
    this.#hear = (news) => {
      if (listensTo(news)) resolve(news);
    };
    const news = await promise;
    this.#hear = undefined;
    timer.cancel();
    return news;
  }

  #settle(): void {
    if (this.#isSettled) return;
    this.#isSettled = true;
    this.#deadline?.cancel();
    this.#onSettled();
    this.tell("settled");
  }
}

export function unanswered(shard: number, timeoutMs: number): EngineError {
  const message = `nobody answered a call to shard ${shard} within ${timeoutMs} ms; whether it was carried out is unknown`;
  return new EngineError("CALL_UNANSWERED", message);
}
