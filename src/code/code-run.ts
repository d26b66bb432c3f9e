import type { CodeWorkflow } from "../authoring/code-workflow.ts";
import { unreachable } from "../base/assert.ts";
import { EngineError } from "../base/error.ts";
import { type ContextLog, contextLogOf, silentContextLog } from "../base/context-log.ts";
import { type Logger, withFields } from "../base/logger.ts";
import type { LoopWatch } from "../base/loop-watch.ts";
import { instanceFields, localName } from "../base/namespace.ts";
import { isLast, type LastStep, type Step } from "../kernel/code/step.ts";
import type { KeptEvent, KeptUpdate } from "../kernel/event.ts";
import type { Failure } from "../kernel/failure.ts";
import type { Arrival } from "./arrival.ts";
import { ArrivalBuffer } from "./arrival-buffer.ts";
import type { CallPlace } from "./call-place.ts";
import { Compensation } from "./compensation.ts";
import type { IdleListener } from "./drain.ts";
import { RaisedEvents } from "./raised-events.ts";
import { DeterministicRandom } from "./deterministic-random.ts";
import { RunFaults } from "./run-faults.ts";
import { type AnswerStep, RunHandlers } from "./run-handlers.ts";
import { describeTask, warnOfDroppedUndo, warnOfUnanswered, warnOfUnawaited, warnOfUndo } from "./run-warnings.ts";
import { StepFailed, WorkflowCanceled } from "./step-failed.ts";
import { UndoFailed, type UndoScope } from "./undo-scope.ts";
import { validateValue, parseOptional, textOf } from "./values.ts";
import { notDurable, type TaskStep, Waiting } from "./waiting.ts";
import { RunContext } from "./run-context.ts";
import type { WatchedRun } from "./watch-code.ts";
import { placeOfCaller, shownPlace } from "./watch-place.ts";

/** Services of the process that running code needs. */
export interface RunServices {
  /** Notifies the listener when all microtasks have run that promises settled by now lead to, and then when it may continue. */
  whenDrained(waiting: IdleListener): void;
  /** Describes what the code threw as data for the history. */
  failureFrom(error: unknown): Failure;
  /** The version that a new instance of the workflow gets: the wanted one, or the newest. Undefined if it is not known. */
  versionOf(workflow: string, wanted?: string): string | undefined;
  /** False if no activity could run in that domain. */
  hasDomain(domain: string): boolean;
  /** Calls code of a workflow in an async context that distinguishes it from other code. */
  within<T>(call: () => T, run: WatchedRun): T;
  readonly loopWatch?: LoopWatch | undefined;
}

/** Identity and surroundings of a run. */
export interface RunParts {
  readonly instanceId: string;
  readonly generation: number;
  readonly parentInstanceId: string | undefined;
  /** The instance whose random numbers it draws, if it is a fork. */
  readonly randomOf: { readonly id: string; readonly generation: number } | undefined;
  readonly workflow: CodeWorkflow;
  readonly logger: Logger;
  readonly services: RunServices;
  readonly owner: RunOwner;
}

export interface RunOwner {
  /** The code took a step while there was no arrival that it could react to. */
  onStray(run: CodeRun, error: EngineError): void;
}

const none: ReadonlySet<string> = new Set();
const noSteps: readonly never[] = [];
const nextMicrotask = Promise.resolve();

/** Receives the reaction of the code to an arrival. */
export interface RunListener {
  /** The steps that the code took in reaction to one arrival. */
  onSteps(steps: readonly Step[]): void;
  /** The code has reacted to all arrivals at hand, or cannot: `WORKFLOW_NOT_DURABLE`, or what `onSteps` threw. */
  onDelivered(error?: unknown): void;
}

/**
 * The code of one instance, as it runs: between arrivals it is suspended on a promise.
 *
 * - W1 The code reacts to one arrival at a time, and to all of it before the next: so live and in a replay it does the
 *   same things in the same order.
 * - W2 A step is taken only in reaction to an arrival. Code that does something at any other time waited for something
 *   that no replay could give it again.
 * - W3 After its last step it does nothing more, whatever it may still be waiting for.
 */
export class CodeRun {
  readonly parts: RunParts;
  readonly waiting = new Waiting();
  readonly events = new RaisedEvents();
  readonly compensation = new Compensation();
  readonly faults = new RunFaults();
  readonly #arrivals = new ArrivalBuffer();
  readonly #context: RunContext;
  /** Created on first use, because many instances need none. */
  #handlers: RunHandlers | undefined;
  #random: DeterministicRandom | undefined;
  #log: ContextLog | undefined;
  /** Patches on record. */
  markedPatches: ReadonlySet<string> = none;
  #patches: Map<string, boolean> | undefined;
  #steps: Step[] | undefined;
  #listener: RunListener | undefined;
  /** `draining`: the code has reacted, and the listener was not notified yet. */
  #phase: "idle" | "reacting" | "draining" = "idle";
  /** The number of the reaction in the event loop's watch. */
  #loopWork = 0;
  #isOver = false;
  at = 0;
  isReplaying = false;
  cancelReason: string | undefined;

