import type { Clock } from "../base/clock.ts";
import { EngineError } from "../base/error.ts";
import type { Logger } from "../base/logger.ts";
import type { Random } from "../base/random.ts";
import type { Allocators } from "../cluster/allocators.ts";
import { CallRouter } from "../cluster/call-router.ts";
import { formatAbout, leaversAmong, type MemberAbout, type MemberFacts, rolesOf } from "../cluster/member-about.ts";
import type { MemberEvent } from "../cluster/member-event.ts";
import type { MemberView } from "../cluster/member-view.ts";
import { Membership } from "../cluster/membership.ts";
import type { LeaseThread } from "../cluster/shared-lease.ts";
import { ShardKeeper } from "../cluster/shard-keeper.ts";
import type { Dispatcher } from "../dispatch/dispatcher.ts";
import type { DomainOptions } from "../dispatch/domain-pool.ts";
import type { Link, LinkListener } from "../dispatch/link.ts";
import type { WorkerIdentity } from "../dispatch/worker-sessions.ts";
import type { OnTaskLog } from "../dispatch/task-log.ts";
import type { DetachedAttempt } from "../dispatch/dispatcher-options.ts";
import type { TaskRun } from "../dispatch/task-run.ts";
import type { CallOf, CallType, Hint, ResultOf } from "../runtime/call.ts";
import type { CallTransport, CallTransportOptions } from "../runtime/local-call.ts";
import { decodeHint, decodeResult, isUserWrite } from "../runtime/call-codec.ts";
import { HostedAttempts, type HostedAttemptsParts } from "../runtime/hosted-attempts.ts";
import type { RegionCluster } from "../runtime/region.ts";
import type { ClusterView, DomainRow, Store } from "../stores/store.ts";
import { isHalfImported } from "../stores/importer.ts";
import type { ResolvedClusterOptions } from "./cluster-options.ts";
import { OwnerTable } from "../cluster/owner-table.ts";
import { AwaitedViews } from "./awaited-views.ts";
import { delegate } from "./delegate.ts";
import { joinStamp } from "./join-stamp.ts";
import { KnownMembers } from "./known-members.ts";
import { machineOf } from "./machine-of.ts";
import { MemberSharing } from "./member-sharing.ts";
import { MemberListeners } from "./member-listeners.ts";
import type { MemberRuntime } from "./member-runtime.ts";
import { memberViews } from "./member-views.ts";
import { recordAgain } from "./record-again.ts";
import { RepeatedWork } from "./repeated-work.ts";
import { RemoteWorkers, type RemoteWorkersParts, type WorkerServices } from "./remote-workers.ts";
import { ShardAnnouncer } from "./shard-announcer.ts";
import { ShardRenewals } from "./shard-renewals.ts";
import { SharedDomains } from "./shared-domains.ts";
import { takeHint } from "./take-hint.ts";

export interface ClusterMemberParts {
  readonly options: ResolvedClusterOptions;
  readonly store: Store;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly dispatcher: Dispatcher;
  readonly domains: Readonly<Record<string, DomainOptions>>;
  readonly runsJobs: boolean;
  /** The version of Heddle. */
  readonly version: string;
  readonly stopGraceMs: number;
  readonly leaseThread: LeaseThread | undefined;
  readonly onTaskLog?: OnTaskLog | undefined;
  readonly onJobs: RemoteWorkersParts["onJobs"];
  readonly onWorkerEvent: RemoteWorkersParts["onWorkerEvent"];
  readonly onProgress: HostedAttemptsParts["onProgress"];
  readonly code: RemoteWorkersParts["code"];
}

/** One engine of a cluster: joins membership, shard ownership, calls, shared domains and remote workers. */
export class ClusterMember implements RegionCluster, CallTransport {
  readonly hostedAttempts: HostedAttempts;
  /** Slots and code of other members for instances of this one, and the other way round. */
  readonly sharing: MemberSharing;
  /** True if the member has joined, or has tried to. */
  hasJoined = false;
  readonly #parts: ClusterMemberParts;
  readonly #membership: Membership;
  readonly #keeper: ShardKeeper;
  readonly #router: CallRouter;
  readonly #members: KnownMembers;
  readonly #domains: SharedDomains;
  readonly #owners = new OwnerTable();
  #workers: RemoteWorkers | undefined;
  readonly #listeners: MemberListeners;
  readonly #announcer: ShardAnnouncer;
  readonly #views: AwaitedViews;
  readonly #renewals: ShardRenewals;
  #attached: MemberRuntime | undefined;
  /** The id of this member, once a view has contained it. */
  #viewedId = "";
  readonly #repeated: RepeatedWork;
  #isLeaving = false;
  #rolledBackBy: EngineError | undefined;

