/** A client's position in the stream of changes. */
export interface Cursor {
  /** Id of the feed, new with every start of the server. */
  readonly feed: string;
  /** Number of the last received change. */
  readonly seq: number;
  /** Time at which the feed received that change; the client knows everything before. */
  readonly at: number;
  /** The last turn of the instance, for a subscription of one instance. */
  readonly turn?: number;
  /** Creation time of that instance, because ids may be reused. */
  readonly createdAt?: number;
}

const shape = /^([\w-]{1,64}):(\d{1,15}):(\d{1,15})(?::(\d{1,15}):(\d{1,15}))?$/;

/** Serializes a cursor; opaque to clients. */
export function cursorText({ feed, seq, at, turn, createdAt }: Cursor): string {
  const wide = `${feed}:${seq}:${at}`;
  return turn === undefined || createdAt === undefined ? wide : `${wide}:${turn}:${createdAt}`;
}

/** Parses a cursor; undefined if it is invalid. */
export function parseCursor(text: string): Cursor | undefined {
  const [, feed, seq, at, turn, createdAt] = shape.exec(text) ?? [];
  if (feed === undefined) return undefined;
  const wide = { feed, seq: Number(seq), at: Number(at) };
  return turn === undefined ? wide : { ...wide, turn: Number(turn), createdAt: Number(createdAt) };
}
