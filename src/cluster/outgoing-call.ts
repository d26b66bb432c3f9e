import type { Clock, Timer } from "../base/clock.ts";
import { EngineError } from "../base/error.ts";

/** A shard that moves usually has its next owner in a moment. */
const movedPauseMsFirst = 50;
const movedPauseMsMax = 1000;

export type CallRoute = "bus" | "mail";

/** The addressee of a call: whoever owns the shard, or one member. */
export type CallTarget = { readonly shard: number } | { readonly member: string };

/** News for a waiting call: it is settled, its shard has moved, its member has a new id, or nothing in time. */
export type News = "settled" | "moved" | "rejoined" | "time";

/** A call of this member that nobody has answered yet. */
export class OutgoingCall {
  readonly id: string;
  readonly key: string;
  readonly target: CallTarget;
  readonly body: unknown;
  readonly holdMs: number;
  readonly promise: Promise<unknown>;
  /** Requests since the owner was last known, and the route of the last of them. */
  tries = 0;
  /** True if the call was neither sent nor handled yet: its next delivery is the first. */
  isFirst: boolean;
  lastRoute: CallRoute | undefined;
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
    target: CallTarget;
    body: unknown;
    timeoutMs: number;
    holdMs: number;
    onSettled: () => void;
  }) {
    const { clock, timeoutMs, target } = parts;
    const { promise, resolve, reject } = Promise.withResolvers<unknown>();
    this.id = parts.id;
    this.key = parts.key;
    this.target = target;
    this.body = parts.body;
    this.holdMs = parts.holdMs;
    this.promise = promise;
    this.#resolve = resolve;
    this.#reject = reject;
    this.#clock = clock;
    this.#since = clock.monotonic();
    this.#onSettled = parts.onSettled;
    // A given key marks the repetition of a call that was delivered before.
    this.isFirst = parts.id === parts.key;
    if (timeoutMs === Infinity) return;
    this.#deadline = clock.after(timeoutMs, () => this.reject(unansweredError(target, timeoutMs)));
  }

  get isSettled(): boolean {
    return this.#isSettled;
  }

  get ageMs(): number {
    return this.#clock.monotonic() - this.#since;
  }

  /** The first of `resolve` and `reject` counts; later ones do nothing. */
  resolve(value: unknown): void {
    this.#settle();
    this.#resolve(value);
  }

  reject(error: unknown): void {
    this.#settle();
    this.#reject(error);
  }

  noteTry(route: CallRoute): void {
    this.tries++;
    this.lastRoute = route;
  }

  /** The owner may be another one now: its first request has no backoff. */
  forgetTries(): void {
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
  waitForNews(timeoutMs: number): Promise<News> {
    return this.#wait(timeoutMs, () => true);
  }

  /** Waits, and ignores late answers that say that the shard has moved. */
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

export function unansweredError(target: CallTarget, timeoutMs: number): EngineError {
  const to = "shard" in target ? `shard ${target.shard}` : `member ${target.member}`;
  const message = `nobody answered a call to ${to} within ${timeoutMs} ms; whether it was carried out is unknown`;
  return new EngineError("CALL_UNANSWERED", message);
}
