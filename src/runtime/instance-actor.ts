import { assert } from "../base/assert.ts";
import { EngineError, messageOf } from "../base/error.ts";
import type { TaskInputs, TaskOwner, TaskRun } from "../dispatch/task-run.ts";
import { attemptId } from "../kernel/address.ts";
import type { Command } from "../kernel/command.ts";
import type { Context } from "../kernel/context.ts";
import { DagMachine } from "../kernel/dag/dag-machine.ts";
import type { TaskDefinition } from "../kernel/task-definition.ts";
import { Phase } from "../kernel/task-state.ts";
import type { Event, Execution } from "../kernel/event.ts";
import type { DecisionEvaluated, Input, Outcome } from "../kernel/input.ts";
import type { MachineLimits } from "../kernel/machine.ts";
import { hasEnded } from "../kernel/status.ts";
import { Turn } from "../kernel/turn.ts";
import type { HistoryRow, InstanceRow } from "../stores/store.ts";
import type { Definition } from "./definitions.ts";
import type { Expressions } from "./expression.ts";
import { InstanceTaskRun } from "./instance-task-run.ts";
import { InstanceTurn } from "./instance-turn.ts";
import type { LaneShard } from "./lane.ts";
import type { Message, Told } from "./message.ts";
import { PayloadRows } from "./payload-rows.ts";
import { allOutputs, type Payloads, parseTexts, predecessorOutputs, readTexts, textsAtHand } from "./task-inputs.ts";

/** What an actor needs of the shard it lives in. */
export interface ActorHost extends LaneShard {
  readonly limits: MachineLimits;
  readonly expressions: Expressions;
  resolveJob(definition: TaskDefinition, params: string | undefined): string;
  readPayloads(instance: number, refs: readonly number[]): Promise<string[]>;
  /** The actor has something in its inbox. `later`: nobody waits for it, so it may share a turn with what comes. */
  arrived(actor: InstanceActor, urgency: "now" | "later"): void;
  /** The attempt has left this member's dispatcher with its worker. */
  runsElsewhere(run: InstanceTaskRun, worker: string): void;
  /** A decision's variables could not be read. */
  failed(actor: InstanceActor, error: unknown): void;
}

/**
 * One instance in memory: its state, and the messages that wait for its next turn. Messages are handled one after the
 * other, in order of arrival; a turn takes all that are there.
 */
export class InstanceActor implements TaskOwner {
  readonly id: string;
  readonly key: number;
  readonly definition: Definition;
  readonly machine: DagMachine;
  readonly host: ActorHost;
  /** In the shard's list of actors with something to do. */
  isDirty = false;
  /** A turn of it is being written. */
  isBusy = false;
  lastTurnAt = 0;
  /** As it was last written; undefined before the first turn is, and after the end. */
  row: InstanceRow | undefined;
  /** Definitions that its first turn brings along, in case the store has them not yet. */
  starting: readonly Definition[] = [];
  #inbox: Message[] = [];
  /** Attempts that have started since the last turn and not ended. */
  readonly #starts = new Map<InstanceTaskRun, Required<Execution>>();
  #lostWithProcess: Set<number> | undefined;
  #turns = 0;
  #events = 0;
  /** What jobs may see: nothing that is not durable. */
  #committedContext: Context;
  /** Of tasks whose parameters are being changed: what they are until that is durable. */
  #committedParams: Map<number, string> | undefined;

  constructor(host: ActorHost, definition: Definition, id: string, key: number) {
    this.host = host;
    this.id = id;
    this.key = key;
    this.definition = definition;
    this.machine = new DagMachine(definition.graph, id, key, host.limits);
    this.#committedContext = this.machine.state.context;
  }

  get isInboxEmpty(): boolean {
    return this.#inbox.length === 0;
  }

  /** Something happened that is not in its state yet. */
  get hasNews(): boolean {
    return !this.isInboxEmpty || this.#starts.size > 0;
  }

  /** Nothing is under way that would need it in memory. */
  get isIdle(): boolean {
    return this.isInboxEmpty && this.machine.state.inFlight === 0;
  }

  /** Its start was refused: it never was. */
  get isUnborn(): boolean {
    return this.#turns === 0;
  }

