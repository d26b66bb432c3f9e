import type { Clock } from "../base/clock.ts";
import { EngineError, hasCode, messageOf } from "../base/error.ts";
import { DomainAllocator } from "../cluster/domain-allocator.ts";
import type { SlotGrant, SlotReport } from "../cluster/slot-report.ts";
import type { DomainRow, Store } from "../stores/store.ts";
import type { Shard } from "./shard.ts";

export interface AllocatorsParts {
  readonly store: Store;
  readonly clock: Clock;
  /** The members in a view that was asked for after that moment of the monotonic clock; undefined before there is one. */
  readonly livingSince: (moment: number) => ReadonlySet<string> | undefined;
  /** How long workers run on without their member; 0 where there are none but embedded ones. */
  readonly workerLostMs: number;
  /** For how long such workers of members that died before now may still run. */
  readonly quietMs: () => number;
}

/**
 * The allocators of shared domains that are placed on shards of this member. Their state is in memory: one that is made
 * anew, because its shard came here, first hears from everybody what they hold. Only the sizes are in the store.
 */
export class Allocators {
  readonly #parts: AllocatorsParts;
  readonly #placed = new Map<string, { readonly shard: Shard; readonly allocator: Promise<DomainAllocator> }>();

  constructor(parts: AllocatorsParts) {
    this.#parts = parts;
  }

  /** `DOMAIN_UNKNOWN`. `CALL_UNANSWERED`: the allocator cannot say anything yet; the member reports again by itself. */
  async report(shard: Shard, report: SlotReport): Promise<SlotGrant> {
    const allocator = await this.#allocatorOf(shard, report.domain);
    try {
      return allocator.report(report);
    } catch (error) {
      if (!hasCode(error, "SHARD_MOVED")) throw error;
      // To a router that would mean that somebody else can say more.
      throw new EngineError("CALL_UNANSWERED", messageOf(error), { cause: error });
    }
  }

  /** The new size is in the store. */
  async resize(shard: Shard, { name, size }: DomainRow): Promise<void> {
    (await this.#allocatorOf(shard, name)).resize(size);
  }

  #allocatorOf(shard: Shard, domain: string): Promise<DomainAllocator> {
    const placed = this.#placed.get(domain);
    if (placed?.shard === shard) return placed.allocator;
    // There is one for each epoch: an earlier life of the shard that goes on for a moment must not take its place.
    if (placed !== undefined && placed.shard.token.epoch > shard.token.epoch) return Promise.reject(notYet(domain));
    const allocator = this.#make(shard, domain);
    this.#placed.set(domain, { shard, allocator });
    allocator.catch(() => {
      if (this.#placed.get(domain)?.allocator === allocator) this.#placed.delete(domain);
    });
    return allocator;
  }

  async #make(shard: Shard, domain: string): Promise<DomainAllocator> {
    const { store, clock, livingSince, workerLostMs, quietMs } = this.#parts;
    // What died before the shard was claimed is seen in that view, if not before.
    if (livingSince(shard.claimedAt) === undefined) throw notYet(domain);
    const row = (await store.loadDomains()).find(({ name }) => name === domain);
    if (row === undefined) throw new EngineError("DOMAIN_UNKNOWN", `domain "${domain}" is not declared in the cluster`);
    return new DomainAllocator({
      domain,
      size: row.size,
      epoch: shard.token.epoch,
      clock,
      living: () => livingSince(shard.claimedAt),
      workerLostMs,
      quietMs: quietMs(),
    });
  }
}

function notYet(domain: string): EngineError {
  return new EngineError("CALL_UNANSWERED", `the slots of domain "${domain}" cannot be handed out yet`);
}
