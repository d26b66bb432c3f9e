import { Interest } from "./interest.ts";

/**
 * A promise of something that can be given up: an event or a timer, or whatever was derived from such a promise. It knows
 * who wants it: `await` and the functions of `Promise` call its `then`, because its constructor is not `Promise`.
 */
export class ContextPromise<T> extends Promise<T> {
  declare interest: Interest;

  static override get [Symbol.species](): PromiseConstructor {
    return Promise;
  }

  /** Makes it of a plain promise. */
  static of<T>(promise: Promise<T>, interest: Interest): ContextPromise<T> {
    const own = Object.setPrototypeOf(promise, ContextPromise.prototype) as ContextPromise<T>;
    own.interest = interest;
    return own;
  }

  // eslint-disable-next-line unicorn/no-thenable -- whoever awaits it is to be counted
  override then<A = T, B = never>(
    onFulfilled?: ((value: T) => A | PromiseLike<A>) | null,
    onRejected?: ((reason: unknown) => B | PromiseLike<B>) | null,
  ): Promise<A | B> {
    return ContextPromise.of(super.then(onFulfilled, onRejected), new Interest([this.interest]));
  }
}

/** Works like `Promise.all`. */
export function allOf<T>(values: readonly T[]): Promise<Awaited<T>[]> {
  const all = markHandled(Promise.all(values.map(plain)));
  const sources = interestsIn(values);
  return sources.length === 0 ? all : ContextPromise.of(all, new Interest(sources));
}

/**
 * Works like `Promise.race` and `Promise.any`, but cancels the waits that lose, unless something else awaits them,
 * before the result settles.
 */
export function raceOf<T>(values: readonly T[], wins: "settled" | "fulfilled"): Promise<Awaited<T>> {
  const interest = new Interest(interestsIn(values));
  const { promise, resolve, reject } = Promise.withResolvers<Awaited<T>>();
  let isDecided = false;
  const decide = (winner: T, settle: () => void): void => {
    if (isDecided) return;
    isDecided = true;
    try {
      interest.decide(interestIn(winner));
    } catch (error) {
      return reject(error);
    }
    settle();
  };
  const errors: unknown[] = [];
  let failed = 0;
  const fail = (value: T, place: number, error: unknown): void => {
    if (wins === "settled") return decide(value, () => reject(error));
    errors[place] = error;
    if (++failed === values.length) reject(allFailed(errors));
  };
  for (const [place, value] of values.entries()) {
    plain(value).then(
      (result) => decide(value, () => resolve(result)),
      (error: unknown) => fail(value, place, error),
    );
  }
  if (values.length === 0 && wins === "fulfilled") reject(allFailed(errors));
  return ContextPromise.of(markHandled(promise), interest);
}

function allFailed(errors: readonly unknown[]): AggregateError {
  return new AggregateError(errors, "All promises were rejected");
}

/** Returns a promise that settles in the same way, without counting as a consumer. */
function plain<T>(value: T): Promise<Awaited<T>> {
  if (!(value instanceof ContextPromise)) return Promise.resolve(value);
  return Promise.prototype.then.call(value) as Promise<Awaited<T>>;
}

function interestsIn(values: readonly unknown[]): Interest[] {
  return values.flatMap((value) => interestIn(value) ?? []);
}

function interestIn(value: unknown): Interest | undefined {
  return value instanceof ContextPromise ? value.interest : undefined;
}

/** Marks a promise as handled: code that does not await it any more must not end the process when it fails. */
export function markHandled<T>(promise: Promise<T>): Promise<T> {
  void Promise.prototype.then.call(promise, undefined, () => undefined);
  return promise;
}
