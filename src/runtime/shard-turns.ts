import type { Clock } from "../base/clock.ts";
import type { Logger } from "../base/logger.ts";
import type { Random } from "../base/random.ts";
import type { Expressions } from "../expressions/expression.ts";
import type { MachineLimits } from "../kernel/machine.ts";
import type { TaskDefinition } from "../kernel/task-definition.ts";
import type { DefinitionRow, HistoryRow, OffsetRow } from "../stores/store.ts";
import type { CodeRuntime } from "./code-runtime.ts";
import type { CompletionTokens } from "./completion-tokens.ts";
import type { EndWaiters } from "./end-waiters.ts";
import type { FencingToken } from "./fencing-token.ts";
import type { GateClient } from "./gate-client.ts";
import type { InboundMessages } from "./inbound-messages.ts";
import type { ActorShard, ActorTurn, InstanceActor } from "./instance-actor.ts";
import type { InstanceEntry } from "./instance-entry.ts";
import { type InstanceTable, unknownInstance } from "./instance-table.ts";
import type { InstanceTaskRun } from "./instance-task-run.ts";
import type { Lane } from "./lane.ts";
import type { Origin } from "./message.ts";
import { outboxMessageOf } from "./outbox-message-of.ts";
import type { Outbox } from "./outbox.ts";
import type { Quarantine } from "./quarantine.ts";
import type { ReactionCaution } from "./reaction-caution.ts";
import type { DelegatedAttempts } from "./delegated-attempts.ts";
import type { BroadcastWatch } from "./broadcast-watch.ts";
import { retryWhileUnavailable } from "./retry-while-unavailable.ts";
import type { ShardInstances } from "./shard-instances.ts";
import type { ShardParts } from "./shard-parts.ts";
import type { ShardState } from "./shard-state.ts";
import type { TurnEffects } from "./turn-effects.ts";

/** The other parts of the shard. */
export interface ShardTurnsParts {
  readonly token: FencingToken;
  readonly caution: ReactionCaution | undefined;
  readonly lane: Lane;
  readonly shared: ShardParts;
  readonly state: ShardState;
  readonly table: InstanceTable;
  readonly instances: ShardInstances;
  readonly inbound: InboundMessages;
  readonly outbox: Outbox;
  readonly gate: GateClient;
  readonly ends: EndWaiters;
  readonly effects: TurnEffects;
  readonly quarantine: Quarantine;
  readonly delegatedAttempts: DelegatedAttempts;
  readonly broadcasts: BroadcastWatch;
  readonly lose: (error: unknown) => void;
}

/**
 * The turns of a shard's actors. An actor that has messages is scheduled with the shard's lane; the lane opens its turn
 * here, commits it together with others, and releases or rejects it here.
 */
export class ShardTurns implements ActorShard {
  readonly token: FencingToken;
  readonly limits: MachineLimits;
  readonly completionTokens: Pick<CompletionTokens, "issue">;
  readonly expressions: Expressions;
  readonly code: CodeRuntime;
  readonly caution: ReactionCaution | undefined;
  readonly broadcasts: BroadcastWatch;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  /** Counts reports of attempts that came too late to matter. */
  droppedReports = 0;
  readonly #parts: ShardTurnsParts;
  readonly #shared: ShardParts;
  readonly #state: ShardState;
  readonly #table: InstanceTable;
  /**
   * The definitions that commits of this shard contained. Its next commit is refused if the store has gone back past one of
   * them; that another member has saved a definition proves nothing about the store of now.
   */
  readonly #written = new WeakSet<DefinitionRow>();

  constructor(parts: ShardTurnsParts) {
    const { shared } = parts;
    this.#parts = parts;
    this.#shared = shared;
    this.#state = parts.state;
    this.#table = parts.table;
    this.token = parts.token;
    this.caution = parts.caution;
    this.broadcasts = parts.broadcasts;
    this.limits = shared.limits;
    this.completionTokens = shared.completionTokens;
    this.expressions = shared.expressions;
    this.code = shared.code;
    this.clock = shared.clock;
    this.random = shared.random;
    this.logger = shared.logger;
  }

  // The path of a turn

