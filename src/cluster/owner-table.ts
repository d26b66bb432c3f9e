import type { ClusterView } from "../stores/store.ts";

/** Who owns which shard, as far as is known: from views of the store, and sooner from what members say. */
export class OwnerTable {
  readonly #rows = new Map<number, { readonly epoch: number; readonly owner: string | undefined }>();

  follow(view: ClusterView): void {
    for (const { shard, epoch, owner, released } of view.shards) {
      if (epoch >= (this.#rows.get(shard)?.epoch ?? 0)) {
        this.#rows.set(shard, { epoch, owner: released ? undefined : owner });
      }
    }
  }

  opened({ shard, epoch, owner }: { shard: number; epoch: number; owner: string }): void {
    if (epoch > (this.#rows.get(shard)?.epoch ?? 0)) this.#rows.set(shard, { epoch, owner });
  }

  ownerOf(shard: number): string | undefined {
    return this.#rows.get(shard)?.owner;
  }

  /** 0 for one that was never claimed. */
  epochOf(shard: number): number {
    return this.#rows.get(shard)?.epoch ?? 0;
  }

  countOf(member: string): number {
    let count = 0;
    for (const { owner } of this.#rows.values()) if (owner === member) count++;
    return count;
  }
}