  constructor(parts: RunParts) {
    this.parts = parts;
    this.#context = new RunContext(this, this.compensation.scope);
  }

  get log(): ContextLog {
    const { logger, instanceId, workflow } = this.parts;
    if (this.isReplaying) return silentContextLog;
    return (this.#log ??= contextLogOf(
      withFields(logger, { ...instanceFields(instanceId), workflowName: workflow.name }),
    ));
  }

  get random(): DeterministicRandom {
    this.#refuseWhileReading();
    const { instanceId, generation, randomOf = { id: instanceId, generation } } = this.parts;
    return (this.#random ??= new DeterministicRandom(`${randomOf.id}:${randomOf.generation}`));
  }

  /** The code has taken its last step, or the instance was ended from outside. */
  get isOver(): boolean {
    return this.#isOver;
  }

  /** Ends the run from outside: the instance was ended. Undo handlers that have not run are dropped with a warning if a reason is given. */
  end(reason?: string): void {
    if (reason !== undefined && !this.#isOver) warnOfDroppedUndo(this.log, this.compensation.scope, reason);
    this.#isOver = true;
  }

  get handlers(): RunHandlers {
    return (this.#handlers ??= new RunHandlers(this.parts.workflow.name));
  }

  /**
   * Delivers an arrival to the code, and its reaction to the listener; false if there is nothing to react to now. This runs
   * for every event of every instance, so it allocates nothing that the code itself does not need.
   */
  deliver(arrival: Arrival, at: number, listener: RunListener): boolean {
    if (this.#isOver) {
      this.#arrivals.keep(arrival);
      return false;
    }
    const next = this.#arrivals.accept(arrival);
    if (next === undefined) return false;
    this.#react(next, at, listener);
    return true;
  }

  #react(arrival: Arrival, at: number, listener: RunListener): void {
    this.at = at;
    this.#phase = "reacting";
    this.#listener = listener;
    const { loopWatch } = this.parts.services;
    if (loopWatch !== undefined) {
      this.#loopWork = this.#enterLoop(loopWatch);
      loopWatch.follow(this.#loopWork);
    }
    // Code that is called now keeps its async context through everything that it awaits.
    if (arrival.type === "start" || arrival.type === "update")
      this.parts.services.within(() => this.#settle(arrival), this.faults);
    else this.#settle(arrival);
    if (loopWatch !== undefined) this.#loopWork = loopWatch.suspend(this.#loopWork);
    this.parts.services.whenDrained(this);
  }

  #enterLoop(loopWatch: LoopWatch): number {
    const { instanceId, workflow } = this.parts;
    return loopWatch.enter("code", instanceId, workflow.name, String(this.waiting.stepCount));
  }

  /** The code has reacted to the arrival: whatever continues it now is something that it awaits outside of ctx. */
  onMicrotasksRun(): void {
    this.#phase = "draining";
  }

  onIdle(): void {
    const listener = this.#listener as RunListener;
    this.#phase = "idle";
    this.parts.services.loopWatch?.leave(this.#loopWork);
    try {
      this.#refuseIdle();
      // The log is made with its first line, and most instances end without one.
      if (this.#isOver && this.#handlers !== undefined)
        warnOfUnanswered(this.log, this.#lastStep, this.#handlers.unanswered);
      listener.onSteps(this.#takeSteps());
      const next = this.#isOver ? undefined : this.#arrivals.next();
      if (next !== undefined) return this.#react(next, this.at, listener);
    } catch (error) {
      return listener.onDelivered(error);
    }
    listener.onDelivered();
  }

  #refuseIdle(): void {
    if (this.faults.error !== undefined) throw this.faults.error;
    if (this.#isOver || !this.waiting.isEmpty) return;
    throw notDurable(
      `the code of instance "${localName(this.parts.instanceId)}" waits for something, but for nothing that is durable${this.faults.unsteadyCalls}`,
    );
  }

  #settle(arrival: Arrival): void {
    switch (arrival.type) {
      case "start":
        for (const event of arrival.events) this.events.raise(event, this.at);
        return void this.#main(arrival.input);
      case "task-succeeded":
        return this.waiting.takeTask(arrival.task)?.resolve(parseOptional(arrival.output));
      case "task-failed": {
        const { task, failure } = arrival;
        const wait = this.waiting.takeTask(task);
        // Only a task's wait is found by its number.
        return wait?.reject(new StepFailed(`${describeTask(wait.of as TaskStep)} failed: ${failure.message}`, failure));
      }
      case "timer-fired":
        return this.waiting.fireTimer(arrival.timer);
      case "event":
        return this.events.raise(arrival.event, this.at);
      case "update":
        return void this.handlers.handleUpdate(arrival, {
          failureFrom: (error) => this.parts.services.failureFrom(error),
          onAnswer: (step) => this.#answer(step),
        });
      case "cancel":
        if (!arrival.isHeld) return this.#cancel(arrival.reason);
        this.compensation.heldCancel = arrival.reason;
        return undefined;
      case "paused":
      case "resumed":
        return undefined;
      default:
        return unreachable(arrival, "an arrival");
    }
  }

  #cancel(reason: string): void {
    this.compensation.heldCancel = undefined;
    this.cancelReason = reason;
    this.events.forgetTakers();
    this.waiting.cancelAll(reason);
  }

  /** No saga is being compensated, and the code is not on its way to its end. */
  get canCancel(): boolean {
    const { isUndoing, isUndoingSaga } = this.compensation;
    return !isUndoingSaga && !isUndoing && !this.#isOver;
  }

  /** Carries out a cancel that arrived during the compensation of a saga, when the last saga is compensated. */
  #heedCancel(): boolean {
    const reason = this.compensation.heldCancel;
    if (reason === undefined || !this.canCancel || this.#checkStray()) return false;
    this.#note({ type: "heed-cancel" });
    this.#cancel(reason);
    return true;
  }

  #takeSteps(): readonly Step[] {
    const steps = this.#steps ?? noSteps;
    this.#steps = undefined;
    return steps;
  }

  #note(step: Step): void {
    if (this.#steps === undefined) this.#steps = [step];
    else this.#steps.push(step);
  }

  // Steps of the code

  /** `WORKFLOW_NOT_DURABLE` at any time but in reaction to an arrival. */
  take(step: Step): void {
    this.refuseStray("takes a step");
    this.#note(step);
  }

  refuseStray(does: string): void {
    if (this.#phase === "reacting" && !this.#isOver) return;
    this.#refuseWhileReading();
    const place = [`${does} after waiting for something else`, shownPlace(placeOfCaller())].filter(Boolean).join(", ");
    const what = `the code of instance "${localName(this.parts.instanceId)}" ${place}`;
    throw this.#isOver ? notDurable(what) : this.#reportStray(what);
  }

  /** Reports the first stray step: to the listener, if one waits for the reaction, or else to the owner. */
  #reportStray(what: string): EngineError {
    const { faults } = this;
    if (faults.error === undefined) {
      faults.error = notDurable(`${what}${faults.unsteadyCalls}`);
      if (this.#phase !== "draining") this.parts.owner.onStray(this, faults.error);
    }
    return faults.error;
  }

  /** True if the run has a fault. Steps that the run takes for the code have no caller to throw to, so they are left out. */
  #checkStray(): boolean {
    if (this.#phase !== "reacting")
      this.#reportStray(`the code of instance "${localName(this.parts.instanceId)}" waited for something else`);
    return this.faults.error !== undefined;
  }

  takeTask<Output>(step: TaskStep, place?: CallPlace): Promise<Output> {
    this.take(step);
    return this.waiting.addTask<Output>(step, place);
  }

  /** Takes a step for a child that the code does not wait for. */
  takeDetached(step: Extract<Step, { type: "child" }>): void {
    this.take(step);
    this.waiting.skipTask();
  }

  /** Returns the function that cancels the timer. */
  setTimer(dueAt: number, onDue: () => void): () => void {
    this.take({ type: "timer", dueAt });
    const timer = this.waiting.addTimer(onDue);
    return () => {
      if (this.waiting.cancelTimer(timer) && !this.#isOver) this.take({ type: "cancel-timer", timer });
    };
  }

  /** Takes the last step: steps after it in the same reaction are not carried out. */
  #finish(step: Step): void {
    if (this.#isOver || this.#checkStray()) return;
    if (step.type === "complete" && this.#steps !== undefined) warnOfUnawaited(this.log, this.#steps, "ends");
    this.#note(step);
    this.#isOver = true;
  }

  continueAsNew(input: string | undefined, { keepsEvents }: { keepsEvents: boolean }): void {
    if (this.#isOver) return;
    warnOfUnawaited(this.log, this.#steps ?? noSteps, "begins anew");
    warnOfUndo(this.log, this.compensation.scope);
    const events: KeptEvent[] = [];
    const updates: KeptUpdate[] = [];
    this.take({ type: "continue", events, updates, ...(input !== undefined && { input }) });
    this.#isOver = true;
    if (keepsEvents)
      for (const { name, data } of this.events.untaken()) events.push({ name, ...(data !== undefined && { data }) });
    this.#arrivals.keepForNext(keepsEvents ? events : undefined, updates);
  }

  /**
   * Decides where the code first asks, and answers the same from then on: code that passed this place before without a
   * mark keeps its older way.
   */
  usePatch(name: string): boolean {
    this.#patches ??= new Map();
    let isNewer = this.#patches.get(name);
    if (isNewer === undefined) {
      isNewer = !this.isReplaying || this.markedPatches.has(name);
      this.#patches.set(name, isNewer);
      if (isNewer) this.take({ type: "patch", patch: name });
    }
    return isNewer;
  }

  // The function, from its start to its end

  /** The function is called in a microtask: ticks that it requests come after those microtasks, whoever starts it. */
  async #main(text: string | undefined): Promise<void> {
    const { workflow, instanceId } = this.parts;
    try {
      await nextMicrotask;
      const given = parseOptional(text);
      const input =
        workflow.input === undefined
          ? given
          : await validateValue(workflow.input, given, `the input of instance "${localName(instanceId)}"`);
      const output: unknown = await workflow.fn(this.#context, input);
      const what = `the output of instance "${localName(instanceId)}"`;
      if (workflow.output !== undefined) await validateValue(workflow.output, output, what);
      const result = textOf(output, what);
      this.#finish(result === undefined ? { type: "complete" } : { type: "complete", output: result });
    } catch (error) {
      if (!this.#isOver && !this.#checkStray()) await this.#fail(error);
    }
  }

  async #fail(error: unknown): Promise<void> {
    const reason = isCancel(error) ? this.cancelReason : undefined;
    const thrown = this.parts.services.failureFrom(error);
    const problems: string[] = [];
    for (const scope of this.compensation.begin(thrown, { isCanceled: reason !== undefined }))
      problems.push(...(await scope.undo()));
    if (reason !== undefined && problems.length === 0) return this.#finish({ type: "cancel", reason });
    const failure = problems.length === 0 ? error : new UndoFailed(error, problems);
    this.#finish({ type: "fail", failure: this.parts.services.failureFrom(failure) });
  }

  /** Compensates a saga, and returns the error that it throws: that of a cancel, if one arrived meanwhile. */
  async undoSaga(scope: UndoScope, error: unknown): Promise<unknown> {
    this.compensation.beginSaga();
    const problems = await scope.undo();
    this.compensation.endSaga();
    const cause = this.#heedCancel() ? new WorkflowCanceled(this.cancelReason ?? "") : error;
    return problems.length === 0 ? cause : new UndoFailed(cause, problems);
  }

  // Requests of clients

  /** Answers a query, as JSON text. `HANDLER_UNKNOWN`. */
  answer(name: string, text: string | undefined): string | undefined {
    return this.#watch(() => this.handlers.answer(name, text));
  }

  /** Throws if the update must not be accepted. */
  refuseUpdate(name: string, text: string | undefined): void {
    this.#watch(() => this.handlers.validateUpdate(name, text));
  }

  /** A query or the validation of an update may take no step and draw no random number: a replay does not repeat it. */
  #refuseWhileReading(): void {
    if (this.#handlers?.isReading !== true) return;
    throw new EngineError(
      "WORKFLOW_NOT_DURABLE",
      `a query of instance "${localName(this.parts.instanceId)}", or the check of an update, asks ctx for a step or for chance; it may only look`,
    );
  }

  /** Calls a handler under the watch of the event loop. */
  #watch<T>(call: () => T): T {
    const { loopWatch } = this.parts.services;
    const work = loopWatch === undefined ? 0 : this.#enterLoop(loopWatch);
    try {
      return call();
    } finally {
      loopWatch?.leave(work);
    }
  }

  /** Notes the answer to an update. In the reaction in which the code takes its last step, the answer stands before it. */
  #answer(step: AnswerStep): void {
    if (!this.#isOver && !this.#checkStray()) this.#note(step);
    else if (this.#phase === "reacting" && this.#lastStep !== undefined) this.#steps?.splice(-1, 0, step);
  }

  /** The last step, if it was taken in this reaction. */
  get #lastStep(): LastStep | undefined {
    const step = this.#steps?.at(-1);
    return step !== undefined && isLast(step) ? step : undefined;
  }
}

/** `Promise.any` rejects with all its errors in one. */
function isCancel(error: unknown): boolean {
  try {
    if (error instanceof AggregateError) return error.errors.some(isCancel);
    return error instanceof WorkflowCanceled;
  } catch {
    // Code may throw a proxy that throws when it is inspected.
    return false;
  }
}
