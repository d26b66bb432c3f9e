import { assert } from "../base/assert.ts";
import type { Clock } from "../base/clock.ts";
import { EngineError } from "../base/error.ts";
import type { Logger } from "../base/logger.ts";
import type { Random } from "../base/random.ts";
import { localName } from "../base/namespace.ts";
import { withHeartbeat } from "../dispatch/attempt-report.ts";
import type { TaskInputs, AttemptListener, TaskRun } from "../dispatch/task-run.ts";
import { parseEvents } from "../kernel/event-text.ts";
import type { Execution } from "../kernel/event.ts";
import type { Outcome } from "../kernel/input.ts";
import type { Machine } from "../kernel/machine.ts";
import type { Input } from "./input.ts";
import { hasEnded } from "../kernel/status.ts";
import { Phase } from "../kernel/task-state.ts";
import { Turn } from "../kernel/turn.ts";
import type { HistoryRow, InstanceRow, OffsetRow, TurnText } from "../stores/store.ts";
import type { CodeRuntime } from "./code-runtime.ts";
import type { Definition } from "./definitions.ts";
import type { BroadcastWatch } from "./broadcast-watch.ts";
import type { Expressions } from "../expressions/expression.ts";
import { InstanceTaskRun, type TaskRunShard } from "./instance-task-run.ts";
import { InstanceTurn } from "./instance-turn.ts";
import type { Message, Origin, InputMessage } from "./message.ts";
import type { ReactionCaution } from "./reaction-caution.ts";
import type { Payloads } from "./task-inputs.ts";
import { instanceRow } from "./turn-rows.ts";
import { TurnState } from "./turn-state.ts";

/** Shared by all actors without starts or new definitions, which are most of them: an actor creates its own list with the first item. */
const none: never[] = [];

/** An instance as the store has it. */
export interface StoredInstance {
  readonly history: readonly HistoryRow[];
  readonly row: InstanceRow | "from state" | undefined;
  /** The history as the row of the instance, finished or not, holds it; null if its turns are rows. */
  readonly turnText: TurnText | null;
}

/** A turn of an actor, from `openTurn` to `releaseTurn`. */
export type ActorTurn = InstanceTurn<InstanceActor>;

/**
 * Services of a shard for its actors, and for its lane to run their turns: a turn is opened, written by the lane
 * together with others, and then released or rejected.
 */
export interface ActorShard extends TaskRunShard {
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly expressions: Expressions;
  /** Finds and runs the code of workflows. */
  readonly code: CodeRuntime;
  readonly broadcasts: Pick<BroadcastWatch, "find" | "isQueued" | "watch">;
  /** Present if the last owner of the shard did not release the shard. */
  readonly caution?: ReactionCaution | undefined;
  readPayloads(instance: number, refs: readonly number[]): Promise<string[]>;
  /** The whole history of an instance, as far as it is durable. */
  readHistory(instance: number): Promise<HistoryRow[]>;
  /** Called when payloads that the instance's next turn needs could not be read. */
  onReadFailed(actor: InstanceActor, error: unknown): void;
  /**
   * Called when the actor's inbox has a message. `later`: no caller waits for the message, which may share a turn with
   * later ones.
   */
  schedule(actor: InstanceActor, urgency: "now" | "later"): void;
  /** Handles the messages in the actor's inbox. Undefined if the actor has no turn, because it is gone or broken. */
  openTurn(actor: InstanceActor, now: number): ActorTurn | undefined;
  /** Marks messages as read by turns that are about to be written; the rows are the new inbound offsets, by source. */
  consume(origins: readonly Origin[]): OffsetRow[];
  /** The turn is durable: releases its effects and replies. */
  releaseTurn(turn: ActorTurn): void;
  /** Called when the store will never accept the turn. */
  rejectTurn(turn: ActorTurn, error: unknown): void;
  /** Called when another owner has the shard, or nothing can be written any more. */
  lose(error: unknown): void;
}

/** The entry of an actor's instance in the table of its shard (`InstanceEntry`). */
export interface ActorEntry {
  readonly actor: InstanceActor | undefined;
  readonly isListed: boolean;
}

/**
 * An instance in memory: its state, and the messages that wait for its next turn. Messages are handled one after the
 * other, in order of arrival; a turn takes all that are there.
 */
