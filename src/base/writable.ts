/** A type while its value is being made: optional fields are added one by one, which is cheaper than spreading them. */
export type Writable<T> = { -readonly [K in keyof T]: T[K] };
