import type { Clock } from "../base/clock.ts";
import { messageOf } from "../base/error.ts";
import type { Logger } from "../base/logger.ts";
import { Allocators } from "../cluster/allocators.ts";
import { DomainQuotas } from "../cluster/domain-quotas.ts";
import type { OwnerTable } from "../cluster/owner-table.ts";
import type { SlotGrant, SlotReport } from "../cluster/slot-report.ts";
import type { Dispatcher } from "../dispatch/dispatcher.ts";
import type { DomainOptions } from "../dispatch/domain-pool.ts";
import type { DomainRow, Store } from "../stores/store.ts";
import type { ResolvedClusterOptions } from "./cluster-options.ts";
import type { KnownMembers } from "./known-members.ts";
import type { MemberRuntime } from "./member-runtime.ts";

export interface SharedDomainsParts {
  readonly store: Store;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly options: ResolvedClusterOptions;
  readonly dispatcher: Dispatcher;
  /** The domains in the options of this engine. */
  readonly domains: Readonly<Record<string, DomainOptions>>;
  readonly members: KnownMembers;
  readonly owners: OwnerTable;
  readonly runtime: () => MemberRuntime;
  /** The id of this member, once a view has contained it. */
  readonly viewedId: () => string;
}

/** The domains that all members share: the quotas of this member, and the allocators on its shards. */
export class SharedDomains {
  readonly allocators: Allocators;
  readonly quotas: DomainQuotas;
  readonly #parts: SharedDomainsParts;

  constructor(parts: SharedDomainsParts) {
    this.#parts = parts;
    const { store, clock, logger, options, dispatcher, members, owners } = parts;
    const { timings, remoteWorkers } = options;
    const workerLostMs = remoteWorkers ? timings.workerLostMs : 0;
    this.allocators = new Allocators({
      store,
      clock,
      members,
      workerLostMs,
      quietMs: () => Math.max(0, workerLostMs - members.msSinceLoss),
    });
    this.quotas = new DomainQuotas({
      member: parts.viewedId,
      clock,
      logger,
      timings,
      domains: Object.keys(parts.domains),
      call: (domain, report) => this.#report(domain, report),
      seenEpoch: (domain) => owners.epochOf(this.#shardOf(domain)),
      pool: dispatcher,
      hasRemoteWorkers: () => remoteWorkers,
    });
  }

  /** Declares the domains of this engine's options, and reads those of the cluster, whose sizes take precedence. */
  async declare(): Promise<void> {
    const { store, domains, logger } = this.#parts;
    const declared = Object.entries(domains).map(([name, { size, priority = 0 }]) => ({ name, size, priority }));
    await store.declareDomains(declared);
    for (const { name, size } of await this.learn()) {
      const configured = domains[name]?.size ?? size;
      if (configured === size) continue;
      logger.warn({ domain: name, size, configured }, "the cluster has another size for a domain, and keeps it");
    }
  }

  /** Every member takes part in every domain, including those that others have declared. */
  async learn(): Promise<readonly DomainRow[]> {
    const { store, dispatcher, logger } = this.#parts;
    try {
      const rows = await store.loadDomains();
      for (const { name, size, priority } of rows) {
        dispatcher.declareDomain(name, { size, priority });
        this.quotas.declare(name);
      }
      return rows;
    } catch (error) {
      logger.warn({ error: messageOf(error) }, "the shared domains could not be read; the next poll tries again");
      return [];
    }
  }

  /** Sets the size of a domain, which may be new, for the whole cluster. */
  async set(domain: DomainRow): Promise<void> {
    await this.#parts.runtime().client.setDomain(domain);
    this.quotas.declare(domain.name);
  }

  async #report(domain: string, report: SlotReport): Promise<SlotGrant> {
    const { rebalanceMs, pollMs } = this.#parts.options.timings;
    // Without a working bus, the report and its answer each wait for a poll of a mailbox.
    const timeoutMs = Math.max(10 * rebalanceMs, 4 * pollMs);
    const { client } = this.#parts.runtime();
    return await client.callShard(this.#shardOf(domain), { type: "ReportSlots", report }, timeoutMs);
  }

  #shardOf(domain: string): number {
    return this.#parts.runtime().region.shardOfDomain(domain);
  }
}