export abstract class InstanceActor<M extends Machine = Machine> extends TurnState implements AttemptListener {
  readonly id: string;
  readonly key: number;
  readonly definition: Definition;
  readonly machine: M;
  readonly shard: ActorShard;
  /** The entry that the actor was attached to; another actor may have taken its place there. */
  entry: ActorEntry | undefined;
  lastTurnAt = 0;
  inbox: Message[] = [];
  #row: InstanceRow | undefined;
  #turnText: TurnText | null = null;
  #definitionsToStore: readonly Definition[] = none;
  /**
   * Attempts that have started since the last turn. Those that have ended as well stay in the list, but not in the
   * count.
   */
  #starts: InstanceTaskRun[] = none;
  #startsLeft = 0;
  #lostWithProcess: Set<number> | undefined;
  /** The details of the last heartbeats of attempts that were stopped with this process, by attempt id. */
  #stoppedHeartbeats: Map<string, string> | undefined;
  #turns = 0;
  #events = 0;

  constructor(shard: ActorShard, definition: Definition, machine: M) {
    super();
    this.shard = shard;
    this.definition = definition;
    this.machine = machine;
    const { id, key } = machine.address;
    this.id = id;
    this.key = key;
  }

  /** The instance row as it was last written; undefined before the first turn is durable, and after the end. */
  get row(): InstanceRow | undefined {
    return this.#row;
  }

  /** The durable turns as the row of the instance, finished or not, holds them; null if they are rows. */
  get turnText(): TurnText | null {
    return this.#turnText;
  }

  /** Definitions that the first turn of the instance stores, unless the store has them. */
  get definitionsToStore(): readonly Definition[] {
    return this.#definitionsToStore;
  }

  get isInboxEmpty(): boolean {
    return this.inbox.length === 0;
  }

  /** Messages or starts of attempts wait for the next turn. */
  get hasMessages(): boolean {
    return !this.isInboxEmpty || this.#startsLeft > 0;
  }

  /**
   * True if the instance has no messages, and no task in flight but such as are completed from outside. It may be evicted
   * unless it has a turn or waits for one.
   */
  get isIdle(): boolean {
    return this.isInboxEmpty && !this.#hasTasksToFollow;
  }

  /** True if tasks are in flight that have to be followed: then the instance is loaded when its shard is opened. */
  get isActive(): boolean {
    return this.#hasTasksToFollow;
  }

