import type { EngineError } from "../base/error.ts";
import type { TaskRun } from "../dispatch/task-run.ts";
import type { OffsetRow, OutboxRow, ShardClaim } from "../stores/store.ts";
import { AttemptReports } from "./attempt-reports.ts";
import { BroadcastWatch } from "./broadcast-watch.ts";
import { EndWaiters } from "./end-waiters.ts";
import { FencingToken } from "./fencing-token.ts";
import { GateClient } from "./gate-client.ts";
import { InboundMessages } from "./inbound-messages.ts";
import { type ActorShard, InstanceActor } from "./instance-actor.ts";
import type { InstanceEntry } from "./instance-entry.ts";
import { InstanceStarter } from "./instance-starter.ts";
import { InstanceTable, type NewActor, type OnBroken } from "./instance-table.ts";
import { InstanceWakes } from "./instance-wakes.ts";
import type { Lane, OwnRows } from "./lane.ts";
import { newActor } from "./new-actor.ts";
import { Outbox, type OutboxMessage } from "./outbox.ts";
import { Quarantine } from "./quarantine.ts";
import { ReactionCaution } from "./reaction-caution.ts";
import { DelegatedAttempts } from "./delegated-attempts.ts";
import { ShardInstances } from "./shard-instances.ts";
import { ShardOpening } from "./shard-opening.ts";
import type { ShardParts } from "./shard-parts.ts";
import { ShardState } from "./shard-state.ts";
import { ShardTurns } from "./shard-turns.ts";
import { SharedGates } from "./shared-gates.ts";
import { TurnEffects } from "./turn-effects.ts";

interface ShardCallbacks {
  readonly newActor: NewActor;
  readonly readPayloads: ActorShard["readPayloads"];
  readonly onBroken: OnBroken;
  readonly commit: Shard["commit"];
  readonly send: Shard["send"];
  readonly lose: Shard["lose"];
}

/**
 * A shard: a part of the instances, with one writer. This class joins the parts of a shard, writes rows that belong to
 * no turn, and closes the shard.
 *
 * - H1 At most one commit is under way (`Lane`), and an actor has at most one turn in it.
 * - H2 Effects and replies leave in `ShardTurns.releaseTurn`, after the commit, and nowhere else.
 * - H3 Every unfinished instance has an entry; an actor only while it has something to do or was used lately.
 * - H4 An object of this class is good for one claim: a shard that is lost or released is never opened again, but
 *   replaced by a new object.
 */
export class Shard {
  readonly number: number;
  readonly token: FencingToken;
  /** Monotonic time of the claim. Everything that an earlier owner wrote was in the store by then. */
  readonly claimedAt: number;
  /** Calls that are being carried out, by their keys. */
  readonly callsUnderWay = new Map<string, Promise<unknown>>();
  readonly delegatedAttempts: DelegatedAttempts;
  readonly instances: ShardInstances;
  readonly starter: InstanceStarter;
  readonly ends: EndWaiters;
  readonly attempts: AttemptReports;
  readonly inbound: InboundMessages;
  readonly quarantine: Quarantine;
  readonly opening: ShardOpening;
  readonly #parts: ShardParts;
  readonly #lane: Lane;
  readonly #state: ShardState;
  readonly #table: InstanceTable;
  readonly #wakes: InstanceWakes;
  readonly #outbox: Outbox;
  readonly #turns: ShardTurns;
  readonly #broadcasts: BroadcastWatch;

