/** One random run: every step goes to the machine, to a second machine that must do the same, and to the model. */
import assert from "node:assert/strict";
import { EngineError, type ErrorCode } from "../../src/base/error.ts";
import type { ParentAddress } from "../../src/kernel/address.ts";
import type { Command } from "../../src/kernel/command.ts";
import { DagMachine } from "../../src/kernel/dag/dag-machine.ts";
import type { DagSpec } from "../../src/kernel/dag/dag-spec.ts";
import type { NodeSpec } from "../../src/kernel/node-spec.ts";
import { Graph } from "../../src/kernel/dag/graph.ts";
import { causeOf, isInFlight, Phase, statusOf } from "../../src/kernel/task-state.ts";
import type { Event } from "../../src/kernel/event.ts";
import type { DagInput } from "../../src/kernel/dag/dag-input.ts";
import { Turn } from "../../src/kernel/turn.ts";
import { DagModel, type ModelTask } from "./dag-model.ts";
import { stateOf } from "./state-of.ts";

export const limits = {
  subTasksMax: 4,
  interruptionsMax: 2,
  stepsMax: 10,
  concurrentTasks: 5,
  concurrentActivities: 0,
  timeoutMs: 1000,
};

export interface RunOptions {
  readonly spec: DagSpec;
  readonly placesMax: number;
  readonly isQueued: boolean;
  readonly isChild: boolean;
}

interface Report {
  readonly task: number;
  readonly attempt: number;
  readonly generation: number;
}

export class DagRun {
  readonly model: DagModel;
  at = 1000;
  /** Whom the instance tells about its end. */
  parent: ParentAddress | undefined;
  readonly #graph: Graph;
  readonly #machine: DagMachine;
  #shadow: DagMachine;
  readonly #history: { readonly at: number; readonly event: Event }[] = [];
  /** Everything that was ever handed out. */
  readonly #reports: Report[] = [];
  /** Tasks that succeeded and were not asked to run again. */
  readonly #done = new Set<ModelTask>();
  /** As the step before left them. */
  #outBefore: readonly ModelTask[] = [];
  #hadEnded = false;

  constructor({ spec, placesMax, isQueued, isChild }: RunOptions) {
    this.#graph = new Graph(spec);
    this.#machine = this.#newMachine();
    this.#shadow = this.#newMachine();
    this.model = new DagModel(spec, placesMax);
    if (isChild) this.parent = { id: "p", key: 1, generation: 1, task: 0, attempt: 1, depth: 1 };
    if (!isQueued) this.#begin();
    this.tell({
      type: "StartInstance",
      workflow: "w",
      version: "1",
      generation: 1,
      context: {},
      maxConcurrentTasks: placesMax,
      trigger: "api",
      admission: isQueued ? "queue" : "run",
      ...(this.parent && { parent: this.parent }),
    });
  }

  #newMachine(): DagMachine {
    return new DagMachine(this.#graph, "i", 7, limits);
  }

