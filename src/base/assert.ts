/**
 * A broken invariant is a bug of ours, never an answer to the world. It is not caught to carry on:
 * the turn is abandoned and its instance quarantined, visibly.
 */
export class Bug extends Error {
  override readonly name = "Bug";
}

export function assert(condition: unknown, invariant: string): asserts condition {
  if (!condition) throw new Bug(`invariant broken: ${invariant}`);
}

/** Marks the `default` of a switch over a closed union: a new member fails to compile here. */
export function unreachable(value: never, what: string): never {
  throw new Bug(`invariant broken: ${what} is one of the known kinds, got ${JSON.stringify(value)}`);
}