  constructor(number: number, options: { claim: ShardClaim; lane: Lane; parts: ShardParts }) {
    const { claim, lane, parts: shared } = options;
    const { clock, hosting } = shared;
    this.number = number;
    this.#lane = lane;
    this.#parts = shared;
    this.#broadcasts = new BroadcastWatch(shared);
    this.claimedAt = clock.monotonic();
    const token = (this.token = new FencingToken(number, claim));
    const state = (this.#state = new ShardState(clock));
    const outbox = (this.#outbox = new Outbox({ shard: number, incarnation: claim.incarnation }, (id) =>
      shared.shardOf(id),
    ));
    const delegatedAttempts = (this.delegatedAttempts = new DelegatedAttempts(clock, hosting, claim));
    const own = { shard: number, claim, token, state, outbox, delegatedAttempts, ...this.#callbacks() };
    const table = (this.#table = new InstanceTable({ ...shared, ...own }));
    const instances = (this.instances = new ShardInstances({ ...shared, ...own, table }));
    const wakes = (this.#wakes = new InstanceWakes({ ...shared, ...own, instances }));
    const gate = new GateClient({ ...shared, ...own });
    const sharedGates = new SharedGates({ ...shared, ...own });
    const starter = (this.starter = new InstanceStarter({ ...shared, ...own, table, instances, gate }));
    const inbound = (this.inbound = new InboundMessages({ ...shared, ...own, instances, starter, sharedGates }));
    const ends = (this.ends = new EndWaiters({ ...own, table, instances }));
    const effects = new TurnEffects({ ...own, shared, table, wakes });
    const joined = { ...own, table, instances, wakes, gate, inbound };
    const quarantine = (this.quarantine = new Quarantine({ ...shared, ...joined }));
    this.attempts = new AttemptReports({ ...shared, ...joined });
    this.opening = new ShardOpening({ ...shared, ...joined });
    const caution = this.#cautionAfter(claim);
    this.#turns = new ShardTurns({
      ...joined,
      shared,
      lane,
      caution,
      ends,
      effects,
      quarantine,
      broadcasts: this.#broadcasts,
    });
    lane.enter(this.#turns);
  }

  /** Callbacks of the shard's parts into it, or into a part made after them. */
  #callbacks(): ShardCallbacks {
    return {
      newActor: (definition, id, key) => newActor(this.#turns, definition, id, key),
      readPayloads: (instance, refs) => this.#turns.readPayloads(instance, refs),
      onBroken: (entry, row, error) => void this.quarantine.add(entry, row, error),
      commit: (rows) => this.commit(rows),
      send: (messages, offsets) => this.send(messages, offsets),
      lose: (error) => this.lose(error),
    };
  }

  /** Reactions of code are recorded before they run if the last owner did not release the shard. */
  #cautionAfter({ released }: ShardClaim): ReactionCaution | undefined {
    if (released) return undefined;
    const { clock, dispatcher } = this.#parts;
    return new ReactionCaution({ clock, slots: dispatcher.reactionSlots, lastKey: this.token.lastKey });
  }

  get isClosed(): boolean {
    return this.#state.isClosed;
  }

  /** Another owner has the shard, and it was not released. */
  get isLost(): boolean {
    return this.#state.isLost;
  }

  /** Counts reports of attempts that came too late to matter. */
  get droppedReports(): number {
    return this.#turns.droppedReports + this.attempts.dropped;
  }

  /** False if a message that was sent before is missing. */
  receive(row: OutboxRow): boolean {
    return this.isClosed || this.inbound.receive(row);
  }

  // Rows that belong to no turn

  /** Writes rows when no other commit is under way. */
  async commit(rows: OwnRows): Promise<void> {
    // Checks when the commit begins: nothing is written after the shard is released.
    await this.#lane.commit(this.#turns, () => {
      this.#state.refuseIfClosed();
      return typeof rows === "function" ? rows() : rows;
    });
  }

  /**
   * Writes messages that no turn caused, in one commit with the offsets of the messages they answer, and posts them.
   */
  async send(messages: readonly OutboxMessage[], offsets: () => OffsetRow[] = () => []): Promise<void> {
    const outbox: OutboxRow[] = [];
    await this.commit(() => {
      for (const message of messages) outbox.push(this.#outbox.number(message));
      return { offsets: offsets(), outbox };
    });
    for (const row of outbox) this.#parts.post(row);
  }

  /** Removes every trace of ended instances, except of those that are in memory. Returns how many were removed. */
  async purge(instances: readonly { key: number; id: string }[]): Promise<number> {
    return await this.#table.purge(instances, (keys) => this.commit(() => ({ purged: keys() })));
  }

  // Maintenance and closing

  /** Evicts idle actors; returns instances that have made no progress for too long, each once. */
  sweep(options: { idleBefore: number; stuckBefore: number }): InstanceEntry[] {
    const stuck: InstanceEntry[] = [];
    for (const entry of this.#table.all()) {
      if (entry.lastTurnAt < options.idleBefore) entry.evictIfIdle();
      if (entry.isReportedStuck || !entry.isStuck(options.stuckBefore)) continue;
      entry.isReportedStuck = true;
      stuck.push(entry);
    }
    return stuck;
  }

  /** Writes outstanding rows, and releases the shard. Running attempts continue. */
  async close(error: EngineError): Promise<void> {
    const { dispatcher, hosting } = this.#parts;
    this.#state.beginClosing();
    this.#wakes.stop();
    this.#broadcasts.stop();
    dispatcher.drop((run) => this.#isMine(run));
    await this.inbound.whenDelivered();
    if (dispatcher.isShutDown) this.#takeBackStopped(this.#parts.sharesInstances ? "all" : "with-heartbeat");
    await this.#lane.flush(this.#turns);
    this.#state.refuseIfClosed();
    this.#state.release(error);
    hosting.add(this.number, this.#runningAttempts());
    this.instances.dismissAll(error);
    this.#lane.leave(this.#turns);
    await this.#lane.releaseShard(this.#turns);
  }

  /**
   * Attempts in this process were stopped with it: the next owner starts them, and does not look for them. An engine that
   * shares nothing starts them again itself.
   */
  #takeBackStopped(which: "all" | "with-heartbeat"): void {
    for (const { actor } of this.#table.all()) {
      actor?.takeBackStopped(which, (attempt) => this.delegatedAttempts.has(attempt));
    }
  }

  /** Another owner has the shard, or nothing can be written any more. */
  lose(error: unknown): void {
    if (this.isClosed) return;
    this.#state.lose(error);
    this.#wakes.stop();
    this.#broadcasts.stop();
    this.#lane.leave(this.#turns);
    this.#stopAttempts();
    this.instances.dismissAll(error);
    this.#parts.onLost(this, error);
  }

  /** The new owner looks for attempts on remote workers, and runs the others again. */
  #stopAttempts(): void {
    const { dispatcher } = this.#parts;
    dispatcher.drop((run) => this.#isMine(run));
    dispatcher.giveUpExpired(this.#runningAttempts());
  }

  #runningAttempts(): string[] {
    const running = this.#parts.dispatcher.status.listRunning().filter(({ run }) => this.#isMine(run));
    return running.map(({ run }) => run.attemptId);
  }

  #isMine({ listener }: TaskRun): boolean {
    return listener instanceof InstanceActor && listener.shard === this.#turns;
  }
}