  #begin(): void {
    this.model.status = "Running";
    this.model.setDeadline(this.at);
  }

  numberOf(task: ModelTask): number {
    return this.model.tasks.indexOf(task);
  }

  /** The model has been told already; the machine must come to the same. */
  tell(input: DagInput): void {
    const turn = this.#handle(input);
    this.model.passOver();
    const scheduled = turn.events.flatMap((event) => (event.type === "TasksScheduled" ? event.tasks : []));
    this.#handOut(scheduled.map((task) => this.model.tasks[task]!));
    this.model.conclude();
    this.#checkCommands(input, turn.commands);
    this.check();
  }

  /** Both machines refuse, and nothing has changed. */
  refuse(input: DagInput, code: ErrorCode): void {
    for (const machine of [this.#machine, this.#shadow]) {
      const turn = new Turn(this.at, 0);
      assert.throws(
        () => machine.handle(input, turn),
        (error) => error instanceof EngineError && error.code === code,
      );
      assert.deepEqual([turn.events, turn.commands], [[], []]);
    }
    this.check();
  }

  /** A report that nobody waits for changes nothing. */
  drop(input: DagInput): void {
    const before = stateOf(this.#machine);
    const turn = this.#handle(input);
    assert.deepEqual([turn.events, turn.commands], [[], []]);
    assert.ok(turn.dropped > 0);
    assert.deepEqual(stateOf(this.#machine), before);
  }

  /** From now on the second machine is one that has only read the history. */
  replay(): void {
    this.#shadow = this.#newMachine();
    const read = JSON.parse(JSON.stringify(this.#history)) as { at: number; event: Event }[];
    for (const { at, event } of read) this.#shadow.apply(event, at);
    assert.deepEqual(stateOf(this.#shadow), stateOf(this.#machine));
  }

  /** Reports of attempts that are over, of other generations, and of tasks that do not exist. */
  get staleReports(): Report[] {
    const isCurrent = ({ task, attempt, generation }: Report): boolean => {
      const { isOut, attempt: current } = this.model.tasks[task]!;
      return isOut && current === attempt && generation === this.model.generation;
    };
    const current = this.#reports.filter(isCurrent);
    return [
      ...this.#reports.filter((report) => !isCurrent(report)),
      ...current.map((report) => ({ ...report, generation: report.generation + 1 })),
      ...current.map((report) => ({ ...report, attempt: report.attempt + 1 })),
      { task: this.model.tasks.length + 3, attempt: 1, generation: this.model.generation },
    ];
  }

  report(task: ModelTask): Report {
    return { task: this.numberOf(task), attempt: task.attempt, generation: this.model.generation };
  }

  admit(): void {
    if (this.model.status !== "Ready") return this.drop({ type: "AdmitInstance" });
    this.#begin();
    this.tell({ type: "AdmitInstance" });
  }

  reopen(input: DagInput): void {
    this.model.reopen(this.at);
    this.#hadEnded = false;
    for (const task of this.#done) if (task.ending !== "Success" || task.isRemoved) this.#done.delete(task);
    this.tell(input);
  }

  succeeded(task: ModelTask, subTasks: readonly NodeSpec[]): void {
    for (const node of subTasks) this.model.addSubTask(node, task);
    this.model.end(task, "Success");
    this.#done.add(task);
  }

  #handle(input: DagInput): Turn {
    const turn = new Turn(this.at, 0);
    this.#machine.handle(input, turn);
    this.#history.push(...turn.events.map((event) => ({ at: this.at, event })));
    const again = new Turn(this.at, 0);
    this.#shadow.handle(input, again);
    assert.deepEqual(again, turn, "the same input has led to something else");
    return turn;
  }

  #handOut(tasks: readonly ModelTask[]): void {
    this.model.handOut(tasks);
    for (const task of tasks) {
      assert.ok(!this.#done.has(task), `${task.name} has succeeded and runs again`);
      if (task.kind === "nested") task.hasStarted = true;
      this.#reports.push(this.report(task));
    }
  }

  #checkCommands(input: DagInput, commands: readonly Command[]): void {
    const before = this.#outBefore;
    const isOver = this.model.hasEnded && !this.#hadEnded;
    const aborted = commands.flatMap((command) =>
      command.type === "AbortTasks" ? command.attemptIds.map((id) => Number(id.split(":")[2])) : [],
    );
    const stopped = before.filter(({ kind, ending }) => kind === "job" && ending === "Stopped");
    const numbers = stopped.map((task) => this.numberOf(task));
    const byNumber = aborted.toSorted((one, other) => one - other);
    assert.deepEqual(byNumber, numbers, "an attempt is aborted exactly when its task is stopped");

    const told = commands.flatMap((command) => (command.type === "TellChild" ? [command.tell.type] : []));
    const children = before.filter(({ kind }) => kind === "nested");
    for (const order of ["PauseInstance", "ResumeInstance"]) {
      const hear = input.type === order ? children.length : 0;
      assert.equal(told.filter((type) => type === order).length, hear, `${order} reaches the children`);
    }
    const canceled = children.filter(({ ending }) => ending === "Stopped").length;
    assert.equal(told.filter((type) => type === "TerminateInstance").length, canceled, "so does their task's stop");

    const isHeard = commands.some(({ type }) => type === "TellParent");
    const isAsked = input.type === "RetryInstance" && input.parent !== undefined && this.model.status === "Success";
    assert.equal(isHeard, this.parent !== undefined && (isOver || isAsked), "the parent hears of the end");
  }

  /** Every status, attempt and count is as the model has it. */
  check(): void {
    const { state } = this.#machine;
    const { model } = this;
    assert.equal(state.status, model.status);
    assert.equal(state.pausing, model.isPausing);
    assert.equal(state.failing, model.isFailing);
    assert.equal(state.generation, model.generation);
    assert.equal(state.size, model.tasks.length);
    assert.deepEqual(new Map(state.context.entries), model.context);
    assert.ok(state.jobsInFlight + state.childrenInFlight <= model.placesMax, "never more than there are places");
    for (const [number, task] of model.tasks.entries()) {
      const phase = state.phase(number);
      assert.equal(phase === Phase.removed, task.isRemoved, task.name);
      if (task.isRemoved) continue;
      assert.equal(standing(phase), standingOf(task), task.name);
      assert.equal(isInFlight(phase), task.isOut, `${task.name} is with somebody`);
      assert.equal(state.attempt(number), task.attempt, `attempts of ${task.name}`);
      assert.equal(state.record(number)?.retryAt, task.retryAt, `the next attempt of ${task.name}`);
      assert.equal(state.isComplete(number), model.isComplete(task), `${task.name} is complete`);
    }
    const retries = model.present.flatMap(({ retryAt }) => retryAt ?? []);
    const mayRetry = model.status === "Running" && !model.isPausing && !model.isFailing;
    const wakes = model.hasEnded
      ? []
      : [...(mayRetry ? retries : []), ...(model.deadline === undefined ? [] : [model.deadline])];
    this.#outBefore = model.out;
    this.#hadEnded = model.hasEnded;
    assert.equal(this.#machine.nextWake(), wakes.length === 0 ? undefined : Math.min(...wakes), "the next wake");
  }
}

function standing(phase: Phase): string {
  const cause = causeOf(phase);
  return cause === undefined ? statusOf(phase) : `${statusOf(phase)} (${cause})`;
}

function standingOf({ ending, isOut, hasStarted }: ModelTask): string {
  return ending ?? (isOut && hasStarted ? "Running" : "Pending");
}
