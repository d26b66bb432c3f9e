import type { Clock, Timer } from "../base/clock.ts";
import { EngineError, messageOf } from "../base/error.ts";
import type { Logger } from "../base/logger.ts";
import type { Random } from "../base/random.ts";
import { Allocators } from "../cluster/allocators.ts";
import { CallRouter } from "../cluster/call-router.ts";
import { DomainQuotas } from "../cluster/domain-quotas.ts";
import { formatAbout, type MemberAbout, parseAbout } from "../cluster/member-about.ts";
import type { MemberEvent } from "../cluster/member-event.ts";
import type { MemberView } from "../cluster/member-view.ts";
import { Membership } from "../cluster/membership.ts";
import { ShardKeeper } from "../cluster/shard-keeper.ts";
import type { SlotGrant, SlotReport } from "../cluster/slot-report.ts";
import type { Dispatcher } from "../dispatch/dispatcher.ts";
import type { DomainOptions } from "../dispatch/domain-pool.ts";
import type { Link, LinkListener } from "../dispatch/link.ts";
import type { OnTaskLog } from "../dispatch/task-log.ts";
import type { TaskRun } from "../dispatch/task-run.ts";
import type { CallOf, CallType, Hint, ResultOf } from "../runtime/call.ts";
import type { CallClient, CallTransport, CallTransportOptions } from "../runtime/call-client.ts";
import { decodeHint, decodeResult, isUserWrite } from "../runtime/call-codec.ts";
import type { CallHandler } from "../runtime/call-handler.ts";
import { ForeignAttempts } from "../runtime/foreign-attempts.ts";
import { InstanceTaskRun } from "../runtime/instance-task-run.ts";
import type { Region, RegionCluster } from "../runtime/region.ts";
import type { ClusterView, DomainRow, MemberRow, Store } from "../stores/store.ts";
import { isHalfImported } from "../stores/transfer-mark.ts";
import type { ResolvedClusterOptions } from "./cluster-options.ts";
import { OwnerTable } from "../cluster/owner-table.ts";
import { type ThisMachine, thisMachine } from "../cluster/process-stamp.ts";
import { systemProcessTable } from "../cluster/process-table.ts";
import { RemoteWorkers, type RemoteWorkersParts } from "./remote-workers.ts";

export interface ClusterMemberParts {
  readonly options: ResolvedClusterOptions;
  readonly store: Store;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly dispatcher: Dispatcher;
  readonly domains: Readonly<Record<string, DomainOptions>>;
  readonly runsJobs: boolean;
  readonly onTaskLog?: OnTaskLog | undefined;
}

/** The shards of the member, and both sides of calls. They are made after it, because they need it. */
export interface MemberRuntime {
  readonly region: Region;
  readonly client: CallClient;
  readonly handler: CallHandler;
}

/** An engine among others on one store: joins the parts that make it one of them. */
export class ClusterMember implements RegionCluster, CallTransport {
  readonly hosts: ForeignAttempts;
  readonly callMs: number;
  /** Or has tried to. */
  hasJoined = false;
  readonly #parts: ClusterMemberParts;
  readonly #membership: Membership;
  readonly #keeper: ShardKeeper;
  readonly #router: CallRouter;
  readonly #quotas: DomainQuotas;
  #workers: RemoteWorkers | undefined;
  readonly allocators: Allocators;
  readonly #owners = new OwnerTable();
  readonly #suspected = new Set<string>();
  /** Took their leave in good order. */
  readonly #left = new Set<string>();
  readonly #listeners = new Set<(event: MemberEvent) => void>();
  readonly #viewWaiters: (() => void)[] = [];
  #attached: MemberRuntime | undefined;
  /** The own id, once a view has shown it. */
  #viewedId = "";
  /** When a member was last seen to be lost. This one saw nothing before it joined. */
  #lossSeenAt = Infinity;
  #timers: Timer[] = [];

