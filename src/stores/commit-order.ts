/** Serializes the commits of one shard in the order of the calls, although each may take another connection. */
export class CommitOrder {
  /** Last commit of each shard that is under way, as a promise that never rejects. */
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
