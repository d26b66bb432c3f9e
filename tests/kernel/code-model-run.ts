/** One random run: every step goes to the machine, to a second machine that must do the same, and to the model. */
import assert from "node:assert/strict";
import { EngineError, type ErrorCode } from "../../src/base/error.ts";
import type { ParentAddress } from "../../src/kernel/address.ts";
import { CodeMachine } from "../../src/kernel/code/code-machine.ts";
import type { Command } from "../../src/kernel/command.ts";
import type { Event } from "../../src/kernel/event.ts";
import type { Machine } from "../../src/kernel/machine.ts";
import type { AnyInput } from "../../src/kernel/input.ts";
import type { CodeInput } from "../../src/kernel/code/code-input.ts";
import { isInFlight, statusOf } from "../../src/kernel/task-state.ts";
import { Turn } from "../../src/kernel/turn.ts";
import type { InstanceActor } from "../../src/runtime/instance-actor.ts";
import { outboxMessageOf } from "../../src/runtime/outbox-message-of.ts";
import { CodeModel, type ModelTask } from "./code-model.ts";
import { codeStateOf } from "./code-state-of.ts";

export const limits = {
  subTasksMax: 4,
  interruptionsMax: 2,
  stepsMax: 40,
  concurrentTasks: 5,
  concurrentActivities: 0,
  timeoutMs: 1000,
};

export interface RunOptions {
  readonly timeoutMs: number | undefined;
  readonly isChild: boolean;
}

export interface Report {
  readonly task: number;
  readonly attempt: number;
  readonly generation: number;
}

export class CodeModelRun {
  readonly model: CodeModel;
  at = 1000;
  /** Whom the instance tells about its end. */
  parent: ParentAddress | undefined;
  readonly #options: RunOptions;
  readonly #machine: CodeMachine;
  #shadow: CodeMachine;
  readonly #history: { readonly at: number; readonly event: Event }[] = [];
  /** Everything that was ever handed out. */
  readonly #reports: Report[] = [];
  #outBefore: readonly ModelTask[] = [];
  #hadEnded = false;
  /** Timers that have fired, and tasks that have finished, in this generation. */
  readonly #over = new Set<string>();
  #generation = 0;

  constructor(options: RunOptions) {
    this.#options = options;
    this.#machine = this.#newMachine();
    this.#shadow = this.#newMachine();
    this.model = new CodeModel(options.timeoutMs, this.at);
    if (options.isChild) this.parent = { id: "p", key: 1, generation: 1, task: 0, attempt: 1, depth: 1 };
    this.tell({
      type: "StartInstance",
      workflow: "w",
      version: "1",
      generation: 1,
      context: {},
      trigger: "api",
      admission: "run",
      ...(this.parent && { parent: this.parent }),
    });
  }