  constructor(parts: ClusterMemberParts) {
    this.#parts = parts;
    this.callMs = parts.options.timings.callMs;
    const { store, clock, random, logger, dispatcher, options } = parts;
    const { timings, name } = options;
    const living = (): ReadonlySet<string> => this.#membership.living;
    this.#membership = new Membership({
      store,
      clock,
      logger,
      timings,
      address: name,
      about: () => formatAbout(this.#about()),
      process: machineOf(parts),
      newId: () => `${name}:${joinStamp(random.uuid(clock.now()))}`,
      onView: (view) => this.#follow(view),
      onEvent: (event) => this.#onEvent(event),
      onLapsed: () => dispatcher.interruptAll(),
      onRegained: () => dispatcher.onLeaseChanged(),
      onGone: () => this.#gone(),
    });
    this.#keeper = new ShardKeeper({
      shardCount: options.shards,
      clock,
      logger,
      host: { open: (shard) => this.#runtime.region.openShard(shard), release: (shard) => this.#release(shard) },
      onEvent: (event) => this.#onEvent(event),
    });
    this.#router = this.#makeRouter();
    this.hosts = new ForeignAttempts({
      clock,
      logger,
      timings,
      dispatcher,
      member: () => this.id,
      isLiving: (member) => living().has(member),
      hasLeft: (member) => this.#left.has(member),
      hasSeen: (moment) => this.#membership.viewAskedAt >= moment,
      shardOf: (id) => this.#runtime.region.shardOf(id),
      call: (shard, call, timeoutMs) => this.#runtime.client.callShard(shard, call, timeoutMs),
      hint: (member, hint) => this.#router.hint(member, hint),
    });
    const workerLostMs = options.remoteWorkers ? timings.workerLostMs : 0;
    this.allocators = new Allocators({
      store,
      clock,
      livingSince: (moment) => (this.#membership.viewAskedAt >= moment ? living() : undefined),
      workerLostMs,
      quietMs: () => Math.max(0, workerLostMs - (clock.monotonic() - this.#lossSeenAt)),
    });
    this.#quotas = new DomainQuotas({
      member: () => this.#viewedId,
      clock,
      logger,
      timings,
      domains: Object.keys(parts.domains),
      call: (domain, report) => this.#reportSlots(domain, report),
      seenEpoch: (domain) => this.#owners.epochOf(this.#domainShard(domain)),
      pool: dispatcher,
      hasRemoteWorkers: () => options.remoteWorkers,
    });
  }

  #makeRouter(): CallRouter {
    const { store, clock, random, logger, options } = this.#parts;
    return new CallRouter({
      store,
      bus: options.bus,
      clock,
      random,
      logger,
      timings: options.timings,
      ownerOf: (shard) => this.#ownerOf(shard),
      ownedShards: () => this.#keeper.owned,
      handle: (shard, call) => this.#runtime.handler.handle(shard, call),
      isAbandoned: ({ from, body }) => this.#isAbandoned(from, body),
      onHint: ({ body }) => this.#onHint(decodeHint(body)),
    });
  }

  /**
   * An order of a user whose member is gone: the user knows that its outcome is unknown, and may have decided otherwise
   * since. A member joins before it sends anything, so one that is in no later view is gone for good.
   */
  async #isAbandoned(from: string, body: unknown): Promise<boolean> {
    if (this.#membership.living.has(from) || !isUserWrite(body)) return false;
    await this.#newView();
    return !this.#membership.living.has(from);
  }

  get id(): string {
    return this.#membership.id;
  }

  attach(runtime: MemberRuntime, admit: RemoteWorkersParts["admit"]): void {
    this.#attached = runtime;
    const { region } = runtime;
    const { clock, logger, dispatcher, options } = this.#parts;
    if (!options.remoteWorkers) return;
    this.#workers = new RemoteWorkers({
      clock,
      logger,
      timings: options.timings,
      dispatcher,
      region,
      foreignAttempts: this.hosts,
      member: () => this.id,
      isLeaseValid: () => this.isLeaseValid(),
      counted: (domain) => this.#quotas.counted(domain),
      admit,
      onTaskLog: this.#parts.onTaskLog,
    });
  }

  /** A worker has connected. `OPTION_INVALID` if this cluster has none. */
  acceptWorker(link: Link, principal?: string): LinkListener {
    if (this.#workers !== undefined) return this.#workers.accept(link, principal);
    throw new EngineError("OPTION_INVALID", 'workers can connect only with the engine option "cluster.remoteWorkers"');
  }

  get refusedWorkerMessages(): number {
    return this.#workers?.refusedMessages ?? 0;
  }

  /** An attempt runs on, on a worker that has gone to another member: nobody else may have its slot yet. */
  onDetached(run: TaskRun, { worker, isLost }: { worker: string; isLost: boolean }): void {
    this.#quotas.left(run.domain, 1);
    if (isLost) return;
    // A task of no instance has nobody who would look for it.
    if (!(run instanceof InstanceTaskRun)) run.owner.ended(run, { kind: "lost" }, { worker });
    else run.actor.host.runsElsewhere(run, worker);
  }

  /** Joins the cluster, and opens the shards that are its own by then; others come later. */
  async open(): Promise<void> {
    const { store, domains, options } = this.#parts;
    const { timings, bus } = options;
    const declared = Object.entries(domains).map(([name, { size, priority = 0 }]) => ({ name, size, priority }));
    await store.declareDomains(declared);
    await this.#learnDomains();
    this.hasJoined = true;
    await this.#membership.start();
    this.hosts.start();
    await this.#untilSettled();
    this.#quotas.start();
    this.#every(bus === undefined ? timings.pollWithoutBusMs : timings.pollMs, () => this.#fetchMessages());
    this.#every(timings.workerBeatMs, () => {
      this.#runtime.region.sweepRemoteAttempts();
      void this.#learnDomains();
    });
  }

  /** A start that came back at once would be followed by calls to shards that nobody has yet, or that wait for a view. */
  async #untilSettled(): Promise<void> {
    const { clock, options } = this.#parts;
    const { promise: patienceOver, resolve } = Promise.withResolvers<void>();
    const timer = clock.after(options.timings.suspectMs, resolve);
    await Promise.race([this.#keeper.settled().then(() => this.#newView()), patienceOver]);
    timer.cancel();
  }

  /** One that was asked for after this moment. */
  async #newView(): Promise<void> {
    const now = this.#parts.clock.monotonic();
    this.#membership.refreshView();
    while (this.#membership.viewAskedAt < now) await new Promise<void>((resolve) => this.#viewWaiters.push(resolve));
  }

  /** Hands its shards over and leaves. */
  async close(): Promise<void> {
    for (const timer of this.#timers) timer.cancel();
    this.#quotas.stop();
    this.#router.hintAll(this.#others(), { type: "MemberLeaving", member: this.id } satisfies Hint);
    await this.#keeper.releaseAll();
    this.hosts.stop();
    const stopped = new EngineError("ENGINE_STATE", "the engine was stopped");
    this.#router.stop(stopped);
    this.#runtime.client.stop(stopped);
    await this.#membership.stop();
  }

  isLeaseValid(): boolean {
    return this.#membership.lease.isValid;
  }

  /** Why it stands still; undefined if it does not. */
  get problem(): string | undefined {
    return this.isLeaseValid() ? undefined : "this member has not heard from the store for long: its lease has lapsed";
  }

  async call<T extends CallType>(shard: number, call: CallOf<T>, options: CallTransportOptions): Promise<ResultOf<T>> {
    return decodeResult<T>(call.type, await this.#router.call(shard, call, options));
  }

  hintOwner(shard: number, hint: Hint): void {
    const owner = this.#ownerOf(shard);
    if (owner !== undefined) this.#router.hint(owner, hint);
  }

  /** Sets the limit of a domain, which may be new, for the whole cluster. */
  async setDomain(domain: DomainRow): Promise<void> {
    await this.#runtime.client.setDomain(domain);
    this.#quotas.declare(domain.name);
  }

  /** Somebody waits for a slot of the domain. */
  wantsSlots(domain: string): void {
    this.#quotas.wanted(domain);
  }

  lostShard(shard: number): void {
    this.#keeper.lost(shard);
  }

  members(): MemberView[] {
    const { members } = this.#membership.view;
    const oldest = oldestOf(members);
    return members.map(({ id, address, about }) => ({
      id,
      address,
      ...(id === this.id ? this.#about() : parseAbout(about)),
      isSuspected: this.#suspected.has(id),
      shards: id === this.id ? this.#keeper.owned.size : this.#owners.countOf(id),
      isSelf: id === this.id,
      isOldest: id === oldest,
    }));
  }

  /** Sends a heartbeat now: what this member says about itself has changed. */
  announceChange(): void {
    this.#membership.refreshView();
  }

  #about(): MemberAbout {
    const { runsJobs, dispatcher } = this.#parts;
    return { roles: runsJobs ? ["server", "worker"] : ["server"], isDraining: dispatcher.isDraining };
  }

  onEvent(listener: (event: MemberEvent) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  get #runtime(): MemberRuntime {
    if (this.#attached === undefined) throw new EngineError("ENGINE_STATE", "the engine is not running");
    return this.#attached;
  }

  #every(ms: number, work: () => void): void {
    const place = this.#timers.length;
    const again = (): void => {
      this.#timers[place] = this.#parts.clock.after(ms, () => {
        again();
        work();
      });
    };
    again();
  }

  /** Every member takes part in every domain, also those that others have declared. */
  async #learnDomains(): Promise<void> {
    const { store, dispatcher, domains, logger } = this.#parts;
    try {
      for (const { name, size, priority } of await store.loadDomains()) {
        const configured = domains[name]?.size ?? size;
        if (!this.hasJoined && configured !== size) {
          logger.warn({ domain: name, size, configured }, "the cluster has another size for a domain, and keeps it");
        }
        dispatcher.declareDomain(name, { size, priority });
        this.#quotas.declare(name);
      }
    } catch (error) {
      logger.warn({ error: messageOf(error) }, "the shared domains could not be read; the next look will");
    }
  }

  #fetchMessages(): void {
    void this.#runtime.region.fetchMessages([...this.#keeper.owned]);
  }

  #follow(view: ClusterView): void {
    // An import that began while this member joined has the shards to itself until it is through.
    if (isHalfImported(view.shards)) return;
    this.#viewedId = this.id;
    this.#owners.follow(view);
    this.#runtime.region.followEpochs(view.shards);
    this.#keeper.follow(view, this.id);
    this.#runtime.region.sweepRemoteAttempts();
    for (const resolve of this.#viewWaiters.splice(0)) resolve();
  }

  #ownerOf(shard: number): string | undefined {
    if (this.#keeper.owned.has(shard)) return this.id;
    const owner = this.#owners.ownerOf(shard);
    return owner !== undefined && this.#membership.living.has(owner) && owner !== this.id ? owner : undefined;
  }

  async #release(shard: number): Promise<void> {
    try {
      await this.#runtime.region.releaseShard(shard);
    } catch (error) {
      // Its work was laid down all the same. Whoever the store says has it, and be it this member, opens it anew.
      this.#keeper.lost(shard);
      throw error;
    }
    this.#router.hintAll(this.#others(), { type: "ShardFreed", shard } satisfies Hint);
  }

  #others(): string[] {
    return [...this.#membership.living].filter((member) => member !== this.id);
  }

  #onHint(hint: Hint | undefined): void {
    switch (hint?.type) {
      case undefined:
        return;
      case "OutboxMessage":
        return this.#runtime.region.receive(hint.row);
      case "AbortAttempts":
        return this.hosts.drop(hint.attemptIds);
      case "MemberLeaving":
        return this.#keeper.leaving(hint.member);
      case "ShardFreed":
        return this.#keeper.freed(hint.shard);
      case "ShardOpened":
        return this.#owners.opened(hint);
    }
  }

  /** Others have taken over: nothing that this member owned or ran is its own any more. */
  async #gone(): Promise<void> {
    const error = new EngineError("MEMBER_LOST", `member ${this.id} was silent for too long and was taken for lost`);
    this.#keeper.dropAll();
    this.#runtime.region.loseAll(error);
    this.hosts.clear();
    this.#quotas.dropAll();
    this.#parts.dispatcher.interruptAll();
  }

  #onEvent(event: MemberEvent): void {
    if (event.type === "joined" && event.member === this.id) {
      this.#router.start(this.id);
      this.#lossSeenAt = this.#parts.clock.monotonic();
      this.#parts.dispatcher.onLeaseChanged();
    }
    if (event.type === "suspected") this.#suspected.add(event.member);
    else if (event.type !== "joined") this.#suspected.delete(event.member);
    if (event.type === "left") this.#left.add(event.member);
    // One that leaves in good order sends its workers away with what they run.
    if (event.type === "lost" || event.type === "left") this.#lossSeenAt = this.#parts.clock.monotonic();
    if (event.type === "shard-opened") {
      this.#announce(event.shard);
      // Whether those who held attempts of these shards are gone is told by a view from after they were claimed.
      if (this.#keeper.isSettled) this.#membership.refreshView();
    }
    for (const listener of this.#listeners) {
      try {
        listener(event);
      } catch (error) {
        this.#parts.logger.warn({ error: messageOf(error) }, "a listener to member events threw");
      }
    }
  }

  /** So that others need not wait for their next view to find the shard. */
  #announce(shard: number): void {
    const epoch = this.#runtime.region.epochOf(shard);
    if (epoch === undefined) return;
    this.#router.hintAll(this.#others(), { type: "ShardOpened", shard, epoch, owner: this.id } satisfies Hint);
  }

  #domainShard(domain: string): number {
    return this.#runtime.region.shardOfDomain(domain);
  }

  async #reportSlots(domain: string, report: SlotReport): Promise<SlotGrant> {
    const { rebalanceMs, pollMs } = this.#parts.options.timings;
    // Without a bus that works, it is found at the owner's next look into its mailboxes, and so is the answer.
    const timeoutMs = Math.max(10 * rebalanceMs, 4 * pollMs);
    return await this.#runtime.client.callShard(this.#domainShard(domain), { type: "ReportSlots", report }, timeoutMs);
  }
}

/** Members on a store that is no server are in one process: its number tells nothing about them. */
function machineOf({ store, options }: ClusterMemberParts): ThisMachine {
  const table = options.processTable ?? (store.clusters === "always" ? systemProcessTable : undefined);
  return table === undefined ? { stamp: undefined, hasDied: () => false } : thisMachine(table);
}

const stampLength = 22;

/** The time, and a little chance: stamps compare as the times they were made at. */
function joinStamp(uuid: string): string {
  return `${uuid.slice(0, 13)}-${uuid.slice(-8)}`;
}

/**
 * By when their ids were made, so that all members name the same one. Their beats do not tell: whoever waits for news
 * beats more often.
 */
function oldestOf(members: readonly MemberRow[]): string | undefined {
  return members.toSorted((a, b) => (a.id.slice(-stampLength) < b.id.slice(-stampLength) ? -1 : 1))[0]?.id;
}