  /** A task that is completed from outside has its deadline on record, and needs nobody to follow it. */
  get #hasTasksToFollow(): boolean {
    const { inFlight, awaitingCount } = this.machine.state;
    return inFlight > awaitingCount;
  }

  /** True if tasks other than children are in flight, and somebody runs them. */
  get hasOwnWork(): boolean {
    const { inFlight, childrenInFlight, awaitingCount } = this.machine.state;
    return inFlight > childrenInFlight + awaitingCount;
  }

  /** True if turns have to be prepared, one at a time. */
  get needsPreparation(): boolean {
    return false;
  }

  /** True if its code has to be brought back before it can say what it waits for. */
  get lacksCode(): boolean {
    return false;
  }

  /** True if callers wait for answers that come later than the turn that took their messages. */
  get owesAnswers(): boolean {
    return false;
  }

  /** True if another turn is needed, whether or not messages come. */
  get hasMore(): boolean {
    return false;
  }

  /**
   * True if the state in memory may never be durable. Messages that wait for a turn do not count: they have changed
   * nothing yet.
   */
  get isAheadOfStore(): boolean {
    return this.isBusy || this.isUnborn;
  }

  /** True if the instance has had no turn: its start waits in the inbox, or was refused. */
  get isUnborn(): boolean {
    return this.#turns === 0;
  }

  /** Number of events in the instance's history, including those of earlier generations. */
  get eventCount(): number {
    return this.#events;
  }

  get hasEnded(): boolean {
    return hasEnded(this.machine.status);
  }

  /** Prepares a new instance for its first turn. */
  startWith(definitions: readonly Definition[]): void {
    this.#definitionsToStore = definitions;
  }

  /**
   * Applies the history of an instance that is loaded. A history that was trimmed begins with `InstanceContinued`. `row` is
   * the instance row, or `"from state"` to derive the row of an instance at rest from the restored state.
   */
  restore({ history, row, turnText }: StoredInstance): void {
    for (const { turn, at, firstEvent, events } of history) {
      const decided = parseEvents(events, `turn ${turn} of instance "${localName(this.id)}"`);
      if (this.isUnborn && decided[0]?.type === "InstanceContinued") {
        this.#turns = turn;
        this.#events = firstEvent;
      }
      assert(turn === this.#turns && firstEvent === this.#events, "history has no gap");
      this.machine.beginTurn(turn);
      for (const event of decided) this.machine.apply(event, at);
      this.#turns++;
      this.#events += decided.length;
      this.lastTurnAt = at;
    }
    this.#row = row === "from state" ? instanceRow(this, this.lastTurnAt, turnText) : row;
    this.#turnText = turnText;
  }

  /**
   * Returns the attempts that the dispatcher has to run again after recovery. An attempt whose start is on record is
   * where `find` says it is. After an unclean end of the last owner, any other attempt may have been running when the
   * process died, so its start is recorded before the job runs (`isCautious`). An attempt that was stopped in good
   * order is withdrawn; otherwise the next crash would count it as lost. Where nothing new may start, because the
   * instance pauses or fails, attempts that had not started are withdrawn too.
   */
  resumeTasks(wasClean: boolean, find: FindAttempt): TaskRun[] {
    const runs: TaskRun[] = [];
    const { state } = this.machine;
    const mayNotStart = state.pausing || state.failing || state.status === "Paused";
    for (const task of this.machine.jobsInFlight()) {
      const run = new InstanceTaskRun(this, task, !wasClean);
      const isRunning = state.phase(task) === Phase.running;
      const place = isRunning ? find(run, state.record(task)?.worker ?? "") : "stopped";
      if (place === "here" || place === "elsewhere") continue;
      if (place === "lost") this.onLost(run);
      else if (isRunning ? !state.failing : mayNotStart) this.onWithdrawn(run);
      else runs.push(run);
    }
    return runs;
  }

  /** The attempt was lost with the process that ran it. */
  onLost({ task, attempt, generation, ownHeartbeat }: InstanceTaskRun): void {
    (this.#lostWithProcess ??= new Set()).add(task);
    const outcome = withHeartbeat({ kind: "lost" }, ownHeartbeat);
    this.tell({ input: { type: "AttemptEnded", task, attempt, generation, outcome } });
  }

  /**
   * Withdraws attempts that ran in this process: those with details of a heartbeat, which become durable, or all. Those of a
   * failing instance stay on record, and run again.
   */
  takeBackStopped(which: "all" | "with-heartbeat", isElsewhere: (attemptId: string) => boolean): void {
    const { state } = this.machine;
    const heartbeats = this.#stoppedHeartbeats;
    if (state.failing || (which === "with-heartbeat" && heartbeats === undefined)) return;
    const starting = new Set(this.#starts.filter(({ started }) => started !== undefined).map(({ task }) => task));
    for (const task of this.machine.jobsInFlight()) {
      const run = new InstanceTaskRun(this, task, false);
      const hasStarted = state.phase(task) === Phase.running || starting.has(task);
      if (!hasStarted || isElsewhere(run.attemptId)) continue;
      const heartbeat = heartbeats?.get(run.attemptId);
      if (which === "all" || heartbeat !== undefined) this.onWithdrawn(run, heartbeat);
    }
  }

  /**
   * True if an attempt of the task was lost with its process before this claim of the shard. An attempt that was lost with
   * its thread does not count, because a thread that dies ends no other attempt.
   */
  wasLostWithProcess(task: number): boolean {
    return this.#lostWithProcess?.has(task) ?? false;
  }

  tell(message: Message): void {
    if (this.inbox.length === 0) this.inbox = [message];
    else this.inbox.push(message);
    this.shard.schedule(this, "now");
  }

  /** Called when a user has resumed the instance from quarantine: earlier losses of its code no longer count. */
  forgetLosses(): void {}

  // Reports of the dispatcher

  /**
   * Called when an attempt has started. Starts are batched: a start is recorded with the next turn, within 100 ms. If the
   * attempt ends first, its result carries the start.
   */
  onStarted(run: InstanceTaskRun, execution: Required<Execution>): void {
    if (this.#starts === none) this.#starts = [run];
    else this.#starts.push(run);
    run.started = execution;
    this.#startsLeft++;
    this.shard.schedule(this, run.isCautious ? "now" : "later");
  }

  /** Resolves when the start, which was reported just before, is durable: a query is answered no sooner. */
  confirmStart(): Promise<void> {
    const reply = Promise.withResolvers<void>();
    this.tell({ query: () => undefined, reply });
    return reply.promise;
  }

  /** Called when an attempt has ended. A remote worker keeps the result until the result is durable, which acknowledges it. */
  onEnded(run: InstanceTaskRun, outcome: Outcome, execution: Execution, acknowledge?: () => void): void {
    if (run.started !== undefined) this.#startsLeft--;
    run.started = undefined;
    if (this.#startsLeft === 0) this.#starts = none;
    const { task, attempt, generation } = run;
    const { worker, startedAt } = execution;
    const input: Input =
      worker === undefined || startedAt === undefined
        ? { type: "AttemptEnded", task, attempt, generation, outcome, ...execution }
        : { type: "AttemptEnded", task, attempt, generation, outcome, worker, startedAt };
    if (acknowledge === undefined) this.tell({ input });
    else this.tell({ input, reply: { resolve: acknowledge, reject: () => undefined } });
  }

  onWithdrawn({ task, attempt, ownHeartbeat }: InstanceTaskRun, heartbeat = ownHeartbeat): void {
    const run = { task, attempt, ...(heartbeat !== undefined && { heartbeat }) };
    this.tell({ input: { type: "AttemptsWithdrawn", runs: [run] } });
  }

  onStopped({ attemptId }: InstanceTaskRun, heartbeat: string): void {
    (this.#stoppedHeartbeats ??= new Map()).set(attemptId, heartbeat);
  }

  /** The inputs of the task's job. */
  abstract inputsOf(task: number): TaskInputs | Promise<TaskInputs>;

  /** The durable parameters of the task, as JSON text. */
  abstract paramsOf(task: number): string;

  // Turns

  /** Runs the asynchronous part of the next turn (code workflows only), then calls `onPrepared`. */
  prepare(onPrepared: (actor: InstanceActor) => void): void {
    onPrepared(this);
  }

  /** Handles the messages in the inbox. An error that is no refusal is a bug: the caller quarantines the instance. */
  abstract openTurn(now: number, random: number): ActorTurn;

  beginTurn(now: number, random: number): ActorTurn {
    const turn = new Turn(Math.max(now, this.lastTurnAt), random);
    this.machine.beginTurn(this.#turns);
    const open: ActorTurn = new InstanceTurn(this, turn, this.#turns);
    this.recordStarts(turn);
    return open;
  }

  /** Records the starts that were reported since the last turn. */
  recordStarts(turn: Turn): void {
    if (this.#startsLeft === 0) return;
    for (const run of this.#starts) {
      const { task, attempt, generation, started } = run;
      if (started === undefined) continue;
      run.started = undefined;
      this.machine.handle({ type: "AttemptStarted", task, attempt, generation, ...started }, turn);
    }
    this.#starts = none;
    this.#startsLeft = 0;
  }

  closeTurn(open: ActorTurn): ActorTurn {
    this.lastTurnAt = open.at;
    open.close(this.#events);
    if (open.events.length > 0) this.#turns++;
    this.#events += open.events.length;
    return open;
  }

  /** Handles a message that may change the state; it is accepted or refused. */
  take(message: InputMessage, open: ActorTurn, input = message.input): void {
    const { turn, payloads } = open;
    const events = turn.events.length;
    const rows = payloads.rows.length;
    try {
      this.machine.handle(payloads.extract(input), turn);
      this.collectCommands(open);
      open.accept(message);
    } catch (error) {
      if (!(error instanceof EngineError)) throw error;
      assert(turn.events.length === events, "a refused message changes nothing");
      open.refuse(message, error);
    }
    if (turn.events.length === events) payloads.cutTo(rows);
  }

  /** Keeps the commands of the machine, which wait for the commit. */
  collectCommands(open: ActorTurn): void {
    const { turn } = open;
    for (let command = turn.takeCommand(); command !== undefined; command = turn.takeCommand()) open.addEffect(command);
  }

  /** Called when the turn is durable, so that the actor's state equals its rows. */
  onCommitted(turn: ActorTurn): void {
    if (turn.events.length === 0) return;
    this.#row = turn.rowAfter;
    this.#turnText = turn.textAfter;
    this.#definitionsToStore = none;
  }

  taskRunOf(task: number): TaskRun {
    return new InstanceTaskRun(this, task, false);
  }

  /** The outputs of the tasks by name; undefined for a code workflow, which has a single output. */
  abstract outputs(): Payloads | undefined;

  /** Takes everything out of the inbox, for an actor that will have no further turn. */
  abandonInbox(): Message[] {
    return this.inbox.splice(0);
  }
}

/**
 * Finds an attempt whose start is on record: with this member's dispatcher, with another member that will report it,
 * stopped in good order, or lost.
 */
export type FindAttempt = (run: InstanceTaskRun, worker: string) => "here" | "elsewhere" | "stopped" | "lost";
