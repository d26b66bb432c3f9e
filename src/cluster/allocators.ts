import type { Clock } from "../base/clock.ts";
import { EngineError, hasCode, messageOf } from "../base/error.ts";
import { localName } from "../base/namespace.ts";
import type { DomainRow, Store } from "../stores/store.ts";
import { DomainAllocator } from "./domain-allocator.ts";
import type { SlotGrant, SlotReport } from "./slot-report.ts";

export interface AllocatorsParts {
  readonly store: Store;
  readonly clock: Clock;
  readonly members: LivingMembers;
  /** Time a remote worker keeps running without its member; 0 in a cluster without remote workers. */
  readonly workerLostMs: number;
  /** Time remote workers of members that were lost so far may keep running. */
  readonly quietMs: () => number;
}

export interface LivingMembers {
  /** The members in a view that was requested after that moment of the monotonic clock; undefined before there is one. */
  livingSince(moment: number): ReadonlySet<string> | undefined;
}

/** The claim under which this member owns the shard that a domain's allocator is placed on. */
export interface AllocatorClaim {
  readonly epoch: number;
  /** Monotonic time of the claim. */
  readonly claimedAt: number;
}

/**
 * The allocators of shared domains that are placed on shards of this member. Their state is in memory: a new allocator,
 * created when its shard is opened here, first waits until every member has reported the slots it holds. The store
 * keeps the sizes only.
 */
export class Allocators {
  readonly #parts: AllocatorsParts;
  readonly #placed = new Map<string, { readonly epoch: number; readonly allocator: Promise<DomainAllocator> }>();

  constructor(parts: AllocatorsParts) {
    this.#parts = parts;
  }

  /** `DOMAIN_UNKNOWN`. `CALL_UNANSWERED`: the allocator cannot say anything yet; the member reports again by itself. */
  async report(claim: AllocatorClaim, report: SlotReport): Promise<SlotGrant> {
    const allocator = await this.#allocatorOf(claim, report.domain);
    try {
      return allocator.report(report);
    } catch (error) {
      if (!hasCode(error, "SHARD_MOVED")) throw error;
      // `SHARD_MOVED` would make the router ask another member.
      throw new EngineError("CALL_UNANSWERED", messageOf(error), { cause: error });
    }
  }

  /** The new size is in the store. */
  async resize(claim: AllocatorClaim, { name, size }: DomainRow): Promise<void> {
    (await this.#allocatorOf(claim, name)).resize(size);
  }

  #allocatorOf(claim: AllocatorClaim, domain: string): Promise<DomainAllocator> {
    const placed = this.#placed.get(domain);
    if (placed?.epoch === claim.epoch) return placed.allocator;
    // There is one allocator per epoch: a call under an earlier claim of the shard must not take its place.
    if (placed !== undefined && placed.epoch > claim.epoch) return Promise.reject(notYet(domain));
    const allocator = this.#make(claim, domain);
    this.#placed.set(domain, { epoch: claim.epoch, allocator });
    allocator.catch(() => {
      if (this.#placed.get(domain)?.allocator === allocator) this.#placed.delete(domain);
    });
    return allocator;
  }

  async #make({ epoch, claimedAt }: AllocatorClaim, domain: string): Promise<DomainAllocator> {
    const { store, clock, members, workerLostMs, quietMs } = this.#parts;
    // A member that died before the shard was claimed is missing from that view at the latest.
    if (members.livingSince(claimedAt) === undefined) throw notYet(domain);
    const row = (await store.loadDomains()).find(({ name }) => name === domain);
    if (row === undefined)
      throw new EngineError("DOMAIN_UNKNOWN", `domain "${localName(domain)}" is not declared in the cluster`);
    return new DomainAllocator({
      domain,
      size: row.size,
      epoch,
      clock,
      living: () => members.livingSince(claimedAt),
      workerLostMs,
      quietMs: quietMs(),
    });
  }
}

function notYet(domain: string): EngineError {
  return new EngineError("CALL_UNANSWERED", `the slots of domain "${localName(domain)}" cannot be handed out yet`);
}
