/** How far a client is. */
export interface Cursor {
  /** The feed it heard, which is new with every start of the server. */
  readonly feed: string;
  /** The last change it heard there. */
  readonly seq: number;
  /** When the feed heard of it: what was before that time is known to the client. */
  readonly at: number;
  /** Of a client that follows one instance: its last turn. */
  readonly turn?: number;
  /** When that instance was created, for an id may be used again. */
  readonly createdAt?: number;
}

const shape = /^([\w-]{1,64}):(\d{1,15}):(\d{1,15})(?::(\d{1,15}):(\d{1,15}))?$/;

/** As it is given to clients, who keep it and do not look into it. */
export function cursorText({ feed, seq, at, turn, createdAt }: Cursor): string {
  const wide = `${feed}:${seq}:${at}`;
  return turn === undefined || createdAt === undefined ? wide : `${wide}:${turn}:${createdAt}`;
}

/** Nothing if it is not one of ours. */
export function parseCursor(text: string): Cursor | undefined {
  const [, feed, seq, at, turn, createdAt] = shape.exec(text) ?? [];
  if (feed === undefined) return undefined;
  const wide = { feed, seq: Number(seq), at: Number(at) };
  return turn === undefined ? wide : { ...wide, turn: Number(turn), createdAt: Number(createdAt) };
}
