/**
 * The type of a value after a round trip through JSON, as jobs, workflows and clients receive it: a value with `toJSON`, such
 * as a Date, becomes what that returns; a property that may be undefined becomes optional; functions are removed; types that
 * JSON cannot represent become `never` and are refused at run time.
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

/** An undefined array element becomes null. */
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

/** Merges an intersection into one object type, which editors show better. */
type Flat<T> = { [K in keyof T]: T[K] };

type Kept<T, K extends keyof T> = K extends symbol ? false : T[K] extends (...given: never) => unknown ? false : true;