  /** Takes in the history of an earlier life. */
  restore(history: readonly HistoryRow[], row: InstanceRow | undefined): void {
    for (const { turn, at, firstEvent, events } of history) {
      assert(turn === this.#turns && firstEvent === this.#events, "history has no gap");
      const decided = JSON.parse(events) as Event[];
      for (const event of decided) this.machine.apply(event, at);
      this.#turns++;
      this.#events += decided.length;
      this.lastTurnAt = at;
    }
    this.row = row;
    this.#committedContext = this.machine.state.context;
  }

  /**
   * Hands the dispatcher again what was with it when the earlier life ended. An attempt whose start is on record is
   * where `find` says it is. After an unclean end any other may have been lost with its process too, so it starts
   * cautiously. An attempt that was stopped in good order is taken back, or the next crash would count it. Where nothing
   * new is to start, because the instance pauses or fails, what had not started is taken back too.
   */
  resumeTasks(wasClean: boolean, find: FindAttempt): TaskRun[] {
    const runs: TaskRun[] = [];
    const { state } = this.machine;
    for (const task of this.machine.decisionsInFlight()) this.decideLater(task, state.attempt(task));
    for (const task of this.machine.jobsInFlight()) {
      const run = new InstanceTaskRun(this, task, !wasClean);
      const isRunning = state.phase(task) === Phase.running;
      const place = isRunning ? find(run, state.record(task)?.worker ?? "") : "stopped";
      if (place === "here" || place === "elsewhere") continue;
      if (place === "lost") this.lost(run);
      else if (isRunning ? !state.failing : state.pausing || state.failing) this.withdrawn(run);
      else runs.push(run);
    }
    return runs;
  }

  /** With the process that ran it. */
  lost({ task, attempt, generation }: InstanceTaskRun): void {
    (this.#lostWithProcess ??= new Set()).add(task);
    this.tell({ input: { type: "NodeCompleted", task, attempt, generation, outcome: { kind: "lost" } } });
  }

  /** Its attempts that were running here. Where nothing new is to start, they stay on record and run again. */
  takeBackStopped(isElsewhere: (attemptId: string) => boolean): void {
    const { state } = this.machine;
    if (state.failing) return;
    const starting = new Set(Array.from(this.#starts.keys(), ({ task }) => task));
    for (const task of this.machine.jobsInFlight()) {
      const run = new InstanceTaskRun(this, task, false);
      const hasStarted = state.phase(task) === Phase.running || starting.has(task);
      if (hasStarted && !isElsewhere(run.attemptId)) this.withdrawn(run);
    }
  }

  /** In the life before this one. A thread that dies takes nobody along, so such a loss is another matter. */
  wasLostWithProcess(task: number): boolean {
    return this.#lostWithProcess?.has(task) ?? false;
  }

  tell(message: Message): void {
    this.#inbox.push(message);
    this.host.arrived(this, "now");
  }

  // What the dispatcher reports

  /** Nobody waits to hear of it, and the attempt's end says it too: most starts are never told by themselves. */
  started(run: InstanceTaskRun, execution: Required<Execution>): void {
    this.#starts.set(run, execution);
    this.host.arrived(this, run.isCautious ? "now" : "later");
  }

  /** Resolves when the start, told just before, is durable: a question is answered no sooner. */
  confirmStart(): Promise<void> {
    const reply = Promise.withResolvers<void>();
    this.tell({ query: () => undefined, reply });
    return reply.promise;
  }

  /** A remote worker keeps the result until it is acknowledged: when it is durable. */
  ended(run: InstanceTaskRun, outcome: Outcome, execution: Execution, acknowledge?: () => void): void {
    this.#starts.delete(run);
    const { task, attempt, generation } = run;
    const input: Input = { type: "NodeCompleted", task, attempt, generation, outcome, ...execution };
    if (acknowledge === undefined) this.tell({ input });
    else this.tell({ input, reply: { resolve: acknowledge, reject: () => undefined } });
  }

  withdrawn({ task, attempt }: InstanceTaskRun): void {
    this.tell({ input: { type: "NodesWithdrawn", runs: [{ task, attempt }] } });
  }

  /** The committed context and what the task waited for, as texts. */
  inputsOf(task: number): TaskInputs | Promise<TaskInputs> {
    const context = this.#contextPayloads();
    const outputs = predecessorOutputs(this.machine, task);
    const contextTexts = textsAtHand(context);
    const outputTexts = textsAtHand(outputs);
    if (contextTexts !== undefined && outputTexts !== undefined) return { context: contextTexts, outputs: outputTexts };
    return this.#readInputs(context, outputs);
  }

  async #readInputs(context: Payloads, outputs: Payloads): Promise<TaskInputs> {
    const read = (refs: readonly number[]): Promise<string[]> => this.host.readPayloads(this.key, refs);
    return { context: await readTexts(context, read), outputs: await readTexts(outputs, read) };
  }

  #contextPayloads(): Payloads {
    return this.#committedContext.bytes === 2 ? {} : Object.fromEntries(this.#committedContext.entries);
  }

  // Turns

  /** Handles what is in the inbox. Whatever throws here but a refusal is a bug: the caller parks the instance. */
  openTurn(now: number, chance: number): InstanceTurn {
    const turn = new Turn(Math.max(now, this.lastTurnAt), chance);
    const payloads = new PayloadRows(this.key, this.#turns);
    const open = new InstanceTurn(this, turn, this.machine.state.status);
    const inbox = this.#inbox;
    this.#inbox = [];
    open.messages = inbox;
    if (this.#starts.size > 0) this.#tellStarts(turn);
    for (const message of inbox) {
      if ("query" in message) open.answer(message);
      else this.#take(message, open, turn, payloads);
    }
    this.lastTurnAt = turn.at;
    open.close(this.#turns, this.#events, payloads.rows);
    if (turn.events.length > 0) this.#turns++;
    this.#events += turn.events.length;
    return open;
  }

  #tellStarts(turn: Turn): void {
    for (const [{ task, attempt, generation }, execution] of this.#starts) {
      this.machine.handle({ type: "NodeStarted", task, attempt, generation, ...execution }, turn);
    }
    this.#starts.clear();
  }

  #take(message: Told, open: InstanceTurn, turn: Turn, payloads: PayloadRows): void {
    const events = turn.events.length;
    const rows = payloads.rows.length;
    if (message.input.type === "UpdateParams") this.#keepParams(message.input.task);
    try {
      this.machine.handle(payloads.extract(message.input), turn);
      this.#carryOut(open, turn);
      open.done(message);
    } catch (error) {
      if (!(error instanceof EngineError)) throw error;
      assert(turn.events.length === events, "a refused message changes nothing");
      open.refused(message, error);
    }
    if (turn.events.length === events) payloads.rows.length = rows;
  }

  /** Decisions are settled inside the turn if what they look at is at hand; everything else waits for the commit. */
  #carryOut(open: InstanceTurn, turn: Turn): void {
    for (let command = turn.commands.shift(); command !== undefined; command = turn.commands.shift()) {
      if (command.type !== "EvaluateDecision") {
        open.after(this.#fixAttempts(command));
        continue;
      }
      const answer = this.#decideNow(command.task, command.attempt);
      if (answer === undefined) open.after(command);
      else this.machine.handle(answer, turn);
    }
  }

  /** Attempt ids are those of this moment: a later message of the same turn may reopen the instance. */
  #fixAttempts(command: Exclude<Command, { type: "EvaluateDecision" }>): Effect {
    if (command.type !== "WithdrawTasks" && command.type !== "AbortTasks") return command;
    return { type: command.type, attemptIds: this.#attemptIds(command.tasks) };
  }

  #attemptIds(tasks: readonly number[]): string[] {
    const { address, state } = this.machine;
    return tasks.map((task) => attemptId(address, task, state.record(task)?.attempt ?? 0));
  }

  #decideNow(task: number, attempt: number): DecisionEvaluated | undefined {
    const context = textsAtHand(Object.fromEntries(this.machine.state.context.entries));
    const outputs = textsAtHand(predecessorOutputs(this.machine, task));
    return context && outputs && this.#decide(task, attempt, { context, outputs });
  }

  /** What it looks at has to be read from the store, where it is by now. */
  decideLater(task: number, attempt: number): void {
    const context = Object.fromEntries(this.machine.state.context.entries);
    this.#readInputs(context, predecessorOutputs(this.machine, task)).then(
      (inputs) => this.tell({ input: this.#decide(task, attempt, inputs) }),
      (error: unknown) => this.host.failed(this, error),
    );
  }

  #decide(task: number, attempt: number, inputs: TaskInputs): DecisionEvaluated {
    const expression = this.machine.state.params(task) ?? "";
    try {
      const ok = this.host.expressions.evaluate(expression, {
        context: parseTexts(inputs.context),
        outputs: parseTexts(inputs.outputs),
      });
      return { type: "DecisionEvaluated", task, attempt, value: { ok } };
    } catch (error) {
      const failure = { type: "DECISION_INVALID", message: messageOf(error), retryable: false };
      return { type: "DecisionEvaluated", task, attempt, value: { failure } };
    }
  }

  /** The turn is durable. */
  committed(row: InstanceRow | undefined): void {
    this.row = row;
    this.#committedContext = this.machine.state.context;
    this.#committedParams?.clear();
  }

  /** As JSON text; like the context, nothing that is not durable. */
  paramsOf(task: number): string {
    return this.#committedParams?.get(task) ?? this.machine.state.params(task) ?? "";
  }

  #keepParams(task: number): void {
    const kept = (this.#committedParams ??= new Map<number, string>());
    if (!kept.has(task)) kept.set(task, this.machine.state.params(task) ?? "");
  }

  run(task: number): TaskRun {
    return new InstanceTaskRun(this, task, false);
  }

  get hasEnded(): boolean {
    return hasEnded(this.machine.status);
  }

  outputs(): Payloads {
    return allOutputs(this.machine);
  }

  /** Takes everything out of the inbox, for an actor that will have no further turn. */
  abandonInbox(): Message[] {
    return this.#inbox.splice(0);
  }
}

/**
 * Where an attempt is whose start is on record: with this member's dispatcher, with another member that will report it,
 * stopped in good order, or lost.
 */
export type FindAttempt = (run: InstanceTaskRun, worker: string) => "here" | "elsewhere" | "stopped" | "lost";

/** A command as it waits for its cause to be durable. */
export type Effect =
  | Exclude<Command, { type: "WithdrawTasks" | "AbortTasks" }>
  | { readonly type: "WithdrawTasks" | "AbortTasks"; readonly attemptIds: readonly string[] };