  #newMachine(): CodeMachine {
    return new CodeMachine({ id: "i", key: 7, limits, timeoutMs: this.#options.timeoutMs });
  }

  numberOf(task: ModelTask): number {
    return this.model.tasks.indexOf(task);
  }

  report(task: ModelTask): Report {
    return { task: this.numberOf(task), attempt: task.attempt, generation: this.model.generation };
  }

  /** The model has been told already; the machine must come to the same. */
  tell(input: CodeInput): void {
    const wasOver = this.#hadEnded && input.type !== "RetryInstance";
    const turn = this.#handle(input);
    if (wasOver) assert.deepEqual([turn.events, turn.commands], [[], []], "nothing happens after the end");
    this.#checkEvents(turn.events);
    const going = this.model.handOut();
    for (const task of going) this.#reports.push(this.report(task));
    this.#checkCommands(input, turn.commands, going);
    this.check();
  }

  /** Both machines refuse, and nothing has changed. */
  refuse(input: AnyInput, code: ErrorCode): void {
    const machines: readonly Machine[] = [this.#machine, this.#shadow];
    for (const machine of machines) {
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
  drop(input: CodeInput): void {
    const before = this.#stateOf(this.#machine);
    const turn = this.#handle(input);
    assert.deepEqual([turn.events, turn.commands], [[], []]);
    assert.ok(turn.dropped > 0);
    assert.deepEqual(this.#stateOf(this.#machine), before);
  }

  /** From now on the second machine is one that has only read the history. */
  replay(): void {
    this.#shadow = this.#newMachine();
    const read = JSON.parse(JSON.stringify(this.#history)) as { at: number; event: Event }[];
    // What was before a new beginning is not kept.
    const first = read.findLastIndex(({ event }) => event.type === "InstanceContinued");
    for (const { at, event } of read.slice(Math.max(0, first))) this.#shadow.apply(event, at);
    assert.deepEqual(this.#stateOf(this.#shadow), this.#stateOf(this.#machine));
  }

  /** Reports of attempts that are over, of other generations, and of tasks that do not exist. */
  get staleReports(): Report[] {
    const isCurrent = ({ task, attempt, generation }: Report): boolean => {
      const known = this.model.tasks[task];
      return generation === this.model.generation && known?.isOut === true && known.attempt === attempt;
    };
    const current = this.#reports.filter(isCurrent);
    return [
      ...this.#reports.filter((report) => !isCurrent(report)),
      ...current.map((report) => ({ ...report, generation: report.generation + 1 })),
      ...current.map((report) => ({ ...report, attempt: report.attempt + 1 })),
      { task: this.model.tasks.length + 3, attempt: 1, generation: this.model.generation },
    ];
  }

  #stateOf(machine: CodeMachine): unknown {
    return codeStateOf(machine, this.model.updates.keys());
  }

  #handle(input: CodeInput): Turn {
    const turn = new Turn(this.at, 0);
    this.#machine.handle(input, turn);
    this.#history.push(...turn.events.map((event) => ({ at: this.at, event })));
    const again = new Turn(this.at, 0);
    this.#shadow.handle(input, again);
    assert.deepEqual(again, turn, "the same input has led to something else");
    return turn;
  }

  #checkEvents(events: readonly Event[]): void {
    for (const event of events) {
      if (event.type === "InstanceCreated" || event.type === "InstanceContinued") {
        assert.equal(event.generation, ++this.#generation, "generations count up");
        this.#over.clear();
      } else if (event.type === "TimerFired") {
        const { dueAt } = this.model.timers[event.timer]!;
        assert.ok(dueAt <= this.at, "no timer fires early");
        this.#isOver(`timer ${event.timer}`);
      } else if (event.type === "TaskSucceeded" || (event.type === "TaskFailed" && event.retryAt === undefined)) {
        this.#isOver(`task ${event.task}`);
      } else if (event.type === "TasksStopped" || event.type === "TasksCanceled") {
        for (const task of event.tasks) this.#isOver(`task ${task}`);
      } else if (event.type === "RetriesDue") {
        for (const task of event.tasks) assert.ok(!this.#over.has(`task ${task}`), "what is over is not tried again");
      }
    }
  }

  #isOver(what: string): void {
    assert.ok(!this.#over.has(what), `${what} is over twice`);
    this.#over.add(what);
  }

  #checkCommands(input: CodeInput, commands: readonly Command[], going: readonly ModelTask[]): void {
    const { model } = this;
    const numbersOf = (tasks: readonly ModelTask[]): number[] => tasks.map((task) => this.numberOf(task));
    const run = commands.flatMap((command) => (command.type === "RunTasks" ? command.tasks : []));
    assert.deepEqual(
      new Set(run),
      new Set(numbersOf(going.filter(({ kind }) => kind === "job"))),
      "each goes out once",
    );
    assert.equal(new Set(run).size, run.length);
    for (const task of run) assert.equal(this.#machine.state.definition(task).kind, "job", "what goes out is there");
    this.#checkChildren(commands);

    const stopped = this.#outBefore.filter(({ ending }) => ending === "Stopped");
    const aborted = commands.flatMap((command) => (command.type === "AbortTasks" ? command.attemptIds : []));
    assert.equal(aborted.length, stopped.filter(({ kind }) => kind === "job").length, "all that runs is aborted");
    const isOver = model.hasEnded && !this.#hadEnded;
    const isHeard = commands.some(({ type }) => type === "TellParent");
    const isAsked = input.type === "RetryInstance" && input.parent !== undefined && model.status === "Success";
    assert.equal(isHeard, this.parent !== undefined && (isOver || isAsked), "the parent hears of the end");
  }

  /** Carried out only after the turn, when the instance may have begun anew: what goes to others is made of that state. */
  #checkChildren(commands: readonly Command[]): void {
    const { model } = this;
    const actor = { id: "i", key: 7, machine: this.#machine, outputs: () => undefined } as unknown as InstanceActor;
    const messages = commands.flatMap((command) => outboxMessageOf(actor, command) ?? []);
    const started = messages.flatMap((message) => {
      if (message.kind === "start-child") {
        assert.deepEqual([message.workflow, message.version], ["c", "1"]);
        return message.to;
      }
      return message.kind === "tell-child" && message.order.type === "RetryInstance" ? message.to : [];
    });
    assert.deepEqual(started.toSorted(), model.started.toSorted(), "children start once for each attempt");
    const told = messages.flatMap((message) =>
      message.kind === "tell-child" && message.order.type !== "RetryInstance"
        ? `${message.to} ${message.order.type}`
        : [],
    );
    assert.deepEqual(told.toSorted(), model.told.toSorted(), "children hear what concerns them");
    model.started = [];
    model.told = [];
    assert.deepEqual(this.#machine.state.detachedChildren, model.detached);
  }

  /** Every status, attempt and count is as the model has it. */
  check(): void {
    const { state } = this.#machine;
    const { model } = this;
    assert.equal(state.status, model.status);
    assert.equal(state.generation, model.generation);
    assert.equal(state.size, model.tasks.length);
    assert.equal(state.timers, model.timers.length);
    assert.equal(state.cancelReason, model.cancelReason);
    if (!model.hasEnded) assert.equal(state.isCancelHeld, model.isCancelHeld);
    assert.equal(state.customStatus, model.customStatus);
    for (const [number, task] of model.tasks.entries()) {
      const phase = state.phase(number);
      const standing = task.ending ?? (task.isOut && task.hasStarted ? "Running" : "Pending");
      assert.equal(statusOf(phase), standing, `task ${number}`);
      assert.equal(isInFlight(phase), task.isOut, `task ${number} is with somebody`);
      assert.equal(state.attempt(number), task.attempt, `attempts of ${number}`);
      if (task.ending === undefined)
        assert.equal(state.record(number)?.retryAt, task.retryAt, `next attempt of ${number}`);
      assert.equal(state.definition(number).params === undefined, task.ending !== undefined, "C3");
    }
    const jobs = model.out.filter(({ kind }) => kind === "job");
    assert.deepEqual([state.jobsInFlight, state.inFlight], [jobs.length, model.out.length]);
    assert.deepEqual(
      this.#machine.jobsInFlight(),
      jobs.map((task) => this.numberOf(task)),
    );
    const timers = model.timers.flatMap(({ state: now }, timer) => (now === "set" ? [timer] : []));
    assert.deepEqual(new Set(state.timersDue.numbers), new Set(timers));
    for (const [update, standing] of model.updates) {
      assert.equal(state.hasUpdate(update), true);
      assert.equal(state.answerTo(update) !== undefined, standing === "answered");
    }
    this.#outBefore = model.out;
    this.#hadEnded = model.hasEnded;
    assert.equal(this.#machine.nextWake(), model.nextWake, "the next wake");
    assert.deepEqual(this.#stateOf(this.#shadow), this.#stateOf(this.#machine), "the other machine stands elsewhere");
  }
}
