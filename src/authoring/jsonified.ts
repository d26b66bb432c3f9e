/**
 * A value after it was written as JSON and read again, which is how jobs, workflows and clients receive what others give:
 * a Date, and whatever else has a `toJSON`, is what that gives, a property that may be undefined may be missing, functions
 * are gone, and what JSON does not hold is `never`: it is refused when it is given.
 */
export type Jsonified<T> = 0 extends 1 & T
  ? T
  : unknown extends T
    ? T
    : T extends string | number | boolean | null | undefined
      ? T
      : T extends { toJSON(...given: never): infer Json }
        ? Jsonified<Json>
        : T extends NotJson
          ? never
          : T extends readonly unknown[]
            ? { [K in keyof T]: JsonifiedItem<T[K]> }
            : T extends object
              ? JsonifiedObject<T>
              : T;

type NotJson =
  | bigint
  | symbol
  | ((...given: never) => unknown)
  | ReadonlyMap<unknown, unknown>
  | ReadonlySet<unknown>
  | WeakMap<WeakKey, unknown>
  | WeakSet<WeakKey>
  | PromiseLike<unknown>
  | Error
  | RegExp
  | ArrayBuffer
  | ArrayBufferView;

/** In a list there has to be something. */
type JsonifiedItem<T> = T extends undefined ? null : Jsonified<T>;

type JsonifiedObject<T> = Flat<
  {
    [K in keyof T as Kept<T, K> extends true ? (undefined extends T[K] ? never : K) : never]: Jsonified<T[K]>;
  } & {
    [K in keyof T as Kept<T, K> extends true ? (undefined extends T[K] ? K : never) : never]?: Jsonified<
      Exclude<T[K], undefined>
    >;
  }
>;

/** One object instead of two, for whoever reads it in an editor. */
type Flat<T> = { [K in keyof T]: T[K] };

type Kept<T, K extends keyof T> = K extends symbol ? false : T[K] extends (...given: never) => unknown ? false : true;
