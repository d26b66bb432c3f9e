import { assert, unreachable } from "../base/assert.ts";
import type { Clock } from "../base/clock.ts";
import type { Logger } from "../base/logger.ts";
import { instanceFields } from "../base/namespace.ts";
import type { Dispatcher } from "../dispatch/dispatcher.ts";
import type { Command } from "../kernel/command.ts";
import { DagActor } from "./dag-actor.ts";
import type { Definitions } from "./definitions.ts";
import type { ActorTurn, InstanceActor } from "./instance-actor.ts";
import type { InstanceEntry } from "./instance-entry.ts";
import type { InstanceTable } from "./instance-table.ts";
import type { InstanceWakes } from "./instance-wakes.ts";
import type { DelegatedAttempts } from "./delegated-attempts.ts";
import type { ShardParts } from "./shard-parts.ts";
import type { ShardState } from "./shard-state.ts";
import type { WorkflowGates } from "./workflow-gate.ts";

/** A turn further ahead of the clock than this is reported: clocks of members differ by less. */
const clockBehindMsMax = 60_000;

const clockWarnEveryMs = 60_000;

export interface TurnEffectsParts {
  readonly shared: ShardParts;
  readonly state: ShardState;
  readonly table: InstanceTable;
  readonly wakes: InstanceWakes;
  readonly delegatedAttempts: DelegatedAttempts;
}

/**
 * Releases the effects of a turn that is durable: messages are posted, the entry follows the instance's state, its
 * timer is set, subscribers are notified, and attempts are enqueued, withdrawn and aborted.
 */
export class TurnEffects {
  readonly #shared: ShardParts;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #dispatcher: Dispatcher;
  readonly #definitions: Definitions;
  readonly #gates: WorkflowGates;
  readonly #state: ShardState;
  readonly #table: InstanceTable;
  readonly #wakes: InstanceWakes;
  readonly #delegatedAttempts: DelegatedAttempts;
  #clockWarnsFrom = -Infinity;

  constructor(parts: TurnEffectsParts) {
    this.#shared = parts.shared;
    this.#clock = parts.shared.clock;
    this.#logger = parts.shared.logger;
    this.#dispatcher = parts.shared.dispatcher;
    this.#definitions = parts.shared.definitions;
    this.#gates = parts.shared.gates;
    this.#state = parts.state;
    this.#table = parts.table;
    this.#wakes = parts.wakes;
    this.#delegatedAttempts = parts.delegatedAttempts;
  }

  postMessages(turn: ActorTurn): void {
    for (const row of turn.outbox) this.#shared.post(row);
  }

  release(entry: InstanceEntry, turn: ActorTurn): void {
    const { actor } = turn;
    if (turn.events.length > 0) this.#follow(entry, turn);
    // A wake-up that found nothing due, because the machine's clock was set back, is still to come.
    else this.#wakes.set(entry, actor.machine.nextWake());
    for (const effect of turn.effects) this.#carryOut(actor, effect);
  }

  #follow(entry: InstanceEntry, turn: ActorTurn): void {
    const { machine } = turn.actor;
    for (const { name, version } of turn.definitions) this.#definitions.noteStored(name, version);
    if (turn.wasReopened) this.#gates.reenter(entry.workflow, entry.id);
    if (turn.hasEnded) this.#gates.leave(entry.workflow, entry.id);
    entry.status = machine.status;
    entry.lastTurnAt = turn.at;
    entry.isReportedStuck = false;
    this.#table.noteWaiting(entry, turn.waitingTasks);
    this.#wakes.set(entry, machine.nextWake());
    if (this.#shared.hasSubscribers) this.#publish(entry, turn);
  }

  #publish({ id: instanceId, workflow }: InstanceEntry, turn: ActorTurn): void {
    const { events, at, number, firstEvent, actor } = turn;
    this.#shared.publish({ instanceId, workflow, turn: number, firstEvent, at, events, machine: actor.machine });
  }

  #carryOut(actor: InstanceActor, effect: Command): void {
    switch (effect.type) {
      case "RunTasks":
        // The next owner of a shard that is closing finds them scheduled.
        if (!this.#state.isClosing) this.#runTasks(actor, effect.tasks);
        return;
      case "WithdrawTasks":
        return this.#dispatcher.withdraw(effect.attemptIds);
      case "AbortTasks":
        this.#dispatcher.abort(effect.attemptIds);
        return this.#delegatedAttempts.abort(effect.attemptIds);
      case "EvaluateDecision":
      case "ListItems":
        assert(actor instanceof DagActor, "only DAGs have decisions and maps");
        return actor.evaluateLater(effect.task, effect.attempt);
      case "StartChild":
      case "TellChild":
      case "CancelOther":
      case "SendEvent":
      case "TellParent":
        // Its outbox message was written with the turn.
        return;
      default:
        return unreachable(effect, "a command");
    }
  }

  /** Items of a map that the same turn listed anew are no longer part of the instance. */
  #runTasks(actor: InstanceActor, tasks: readonly number[]): void {
    for (const task of tasks) if (actor.machine.state.has(task)) this.#dispatcher.enqueue(actor.taskRunOf(task));
  }

  /**
   * The time of an instance never goes back: after a clock was ahead, its timers count from the time of its last turn.
   */
  warnIfClockBehind({ actor, at }: ActorTurn, now: number): void {
    const behindMs = at - now;
    if (behindMs <= clockBehindMsMax || this.#clock.monotonic() < this.#clockWarnsFrom) return;
    this.#clockWarnsFrom = this.#clock.monotonic() + clockWarnEveryMs;
    this.#logger.warn(
      { ...instanceFields(actor.id), behindMs },
      "the clock is behind the last turn of an instance: its timers and retries are due later by the difference",
    );
  }
}
