import { EngineError, messageOf } from "../base/error.ts";
import { localName } from "../base/namespace.ts";
import type { TaskInputs, TaskRun } from "../dispatch/task-run.ts";
import { placementOf, type WorkerSelector } from "../dispatch/worker-selector.ts";
import { attemptId } from "../kernel/address.ts";
import type { Context } from "../kernel/context.ts";
import { DagMachine } from "../kernel/dag/dag-machine.ts";
import type { DecisionEvaluated, ItemsListed } from "../kernel/dag/dag-input.ts";
import type { AwaitedWorkers } from "../kernel/dag/item-table.ts";
import { firstItemNumber } from "../kernel/dag/map-items.ts";
import { hasSource, type TaskDefinition } from "../kernel/task-definition.ts";
import type { DagDefinition } from "./definitions.ts";
import { TimeBudget } from "../expressions/expression-cost.ts";
import {
  type ActorShard,
  type ActorTurn,
  type FindAttempt,
  InstanceActor,
  type StoredInstance,
} from "./instance-actor.ts";
import type { Broadcaster } from "./broadcast-watch.ts";
import { ItemPages, pagesOf } from "./item-pages.ts";
import type { InputMessage } from "./message.ts";
import {
  allOutputs,
  noPayloads,
  type Payloads,
  predecessorOutputs,
  readTexts,
  refuseLargeJoin,
  textsAtHand,
} from "./task-inputs.ts";

/** The inputs of a task without context or predecessors' outputs, shared by all of them. */
const noInputs: TaskInputs = Object.freeze({ context: noPayloads, outputs: noPayloads });

interface ReadyDecision {
  readonly task: number;
  readonly attempt: number;
  readonly inputs: TaskInputs;
}

/**
 * An instance of a DAG: its tasks see its context and the outputs of their predecessors, and decisions are evaluated in
 * its turns.
 */
export class DagActor extends InstanceActor<DagMachine> implements Broadcaster {
  /** The context that jobs see: it is durable. */
  #committedContext: Context;
  /** Parameters by task, as they were before a change that is not durable yet. */
  #committedParams: Map<number, string> | undefined;
  /** Decisions whose inputs had to be read and have been: the next turn evaluates them. */
  #readyDecisions: ReadyDecision[] | undefined;
  /** The time budget of the open turn. */
  #timeBudget: TimeBudget | undefined;
  /** Created with the first item of a map. */
  #itemPages: ItemPages | undefined;

  constructor(shard: ActorShard, definition: DagDefinition, id: string, key: number) {
    super(shard, definition, new DagMachine(definition.graph, id, key, shard.limits));
    this.#committedContext = this.machine.state.context;
  }

  override get isInboxEmpty(): boolean {
    return super.isInboxEmpty && this.#readyDecisions === undefined;
  }

  override restore(stored: StoredInstance): void {
    super.restore(stored);
    this.#committedContext = this.machine.state.context;
  }

  override resumeTasks(wasClean: boolean, find: FindAttempt): TaskRun[] {
    const { state } = this.machine;
    for (const task of [...this.machine.decisionsInFlight(), ...this.machine.mapsToList()])
      this.evaluateLater(task, state.attempt(task));
    this.shard.broadcasts.watch(this);
    return super.resumeTasks(wasClean, find);
  }

  /** The committed context and the outputs of the predecessors, as texts. `INPUTS_TOO_LARGE`. */
  inputsOf(task: number): TaskInputs | Promise<TaskInputs> {
    const context = this.#contextPayloads();
    const outputs = predecessorOutputs(this.machine, this.machine.state.nodeOf(task));
    if (task >= firstItemNumber) return this.#inputsOfItem(task, context, outputs);
    if (context === noPayloads && outputs === noPayloads) return noInputs;
    this.#refuseLargeInputs(task, context, outputs);
    const contextTexts = textsAtHand(context);
    const outputTexts = textsAtHand(outputs);
    if (contextTexts !== undefined && outputTexts !== undefined) return { context: contextTexts, outputs: outputTexts };
    return this.#readInputs(context, outputs);
  }

