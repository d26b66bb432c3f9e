/**
 * Commits of one shard land in the order they were sent, also if nobody waited in between and each takes another
 * connection.
 */
export class CommitOrder {
  /** For each shard the last commit that is under way; it never fails. */
  readonly #last = new Map<number, Promise<void>>();

  async run(shards: readonly number[], commit: () => Promise<void>): Promise<void> {
    const before = shards.flatMap((shard) => this.#last.get(shard) ?? []);
    const done = before.length === 0 ? commit() : Promise.all(before).then(commit);
    const settled = done.catch(() => undefined);
    for (const shard of shards) this.#last.set(shard, settled);
    try {
      await done;
    } finally {
      for (const shard of shards) if (this.#last.get(shard) === settled) this.#last.delete(shard);
    }
  }
}
