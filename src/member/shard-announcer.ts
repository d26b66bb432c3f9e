import type { Clock } from "../base/clock.ts";
import type { Hint, OpenedShard } from "../runtime/call.ts";

/** Shards that are opened within this time are announced together. */
const gatherMs = 20;

export interface ShardAnnouncerParts {
  readonly clock: Clock;
  readonly member: () => string;
  /** The epoch under which the shard is open here; undefined if it is not. */
  readonly epochOf: (shard: number) => number | undefined;
  readonly hintOthers: (hint: Hint) => void;
}

/** Tells the other members which shards are open here, so that they need not wait for their next view. */
export class ShardAnnouncer {
  readonly #parts: ShardAnnouncerParts;
  #opened: number[] = [];

  constructor(parts: ShardAnnouncerParts) {
    this.#parts = parts;
  }

  /** A member that joins opens many shards: a message for each, to every member, would be too many. */
  onOpened(shard: number): void {
    if (this.#opened.push(shard) === 1) this.#parts.clock.after(gatherMs, () => this.#announce());
  }

  #announce(): void {
    const { member, epochOf, hintOthers } = this.#parts;
    const opened = this.#opened.flatMap((shard): OpenedShard[] => {
      const epoch = epochOf(shard);
      return epoch === undefined ? [] : [{ shard, epoch }];
    });
    this.#opened = [];
    const [first, ...more] = opened;
    if (first !== undefined) hintOthers({ type: "ShardOpened", owner: member(), ...first, more });
  }
}