  /** An item gets only values that are small: the list that it comes from may be among the others. */
  #inputsOfItem(item: number, context: Payloads, outputs: Payloads): TaskInputs | Promise<TaskInputs> {
    const items = this.machine.state.items.get(item);
    const inputs = { context: smallTexts(context), outputs: smallTexts(outputs) };
    if (items.hooks.of(item) !== undefined) return inputs;
    const withItem = (value: string): TaskInputs => ({ ...inputs, item: { index: item - items.first, value } });
    this.#itemPages ??= new ItemPages((refs) => this.shard.readPayloads(this.key, refs));
    const text = this.#itemPages.textOf(items, item);
    return typeof text === "string" ? withItem(text) : text.then(withItem);
  }

  #refuseLargeInputs(task: number, context: Payloads, outputs: Payloads): void {
    refuseLargeJoin([context, outputs], () => ({
      code: "INPUTS_TOO_LARGE",
      what: `the context and the outputs that task "${this.machine.state.definition(task).name}" would be given`,
      instead: "let it depend on fewer tasks, or let them return where their results are",
    }));
  }

  async #readInputs(context: Payloads, outputs: Payloads): Promise<TaskInputs> {
    const read = (refs: readonly number[]): Promise<string[]> => this.shard.readPayloads(this.key, refs);
    return { context: await readTexts(context, read), outputs: await readTexts(outputs, read) };
  }

  #contextPayloads(): Payloads {
    return this.#committedContext.bytes === 2 ? noPayloads : Object.fromEntries(this.#committedContext.entries);
  }

  openTurn(now: number, random: number): ActorTurn {
    const open = this.beginTurn(now, random);
    open.messages = this.inbox;
    this.inbox = [];
    this.#timeBudget = undefined;
    try {
      if (this.#readyDecisions !== undefined) this.#takeReadyDecisions(open);
      for (const message of open.messages) {
        if ("query" in message) open.answer(message);
        else this.take(message, open);
      }
      this.machine.feedMaps(open.turn);
      this.collectCommands(open);
      open.isSlow = this.#isSlow();
      return this.closeTurn(open);
    } catch (error) {
      open.fail(error);
      throw error;
    }
  }

  override take(message: InputMessage, open: ActorTurn): void {
    if (message.input.type === "UpdateParams") this.#keepParams(message.input.task);
    super.take(message, open);
  }

  /**
   * Decisions and the items of maps are evaluated inside the turn if their inputs are in memory; all other commands wait
   * for the commit.
   */
  override collectCommands(open: ActorTurn): void {
    const { turn } = open;
    for (let command = turn.takeCommand(); command !== undefined; command = turn.takeCommand()) {
      const answer =
        command.type === "EvaluateDecision" || command.type === "ListItems"
          ? this.#evaluateNow(command.task, command.attempt)
          : undefined;
      if (answer === undefined) open.addEffect(command);
      else this.machine.handle(open.payloads.extract(answer), turn);
    }
  }

  #evaluateNow(task: number, attempt: number): Evaluated | undefined {
    if (isBroadcast(this.machine.state.definition(task))) return undefined;
    const context = textsAtHand(Object.fromEntries(this.machine.state.context.entries));
    const outputs = textsAtHand(predecessorOutputs(this.machine, task));
    return context && outputs && this.#evaluate(task, attempt, { context, outputs });
  }

  /**
   * Evaluates a decision, or the items of a map, in a later turn, because the inputs have to be read from the store, where
   * they are by now.
   */
  evaluateLater(task: number, attempt: number): void {
    if (isBroadcast(this.machine.state.definition(task))) return void this.#listWorkers(task, attempt);
    const context = Object.fromEntries(this.machine.state.context.entries);
    const outputs = predecessorOutputs(this.machine, task);
    try {
      this.#refuseLargeInputs(task, context, outputs);
    } catch (error) {
      return this.tell({ input: this.#evaluationFailed(task, attempt, error) });
    }
    this.#readInputs(context, outputs).then(
      (inputs) => {
        (this.#readyDecisions ??= []).push({ task, attempt, inputs });
        this.shard.schedule(this, "now");
      },
      (error: unknown) => this.shard.onReadFailed(this, error),
    );
  }

  /** The items of a broadcast are the workers that are eligible now. Their list comes from outside, and is recorded. */
  async #listWorkers(task: number, attempt: number): Promise<void> {
    try {
      const selector = this.selectorOf(task);
      const workers = await this.shard.broadcasts.find(selector);
      if (this.shard.isStopping) return;
      const listed = { type: "ItemsListed", task, attempt, pages: [] } as const;
      if (workers.length > 0) return this.tell({ input: { ...listed, workers } });
      const message = `no worker has job "${localName(selector.job)}" and the tags of the task`;
      this.tell({ input: { ...listed, failure: { type: "WORKER_MISSING", message, retryable: true } } });
    } catch (error) {
      if (this.shard.isStopping) return;
      const type = error instanceof EngineError ? error.code : "WORKER_MISSING";
      const failure = { type, message: messageOf(error), retryable: true };
      this.tell({ input: { type: "ItemsListed", task, attempt, pages: [], failure } });
    }
  }

  selectorOf(task: number): WorkerSelector {
    const { state } = this.machine;
    const definition = state.definition(task);
    const job = this.shard.resolveJob(this.id, definition, state.params(task));
    return { job, placement: placementOf(definition) };
  }

  get hasRunningBroadcast(): boolean {
    return this.machine.state.items.hasRunningBroadcast;
  }

  awaitedWorkers(): readonly AwaitedWorkers[] {
    const { address, state } = this.machine;
    return state.items.awaitedWorkers((item) => {
      return this.shard.broadcasts.isQueued(attemptId(address, item, state.attempt(item)));
    });
  }

  onWorkersGone(task: number, items: readonly number[]): void {
    const attempt = this.machine.state.attempt(task);
    this.tell({ input: { type: "WorkersGone", task, attempt, items } });
  }

  #evaluationFailed(task: number, attempt: number, error: unknown): Evaluated {
    const type = error instanceof EngineError ? error.code : "DECISION_INVALID";
    const failure = { type, message: messageOf(error), retryable: false };
    if (this.machine.state.definition(task).kind === "map")
      return { type: "ItemsListed", task, attempt, pages: [], failure };
    return { type: "DecisionEvaluated", task, attempt, value: { failure } };
  }

  #takeReadyDecisions(open: ActorTurn): void {
    const ready = this.#readyDecisions ?? [];
    this.#readyDecisions = undefined;
    for (const { task, attempt, inputs } of ready) this.take({ input: this.#evaluate(task, attempt, inputs) }, open);
  }

  #isSlow(): boolean {
    return this.#timeBudget?.isSlow === true;
  }

  /** All expressions of a turn share one time budget. */
  #evaluate(task: number, attempt: number, inputs: TaskInputs): Evaluated {
    this.#timeBudget ??= new TimeBudget();
    const { loopWatch } = this.shard.code;
    const { name: taskName, map } = this.machine.state.definition(task);
    const work = loopWatch?.enter("decision", this.id, this.definition.name, taskName) ?? 0;
    try {
      const source = map === undefined ? (this.machine.state.params(task) ?? "") : (map.items ?? []);
      const ok =
        typeof source === "string" ? this.shard.expressions.evaluate(source, inputs, this.#timeBudget) : source;
      if (map === undefined) return { type: "DecisionEvaluated", task, attempt, value: { ok } };
      return { type: "ItemsListed", task, attempt, pages: pagesOf(ok, taskName) };
    } catch (error) {
      return this.#evaluationFailed(task, attempt, error);
    } finally {
      loopWatch?.leave(work);
    }
  }

  override onCommitted(turn: ActorTurn): void {
    super.onCommitted(turn);
    if (turn.events.length === 0) return;
    this.#committedContext = this.machine.state.context;
    this.#committedParams?.clear();
    if (this.hasRunningBroadcast) this.shard.broadcasts.watch(this);
  }

  paramsOf(task: number): string {
    return this.#committedParams?.get(task) ?? this.machine.state.params(task) ?? "";
  }

  #keepParams(task: number): void {
    const kept = (this.#committedParams ??= new Map<number, string>());
    if (!kept.has(task)) kept.set(task, this.machine.state.params(task) ?? "");
  }

  outputs(): Payloads {
    return allOutputs(this.machine);
  }
}

type Evaluated = DecisionEvaluated | ItemsListed;

function isBroadcast({ map }: TaskDefinition): boolean {
  return map !== undefined && map.items === undefined && !hasSource(map);
}

function smallTexts(payloads: Payloads): Readonly<Record<string, string>> {
  const texts = textsAtHand(payloads);
  if (texts !== undefined) return texts;
  return Object.fromEntries(
    Object.entries(payloads).filter((entry): entry is [string, string] => typeof entry[1] === "string"),
  );
}