  schedule(actor: InstanceActor, urgency: "now" | "later"): void {
    if (this.#state.isClosed) this.#parts.instances.abandon(actor, this.#state.closedBy);
    else this.#parts.lane.schedule(actor, urgency);
  }

  openTurn(actor: InstanceActor, now: number): ActorTurn | undefined {
    const entry = this.#table.entryOf(actor);
    if (entry === undefined) {
      this.#parts.instances.abandon(actor, unknownInstance(actor.id));
      return undefined;
    }
    try {
      const turn = actor.openTurn(now, this.random.next());
      this.#addDefinitions(turn, now);
      this.#addMessages(turn);
      this.droppedReports += turn.dropped;
      this.#parts.effects.warnIfClockBehind(turn, now);
      return turn;
    } catch (error) {
      // The messages of an actor whose turn fails while the shard closes stay in its inbox: once the shard is released,
      // results of attempts are reported to the next owner, and the others are rejected.
      if (!this.isStopping) this.#quarantine(entry, actor, error);
      return undefined;
    }
  }

  #addDefinitions(turn: ActorTurn, now: number): void {
    const { definitionsToStore } = turn.actor;
    if (definitionsToStore.length === 0) return;
    for (const definition of definitionsToStore) {
      const row = this.#shared.definitions.rowOf(definition, now);
      if (!this.#written.has(row)) turn.definitions = [...turn.definitions, row];
    }
  }

  /** Messages to other instances, and to the gate of the workflow, are written with the turn that caused them. */
  #addMessages(turn: ActorTurn): void {
    for (const effect of turn.effects) {
      const message = outboxMessageOf(turn.actor, effect);
      if (message !== undefined) turn.send(this.#parts.outbox.number(message));
    }
    const gateMessage = this.#parts.gate.messageOf(turn);
    if (gateMessage !== undefined) turn.send(this.#parts.outbox.number(gateMessage));
  }

  consume(origins: readonly Origin[]): OffsetRow[] {
    return this.#parts.inbound.consume(origins);
  }

  /** The actor is busy until its replies are out: a subscriber that asks about it in between is answered after them. */
  releaseTurn(turn: ActorTurn): void {
    const { actor } = turn;
    const { effects, ends, instances } = this.#parts;
    actor.onCommitted(turn);
    for (const row of turn.definitions) this.#written.add(row);
    effects.postMessages(turn);
    const entry = this.#table.entryOf(actor);
    if (entry === undefined) return turn.reply();
    effects.release(entry, turn);
    turn.reply();
    ends.onReleased(entry, turn);
    actor.endTurn();
    if (actor.needsPreparation && this.#wantsTurn(actor)) this.schedule(actor, "now");
    this.#shared.idle.touch(entry);
    instances.evictIfOver(actor);
  }

  #wantsTurn(actor: InstanceActor): boolean {
    return actor.hasMessages || (actor.hasMore && !this.#state.isClosing);
  }

  /**
   * An instance whose turn the store rejects is quarantined; one that has no row stays what it was: ended, or nothing
   * at all.
   */
  rejectTurn(turn: ActorTurn, error: unknown): void {
    const { actor } = turn;
    turn.fail(error);
    const entry = this.#table.get(actor.id);
    if (entry?.actor !== actor) return;
    if (actor.row !== undefined) return this.#quarantine(entry, actor, error);
    this.#table.delete(actor.id);
    this.#parts.instances.dismiss(entry, error);
    this.#shared.gates.leave(entry.workflow, entry.id);
  }

  lose(error: unknown): void {
    this.#parts.lose(error);
  }

  /** A failed read says nothing about the instance while the shard moves or the engine stops. */
  get isStopping(): boolean {
    return this.#state.isClosing || this.#shared.dispatcher.isShutDown;
  }

  #quarantine(entry: InstanceEntry, actor: InstanceActor, error: unknown): void {
    void this.#parts.quarantine.add(entry, actor.row, error);
  }

  // Services for actors

  resolveJob(instanceId: string, definition: TaskDefinition, params: string | undefined): string {
    return this.#shared.resolveJob(instanceId, definition, params);
  }

  /** Waits for a store that is away: no job fails because its inputs could not be read, even if its shard moves. */
  async readPayloads(instance: number, refs: readonly number[]): Promise<string[]> {
    const { clock, store, dispatcher } = this.#shared;
    const read = (): Promise<string[]> => store.loadPayloads(instance, refs);
    return await retryWhileUnavailable(clock, read, () => dispatcher.isShutDown);
  }

  /**
   * Waits for a store that is away, also while the shard closes: a shard that is released has all starts of attempts on
   * record, and an actor that cannot have a turn would keep its own.
   */
  async readHistory(instance: number): Promise<HistoryRow[]> {
    const { clock, store, dispatcher } = this.#shared;
    const read = (): Promise<HistoryRow[]> => store.loadHistory([instance]);
    return await retryWhileUnavailable(clock, read, () => this.#state.isClosed || dispatcher.isShutDown);
  }

  onReadFailed(actor: InstanceActor, error: unknown): void {
    if (this.isStopping) return;
    const entry = this.#table.get(actor.id);
    if (entry?.actor === actor) this.#quarantine(entry, actor, error);
  }

  trackDelegated(run: InstanceTaskRun, worker: string): void {
    if (!this.#state.isClosed) this.#parts.delegatedAttempts.add(run, worker);
  }
}