  constructor(parts: ClusterMemberParts) {
    this.#parts = parts;
    const { clock, logger, options } = parts;
    this.#listeners = new MemberListeners(logger);
    this.#repeated = new RepeatedWork(clock);
    this.#membership = this.#makeMembership();
    this.#members = new KnownMembers(this.#membership, clock);
    this.#views = new AwaitedViews(this.#membership, clock);
    this.#keeper = new ShardKeeper({
      shardCount: options.shards,
      clock,
      logger,
      shards: { open: (shard) => this.#runtime.region.openShard(shard), release: (shard) => this.#release(shard) },
      hearsOpenings: () => this.#router.isBusConnected,
      onEvent: (event) => this.#onEvent(event),
    });
    this.#router = this.#makeRouter();
    this.#announcer = new ShardAnnouncer({
      clock,
      member: () => this.id,
      epochOf: (shard) => this.#runtime.region.epochOf(shard),
      hintOthers: (hint) => this.#router.hintAll(this.#members.others(), hint),
    });
    this.#renewals = this.#makeRenewals();
    this.hostedAttempts = this.#makeHostedAttempts();
    this.sharing = this.#makeSharing();
    this.#domains = new SharedDomains({
      ...parts,
      members: this.#members,
      owners: this.#owners,
      runtime: () => this.#runtime,
      viewedId: () => this.#viewedId,
    });
  }

  #makeMembership(): Membership {
    const { store, clock, random, logger, dispatcher, options, leaseThread } = this.#parts;
    const { timings, name } = options;
    return new Membership({
      store,
      leaseThread,
      clock,
      logger,
      timings,
      address: name,
      about: () => formatAbout(this.#about(), this.#facts()),
      process: machineOf(store, options),
      newId: () => `${name}:${joinStamp(random.uuid(clock.now()))}`,
      onView: (view) => this.#onView(view),
      onEvent: (event) => this.#onEvent(event),
      onLapsed: () => dispatcher.interruptAll(),
      onRegained: () => dispatcher.onLeaseChanged(),
      onGone: () => this.#onRemoved(),
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
      answer: async (body) => {
        const answer = this.sharing.answer(body) ?? this.#renewals.answer(body);
        return answer === undefined ? await this.#runtime.answer(body) : await answer.value;
      },
      isAbandoned: ({ from, body }) => this.#isAbandoned(from, body),
      onHint: ({ body }) => this.#onHint(decodeHint(body)),
    });
  }

  #makeRenewals(): ShardRenewals {
    const { clock, random, logger } = this.#parts;
    return new ShardRenewals({
      clock,
      logger,
      member: () => this.id,
      ownerOf: (shard) => this.#ownerOf(shard),
      newKey: () => random.uuid(clock.now()),
      call: (shard, renewal, timeoutMs) => this.#runtime.client.callShard(shard, renewal, timeoutMs),
      ask: (member, question, limits) => this.#router.ask(member, question, limits),
      handle: (shard, call) => this.#runtime.handler.handle(shard, call),
    });
  }

  #makeHostedAttempts(): HostedAttempts {
    const { options, ...parts } = this.#parts;
    return new HostedAttempts({
      ...parts,
      timings: options.timings,
      member: () => this.id,
      members: this.#members,
      shardOf: (id) => this.#runtime.region.shardOf(id),
      call: (shard, call, timeoutMs) => this.#runtime.client.callShard(shard, call, timeoutMs),
      renew: (shard, renewal, timeoutMs) => this.#renewals.renew(shard, renewal, timeoutMs),
      hint: (member, hint) => this.#router.hint(member, hint),
      hintOwner: (shard, hint) => this.hintOwner(shard, hint),
      findMissing: (...asked) => this.sharing.slots.findMissing(...asked),
    });
  }

  #makeSharing(): MemberSharing {
    const { options, ...parts } = this.#parts;
    return new MemberSharing({
      ...parts,
      timings: options.timings,
      hosted: this.hostedAttempts,
      members: this.#members,
      member: () => this.id,
      view: () => this.#membership.view,
      region: () => this.#runtime.region,
      isLeaseValid: () => this.isLeaseValid(),
      isBusConnected: () => this.#router.isBusConnected,
      ask: (member, question, limits) => this.#router.ask(member, question, limits),
      hint: (member, hint) => this.#router.hint(member, hint),
    });
  }

  /**
   * True if a request was made for a user of a member that is gone: the user got the error that the outcome is unknown,
   * and may have decided otherwise since. A member joins before it sends anything, so one that is in no later view
   * never returns.
   */
  async #isAbandoned(from: string, body: unknown): Promise<boolean> {
    if (this.#members.isLiving(from) || !isUserWrite(body)) return false;
    await this.#views.next();
    return !this.#members.isLiving(from);
  }

  get allocators(): Allocators {
    return this.#domains.allocators;
  }

  get id(): string {
    return this.#membership.id;
  }

  get callMs(): number {
    return this.#parts.options.timings.callMs;
  }

  /** Called once, before `open`. */
  attach(runtime: MemberRuntime, services: WorkerServices): void {
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
      hosts: this.hostedAttempts,
      member: () => this.id,
      isLeaseValid: () => this.isLeaseValid(),
      whenCounted: (domain) => this.#domains.quotas.whenCounted(domain),
      ...services,
      onTaskLog: this.#parts.onTaskLog,
      onJobs: this.#parts.onJobs,
      onWorkerEvent: this.#parts.onWorkerEvent,
      code: this.#parts.code,
    });
  }

  /** Accepts the connection of a remote worker. Undefined without the option `remoteWorkers`. */
  acceptWorker(link: Link, identity: WorkerIdentity): LinkListener | undefined {
    return this.#workers?.accept(link, identity);
  }

  get refusedWorkerMessages(): number {
    return this.#workers?.refusedMessages ?? 0;
  }

  /** An attempt keeps running on a worker that has gone to another member: its slot stays in use until then. */
  onDetached(run: TaskRun, gone: DetachedAttempt): void {
    this.#domains.quotas.onDetached(run.domain, 1);
    delegate(run, gone);
  }

  /** Joins the cluster and opens the shards that it owns by then; others follow. */
  async open(): Promise<void> {
    const { options, clock, random, logger } = this.#parts;
    const { timings, bus } = options;
    await bus?.open?.({ clock, random, logger });
    await this.#domains.declare();
    this.hasJoined = true;
    await this.#membership.start();
    this.hostedAttempts.start();
    // Shards have owners then, and a view shows them, so that first calls need no repetition.
    await this.#views.nextAfter(this.#keeper.whenSettled(), timings.suspectMs);
    this.#domains.quotas.start();
    this.sharing.start();
    this.#repeated.every(
      () => (this.#router.isBusConnected ? timings.pollMs : timings.pollWithoutBusMs),
      () => void this.#runtime.region.fetchMessages([...this.#keeper.owned]),
    );
    this.#repeated.every(
      () => timings.workerBeatMs,
      () => {
        this.#runtime.region.sweepDelegatedAttempts();
        void this.#domains.learn();
      },
    );
  }

  /** The store went back to an earlier state: this member drops everything, and sends no heartbeat any more. */
  onStoreRolledBack(error: EngineError): void {
    this.#rolledBackBy = error;
    this.#repeated.stop();
    this.#membership.abandon();
    this.#domains.quotas.stop();
    this.#dropAll(error);
    void this.#router.stop(error);
    this.#runtime.client.stop(error);
  }

  /** Hands its shards over to other members, while the attempts that run here run on and report to the new owners. */
  async handOver(): Promise<void> {
    this.#isLeaving = true;
    this.#router.hintAll(this.#members.others(), leavingHint(this.id));
    this.#membership.refreshView();
    await this.#keeper.handOver();
  }

  /** Releases its shards, delivers the ends of attempts that it hosted for others, and leaves. `STORE_ROLLED_BACK`. */
  async close(): Promise<void> {
    this.#repeated.stop();
    this.sharing.stop();
    this.#domains.quotas.stop();
    this.#isLeaving = true;
    this.#router.hintAll(this.#members.others(), leavingHint(this.id));
    await this.#keeper.releaseAll();
    await this.hostedAttempts.whenReported(this.#parts.stopGraceMs);
    this.hostedAttempts.stop();
    const stopped = new EngineError("ENGINE_STATE", "the engine was stopped");
    const whenClosed = this.#router.stop(stopped);
    this.#runtime.client.stop(stopped);
    await whenClosed;
    await this.#membership.stop();
    if (this.#rolledBackBy !== undefined) throw this.#rolledBackBy;
  }

  isLeaseValid(): boolean {
    return this.#membership.lease.isValid;
  }

  /** The reason why this member starts nothing; undefined while its lease is valid. */
  get problem(): string | undefined {
    return this.isLeaseValid() ? undefined : "this member has not heard from the store for long: its lease has lapsed";
  }

  /** The state of the bus; undefined without one. */
  get bus(): { kind: string; isConnected: boolean } | undefined {
    const { bus } = this.#parts.options;
    return bus && { kind: bus.kind, isConnected: this.#router.isBusConnected };
  }

  async call<T extends CallType>(shard: number, call: CallOf<T>, options: CallTransportOptions): Promise<ResultOf<T>> {
    return decodeResult<T>(call.type, await this.#router.call(shard, call, options));
  }

  /** Asks another member a question. `CALL_UNANSWERED`. */
  ask(member: string, question: unknown, options: { timeoutMs: number; holdMs?: number }): Promise<unknown> {
    return this.#router.ask(member, question, options);
  }

  hintOwner(shard: number, hint: Hint): void {
    const owner = this.#ownerOf(shard);
    if (owner !== undefined) this.#router.hint(owner, hint);
  }

  setDomain(domain: DomainRow): Promise<void> {
    return this.#domains.set(domain);
  }

  /** A task waits for a slot of the domain. */
  onDemand(domain: string): void {
    this.#domains.quotas.onDemand(domain);
  }

  onShardLost(shard: number): void {
    this.#keeper.onLost(shard);
  }

  members(): MemberView[] {
    return memberViews(this.#membership.view.members, {
      self: { id: this.id, about: this.#about(), shards: this.#keeper.owned.size },
      isSuspected: (member) => this.#members.isSuspected(member),
      shardsOf: (member) => this.#owners.countOf(member),
    });
  }

  /** Sends a heartbeat now, because the facts that it publishes about this member have changed. */
  announceChange(): void {
    this.#membership.refreshView();
  }

  #about(): MemberAbout {
    const { runsJobs, dispatcher, version, options } = this.#parts;
    return { roles: rolesOf(options.ownsShards, runsJobs), isDraining: dispatcher.isDraining, version };
  }

  #facts(): MemberFacts {
    const { dispatcher, code } = this.#parts;
    return { isLeaving: this.#isLeaving, pool: dispatcher.exchange.slots, code: code?.hosts.connections ?? 0 };
  }

  onEvent(listener: (event: MemberEvent) => void): () => void {
    return this.#listeners.add(listener);
  }

  get #runtime(): MemberRuntime {
    if (this.#attached === undefined) throw new EngineError("ENGINE_STATE", "the engine is not running");
    return this.#attached;
  }

  #onView(view: ClusterView): void {
    // An import that began while this member joined owns all shards until it ends.
    if (isHalfImported(view.shards)) return;
    this.#viewedId = this.id;
    this.#owners.follow(view);
    this.#runtime.region.followEpochs(view.shards);
    this.#keeper.follow(view, this.id, leaversAmong(view.members));
    this.#runtime.region.sweepDelegatedAttempts();
    this.sharing.code?.onView(view);
    this.#views.onView();
  }

  #ownerOf(shard: number): string | undefined {
    if (this.#keeper.owned.has(shard)) return this.id;
    const owner = this.#owners.ownerOf(shard);
    return owner !== undefined && this.#members.isLiving(owner) && owner !== this.id ? owner : undefined;
  }

  async #release(shard: number): Promise<void> {
    try {
      await this.#runtime.region.releaseShard(shard);
    } catch (error) {
      // The work of the shard has stopped nevertheless. The owner that the store names opens it again, even if that is
      // this member.
      this.#keeper.onLost(shard);
      throw error;
    }
    // Views tell a member that should have it and that this one does not know yet.
    const next = this.#keeper.placedOn(shard);
    if (next !== undefined) this.#router.hint(next, { type: "ShardFreed", shard } satisfies Hint);
  }

  #onHint(hint: Hint | undefined): void {
    if (hint === undefined) return;
    const { sharing, hostedAttempts: hosted } = this;
    takeHint(hint, { region: this.#runtime.region, hosted, sharing, keeper: this.#keeper, owners: this.#owners });
  }

  /** The cluster has removed this member: others own its shards, and run its attempts again. */
  async #onRemoved(): Promise<void> {
    const message = `member ${this.id} sent no heartbeat for too long and was removed from the cluster`;
    this.#dropAll(new EngineError("MEMBER_LOST", message));
    await recordAgain(this.#parts, async () => {
      await this.#domains.declare();
      await this.#runtime.record();
    });
  }

  #dropAll(error: EngineError): void {
    this.#keeper.dropAll();
    this.#runtime.region.loseAll(error);
    this.hostedAttempts.clear();
    this.sharing.clear();
    this.#domains.quotas.dropAll();
    this.#parts.dispatcher.interruptAll();
  }

  #onEvent(event: MemberEvent): void {
    if (event.type === "joined" && event.member === this.id) {
      this.#router.start(this.id);
      this.#parts.dispatcher.onLeaseChanged();
    }
    this.#members.onEvent(event);
    if (event.type === "shard-opened") {
      this.#announcer.onOpened(event.shard);
      this.#router.pollMailboxes();
      // A view after the claims shows whether the hosts of delegated attempts of the shards live.
      if (this.#keeper.isSettled) this.#membership.refreshView();
    }
    this.#listeners.notify(event);
  }
}

const leavingHint = (member: string): Hint => ({ type: "MemberLeaving", member });
