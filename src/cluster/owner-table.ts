import type { ClusterView } from "../stores/store.ts";

/** The owners of shards as far as they are known: from views of the store, and sooner from hints. */
export class OwnerTable {
  readonly #rows = new Map<number, { readonly epoch: number; readonly owner: string | undefined }>();

  follow(view: ClusterView): void {
    for (const { shard, epoch, owner, released } of view.shards) {
      if (epoch >= (this.#rows.get(shard)?.epoch ?? 0)) {
        this.#rows.set(shard, { epoch, owner: released ? undefined : owner });
      }
    }
  }

  /** A hint says that a member has opened the shard. */
  onOpened({ shard, epoch, owner }: { shard: number; epoch: number; owner: string }): void {
    if (epoch > (this.#rows.get(shard)?.epoch ?? 0)) this.#rows.set(shard, { epoch, owner });
  }

  ownerOf(shard: number): string | undefined {
    return this.#rows.get(shard)?.owner;
  }

  /** The last known epoch; 0 for a shard that was never claimed. */
  epochOf(shard: number): number {
    return this.#rows.get(shard)?.epoch ?? 0;
  }

  countOf(member: string): number {
    let count = 0;
    for (const { owner } of this.#rows.values()) if (owner === member) count++;
    return count;
  }
}
