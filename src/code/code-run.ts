import type { CodeWorkflow } from "../authoring/code-workflow.ts";
import { validateNow } from "../authoring/job-params.ts";
import { toJsonText } from "../base/json-text.ts";
import type { StandardSchema } from "../authoring/standard-schema.ts";
import type { UpdateHandler, UpdateOptions } from "../authoring/workflow-context.ts";
import { EngineError } from "../base/error.ts";
import { type ContextLog, contextLogOf, silentContextLog } from "../base/context-log.ts";
import { type Logger, withFields } from "../base/logger.ts";
import type { LoopWatch } from "../base/loop-watch.ts";
import { isLast, type LastStep, type Step } from "../kernel/code/step.ts";
import type { KeptEvent, KeptUpdate } from "../kernel/event.ts";
import type { Failure } from "../kernel/failure.ts";
import type { Arrival } from "./arrival.ts";
import type { IdleListener } from "./drain.ts";
import { RaisedEvents } from "./raised-events.ts";
import { DeterministicRandom } from "./deterministic-random.ts";
import { StepFailed, WorkflowCanceled } from "./step-failed.ts";
import { UndoFailed, UndoScope } from "./undo-scope.ts";
import { accepted, fitting, parsed, textOf } from "./values.ts";
import { notDurable, type TaskStep, type Wait, Waiting } from "./waiting.ts";
import { RunContext } from "./run-context.ts";
import type { WatchedRun } from "./watch-code.ts";
import { placeOfCaller, shownPlace } from "./watch-place.ts";

/** What running code needs of its process. */
export interface RunHost {
  /** Tells it when all microtasks have run that promises settled by now lead to, and then when it may go on. */
  whenDrained(waiting: IdleListener): void;
  /** Whatever the code threw, in words that history keeps. */
  failureFrom(error: unknown): Failure;
  /** Which version a new instance of that workflow gets: the one wanted, or the newest. Undefined if it is not known. */
  versionOf(workflow: string, wanted?: string): string | undefined;
  /** False if no activity could run in that domain. */
  hasDomain(domain: string): boolean;
  /** Calls what belongs to a workflow's code, so that it can be told from other code. */
  within<T>(call: () => T, run: WatchedRun): T;
  readonly loopWatch?: LoopWatch | undefined;
}

/** Whose code it is. */
export interface RunParts {
  readonly instanceId: string;
  readonly generation: number;
  readonly parentInstanceId: string | undefined;
  /** Whose chance it has, if not its own: that of the instance it goes on from. */
  readonly randomOf: { readonly id: string; readonly generation: number } | undefined;
  readonly workflow: CodeWorkflow;
  readonly logger: Logger;
  readonly host: RunHost;
  readonly owner: RunOwner;
}

export interface RunOwner {
  /** The code did something while nothing had come in that it could react to. */
  onStray(run: CodeRun, error: EngineError): void;
}

const none: ReadonlySet<string> = new Set();
/** So many calls are named in a message. */
const unsteadyCallsMax = 5;
const noSteps: readonly never[] = [];
const nextMicrotask = Promise.resolve();

/** Whoever lets the code see something. */
export interface RunListener {
  /** What the code did about one arrival. */
  onSteps(steps: readonly Step[]): void;
  /** It has reacted to all of it, or cannot: `WORKFLOW_NOT_DURABLE`, or what `onSteps` threw. */
  onDelivered(error?: unknown): void;
}

interface Update {
  readonly input: StandardSchema | undefined;
  readonly validate: ((input: never) => void) | undefined;
  readonly handler: UpdateHandler<never>;
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
export class CodeRun implements WatchedRun {
  readonly parts: RunParts;
  readonly waiting = new Waiting();
  readonly events = new RaisedEvents();
  #random: DeterministicRandom | undefined;
  #log: ContextLog | undefined;
  /** Those on record. */
  markedPatches: ReadonlySet<string> = none;
  readonly #undoing = new UndoScope();
  readonly #context: RunContext;
  /** By number, those that are waited for. A list is smaller than a map, and most code has few of them. */
  #tasks: (Wait | undefined)[] | undefined;
  /** Made when they are first used: of most instances there are many, and they use little. */
  #timers: Map<number, () => void> | undefined;
  #queries: Map<string, (input: unknown) => unknown> | undefined;
  #updates: Map<string, Update> | undefined;
  #patches: Map<string, boolean> | undefined;
  #cancelHandlers: (() => unknown)[] | undefined;
  /** Arrivals that came while the instance was paused. */
  #held: Arrival[] | undefined;
  #isPaused = false;
  /** An instance above its workflow's maximum is there before its code begins. */
  #hasStarted = false;
  #steps: Step[] | undefined;
  #listener: RunListener | undefined;
  /** Its number. */
  nextTask = 0;
  #nextTimer = 0;
  #isReacting = false;
  /** It has reacted, and its listener was not told yet. */
  #isDraining = false;
  /** The number of the reaction, for whoever watches the event loop. */
  #loopWork = 0;
  /** A client's question is being answered, or its update checked: nothing may come of it. */
  #isLooking = false;
  /** What the function threw. */
  thrown: Failure | undefined;
  /** It is on its way to its end, and takes back what it did. */
  isUndoing = false;
  #sagasUndoing = 0;
  /** Why it was asked to end while it undid a saga, or was absent: it does so when the saga is through, or when told again. */
  #heldCancel: string | undefined;
  #isOver = false;
  /** Of its last step: events and updates that go on to the next generation. */
  #kept: KeptEvent[] | undefined;
  #keptUpdates: KeptUpdate[] | undefined;
  /** Names of updates that it handles, and has not answered. */
  #updatesUnderWay: string[] | undefined;
  /** A workflow that it asked for and that this process does not have. */
  lacking: string | undefined;
  /** Why it is not to be relied on any more. */
  #stray: EngineError | undefined;
  #unsteadyCalls: Set<string> | undefined;
  at = 0;
  isReplaying = false;
  cancelReason: string | undefined;

  constructor(parts: RunParts) {
    this.parts = parts;
    this.#context = new RunContext(this, this.#undoing);
  }

  get log(): ContextLog {
    const { logger, instanceId, workflow } = this.parts;
    if (this.isReplaying) return silentContextLog;
    return (this.#log ??= contextLogOf(withFields(logger, { instanceId, workflowName: workflow.name })));
  }

  get random(): DeterministicRandom {
    this.#refuseWhileLooking();
    const { instanceId, generation, randomOf = { id: instanceId, generation } } = this.parts;
    return (this.#random ??= new DeterministicRandom(`${randomOf.id}:${randomOf.generation}`));
  }

  /** It has taken its last step, or was ended from outside. */
  get isOver(): boolean {
    return this.#isOver;
  }

  end(): void {
    this.#isOver = true;
  }

  /**
   * Lets the code react, and tells what it did; false if there is nothing that it would react to. This is done for every
   * event of every instance: nothing is made for it that the code itself does not need.
   */
  deliver(arrival: Arrival, at: number, listener: RunListener): boolean {
    if (this.#isOver) {
      this.#keep(arrival);
      return false;
    }
    if (arrival.type === "paused") {
      this.#isPaused = true;
      return false;
    }
    // What comes before its start is held until then.
    if (arrival.type === "start") this.#hasStarted = true;
    else if (arrival.type === "resumed") {
      this.#isPaused = false;
      return this.#reactToHeld(at, listener);
    } else if (!this.#mayReact || (this.#held?.length ?? 0) > 0) {
      (this.#held ??= []).push(arrival);
      return this.#reactToHeld(at, listener);
    }
    this.#react(arrival, at, listener);
    return true;
  }

  get #mayReact(): boolean {
    return this.#hasStarted && !this.#isPaused;
  }

  #reactToHeld(at: number, listener: RunListener): boolean {
    const next = !this.#mayReact || this.#isOver ? undefined : this.#held?.shift();
    if (next === undefined) return false;
    this.#react(next, at, listener);
    return true;
  }

  #react(arrival: Arrival, at: number, listener: RunListener): void {
    this.at = at;
    this.#isReacting = true;
    this.#listener = listener;
    const { loopWatch } = this.parts.host;
    if (loopWatch !== undefined) {
      this.#loopWork = this.#enterLoop(loopWatch);
      loopWatch.follow(this.#loopWork);
    }
    // What is called now takes its surroundings along, through all that it awaits.
    if (arrival.type === "start" || arrival.type === "update")
      this.parts.host.within(() => this.#settle(arrival), this);
    else this.#settle(arrival);
    if (loopWatch !== undefined) this.#loopWork = loopWatch.suspend(this.#loopWork);
    this.parts.host.whenDrained(this);
  }

  #enterLoop(loopWatch: LoopWatch): number {
    const { instanceId, workflow } = this.parts;
    return loopWatch.enter("code", instanceId, workflow.name, String(this.nextTask + this.#nextTimer));
  }

  /** The code has done all that it does about the arrival: whatever continues it now is something that it awaits outside of ctx. */
  onMicrotasksRun(): void {
    this.#isReacting = false;
    this.#isDraining = true;
  }

  onIdle(): void {
    const listener = this.#listener as RunListener;
    this.#isReacting = false;
    this.#isDraining = false;
    this.parts.host.loopWatch?.leave(this.#loopWork);
    try {
      this.#refuseIdle();
      if (this.#isOver) this.#warnOfUnanswered();
      listener.onSteps(this.#takeSteps());
      if (this.#reactToHeld(this.at, listener)) return;
    } catch (error) {
      return listener.onDelivered(error);
    }
    listener.onDelivered();
  }

  #refuseIdle(): void {
    if (this.#stray !== undefined) throw this.#stray;
    if (this.#isOver || !this.waiting.isEmpty) return;
    throw notDurable(
      `the code of instance "${this.parts.instanceId}" waits for something, but for nothing that is durable${this.unsteadyCalls}`,
    );
  }

  noteUnsteadyCall(call: string): void {
    this.#unsteadyCalls ??= new Set();
    if (this.#unsteadyCalls.size < unsteadyCallsMax) this.#unsteadyCalls.add(call);
  }

  /** For a message: what the code was seen to call that a replay cannot repeat. Blank if nothing was. */
  get unsteadyCalls(): string {
    if (this.#unsteadyCalls === undefined) return "";
    return ` (it called ${[...this.#unsteadyCalls].join(", ")})`;
  }

  #settle(arrival: Arrival): void {
    switch (arrival.type) {
      case "start":
        for (const event of arrival.events) this.events.raise(event);
        return void this.#main(arrival.input);
      case "task-succeeded":
        return this.#taken(arrival.task)?.resolve(parsed(arrival.output));
      case "task-failed": {
        const { task, failure } = arrival;
        const wait = this.#taken(task);
        return wait?.reject(new StepFailed(`${describe(wait.task)} failed: ${failure.message}`, failure));
      }
      case "timer-fired":
        return this.#timers?.get(arrival.timer)?.();
      case "event":
        return this.events.raise(arrival.event);
      case "update":
        return void this.#update(arrival);
      case "cancel":
        if (!arrival.isHeld) return this.#cancel(arrival.reason);
        this.#heldCancel = arrival.reason;
        return undefined;
      default:
        return undefined;
    }
  }

  #cancel(reason: string): void {
    this.#heldCancel = undefined;
    this.cancelReason = reason;
    this.#tasks = undefined;
    this.#timers = undefined;
    this.events.forgetTakers();
    this.waiting.cancelAll(reason);
  }

  /** No saga is being undone, and the code is not on its way to its end. */
  get canCancel(): boolean {
    return !this.isUndoingSaga && !this.isUndoing && !this.#isOver;
  }

  /** A cancel that came while a saga was being undone takes effect when the last saga is through. */
  #heedsCancel(): boolean {
    const reason = this.#heldCancel;
    if (reason === undefined || !this.canCancel || this.#hasStrayed()) return false;
    this.#note({ type: "heed-cancel" });
    this.#cancel(reason);
    return true;
  }

  #taken(task: number): Wait | undefined {
    const tasks = this.#tasks;
    const taken = tasks?.[task];
    if (tasks !== undefined && taken !== undefined) tasks[task] = undefined;
    return taken;
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

  // What the code does

  /** `WORKFLOW_NOT_DURABLE` at any time but in reaction to an arrival. */
  take(step: Step): void {
    this.refuseStray("takes a step");
    this.#note(step);
  }

  refuseStray(does: string): void {
    if (this.#isReacting && !this.#isOver) return;
    this.#refuseWhileLooking();
    const place = [`${does} after waiting for something else`, shownPlace(placeOfCaller())].filter(Boolean).join(", ");
    const what = `the code of instance "${this.parts.instanceId}" ${place}`;
    throw this.#isOver ? notDurable(what) : this.#strayed(what);
  }

  /** Told once: to the listener, where one waits for the reaction. */
  #strayed(what: string): EngineError {
    if (this.#stray === undefined) {
      this.#stray = notDurable(`${what}${this.unsteadyCalls}`);
      if (!this.#isDraining) this.parts.owner.onStray(this, this.#stray);
    }
    return this.#stray;
  }

  /**
   * Which workflows a process has is not in any history: the code must not see that one is missing. It stops here, and is
   * brought back where the workflow is, or when it has come.
   */
  lacksWorkflow(name: string): EngineError {
    this.lacking = name;
    this.#stray ??= new EngineError(
      "WORKFLOW_UNKNOWN",
      `child workflow "${name}" is not among the workflows of this process: give it to the engine's "workflows"`,
    );
    return this.#stray;
  }

  /** What the run itself does for the code has nobody to throw to: it is told, and nothing more comes of it. */
  #hasStrayed(): boolean {
    if (!this.#isReacting) this.#strayed(`the code of instance "${this.parts.instanceId}" waited for something else`);
    return this.#stray !== undefined;
  }

  takeTask<Output>(step: TaskStep): Promise<Output> {
    this.take(step);
    const wait = this.waiting.add<Output>(step);
    const number = this.nextTask++;
    if (this.#tasks === undefined && number === 0) this.#tasks = [wait as Wait];
    else (this.#tasks ??= [])[number] = wait as Wait;
    return wait.promise;
  }

  /** A child that is not waited for. */
  takeDetached(step: Extract<Step, { type: "child" }>): void {
    this.take(step);
    this.nextTask++;
  }

  /** Gives back how to call it off. */
  setTimer(dueAt: number, onDue: () => void): () => void {
    this.take({ type: "timer", dueAt });
    const timer = this.#nextTimer++;
    (this.#timers ??= new Map()).set(timer, () => {
      this.#timers?.delete(timer);
      onDue();
    });
    return () => {
      if (this.#timers?.delete(timer) === true && !this.#isOver) this.take({ type: "cancel-timer", timer });
    };
  }

  /** The last step: what comes after it in the same breath is not carried out. */
  #finish(step: Step): void {
    if (this.#isOver || this.#hasStrayed()) return;
    if (step.type === "complete") this.#warnOfUnawaited("ends");
    this.#note(step);
    this.#isOver = true;
  }

  /** The instance was ended, for that reason, while its code had something to undo. */
  warnOfDroppedUndo(reason: string): void {
    const { size } = this.#undoing;
    if (this.#isOver || size === 0) return;
    this.log.warn(
      { handlers: size, reason },
      `an instance was ended with ${size} undo handlers, which are dropped: ${reason}`,
    );
  }

  /** Functions cannot go on to the next generation. */
  #warnOfUndo(): void {
    const { size } = this.#undoing;
    if (size === 0) return;
    this.log.warn(
      { handlers: size },
      `the code of a workflow begins anew with ${size} undo handlers, which are dropped: what they would undo is final from now on`,
    );
  }

  /** What the code asks for in its last reaction, and so does not wait for, comes to nothing. */
  #warnOfUnawaited(does: "ends" | "begins anew"): void {
    for (const step of this.#steps ?? noSteps) {
      if (step.type !== "activity" && step.type !== "child") continue;
      if (step.type === "child" && (step.isDetached || step.node.whenParentEnds === "leave")) continue;
      const what = describe(step);
      const instead = step.type === "child" ? "await it first, or use ctx.startChild()" : "await it first";
      this.log.warn(
        { step: what },
        `the code of a workflow ${does} without waiting for ${what}, which it has just asked for and which is therefore stopped: ${instead}`,
      );
    }
  }

  continueAsNew(input: string | undefined, { keepsEvents }: { keepsEvents: boolean }): void {
    if (this.#isOver) return;
    this.#warnOfUnawaited("begins anew");
    this.#warnOfUndo();
    const events: KeptEvent[] = [];
    const updates: KeptUpdate[] = [];
    this.take({ type: "continue", events, updates, ...(input !== undefined && { input }) });
    this.#isOver = true;
    this.#keptUpdates = updates;
    if (keepsEvents) this.#kept = events;
    for (const event of this.events.untaken()) this.#keep({ type: "event", event });
    for (const arrival of this.#held ?? []) this.#keep(arrival);
  }

  /** What the code can no longer see is the next generation's: events if it wants them, and updates, which somebody waits for. */
  #keep(arrival: Arrival): void {
    if (arrival.type !== "event" && arrival.type !== "update") return;
    const { name, data } = arrival.type === "event" ? arrival.event : arrival;
    const kept = { name, ...(data !== undefined && { data }) };
    if (arrival.type === "event") this.#kept?.push(kept);
    else this.#keptUpdates?.push({ update: arrival.update, ...kept });
  }

  /**
   * Decided where the code first asks, and the same from then on: code that came here before without a mark goes on as it
   * did.
   */
  patched(name: string): boolean {
    this.#patches ??= new Map();
    let isNewer = this.#patches.get(name);
    if (isNewer === undefined) {
      isNewer = !this.isReplaying || this.markedPatches.has(name);
      this.#patches.set(name, isNewer);
      if (isNewer) this.take({ type: "patch", patch: name });
    }
    return isNewer;
  }

  onCancel(handler: () => unknown): void {
    (this.#cancelHandlers ??= []).push(handler);
  }

  onQuery(name: string, handler: (input: never) => unknown): void {
    (this.#queries ??= new Map()).set(name, handler);
  }

  onUpdate<Params>(name: string, how: UpdateHandler<Params> | UpdateOptions<unknown, Params>): void {
    const { input, validate: check, handler } = typeof how === "function" ? { handler: how } : how;
    (this.#updates ??= new Map()).set(name, { input, validate: check, handler });
  }

  // The function, from its start to its end

  /** The function is called in a microtask: ticks that it requests come after those microtasks, whoever starts it. */
  async #main(text: string | undefined): Promise<void> {
    const { workflow, instanceId } = this.parts;
    try {
      await nextMicrotask;
      const given = parsed(text);
      const input =
        workflow.input === undefined
          ? given
          : await fitting(workflow.input, given, `the input of instance "${instanceId}"`);
      const output: unknown = await workflow.fn(this.#context, input);
      const what = `the output of instance "${instanceId}"`;
      if (workflow.output !== undefined) await fitting(workflow.output, output, what);
      const result = textOf(output, what);
      this.#finish({ type: "complete", ...(result !== undefined && { output: result }) });
    } catch (error) {
      if (!this.#isOver && !this.#hasStrayed()) await this.#fail(error);
    }
  }

  async #fail(error: unknown): Promise<void> {
    this.isUndoing = true;
    this.thrown = this.parts.host.failureFrom(error);
    const reason = isCancel(error) ? this.cancelReason : undefined;
    const problems: string[] = [];
    if (reason !== undefined) {
      const handlers = new UndoScope();
      for (const handler of this.#cancelHandlers ?? []) handlers.add(handler);
      problems.push(...(await handlers.undo()));
    }
    problems.push(...(await this.#undoing.undo()));
    if (reason !== undefined && problems.length === 0) return this.#finish({ type: "cancel", reason });
    const failure = problems.length === 0 ? error : new UndoFailed(error, problems);
    this.#finish({ type: "fail", failure: this.parts.host.failureFrom(failure) });
  }

  get isUndoingSaga(): boolean {
    return this.#sagasUndoing > 0;
  }

  /** Gives back what the saga is to throw. A cancel that comes meanwhile is heeded afterwards: then it is that. */
  async undoSaga(undoing: UndoScope, error: unknown): Promise<unknown> {
    this.#sagasUndoing++;
    const problems = await undoing.undo();
    this.#sagasUndoing--;
    const cause = this.#heedsCancel() ? new WorkflowCanceled(this.cancelReason ?? "") : error;
    return problems.length === 0 ? cause : new UndoFailed(cause, problems);
  }

  // What clients ask

  /** `HANDLER_UNKNOWN`. The answer is JSON text. */
  answer(name: string, text: string | undefined): string | undefined {
    const handler = this.#queries?.get(name);
    if (handler === undefined) throw this.#unknown("query", name, this.#queries?.keys() ?? []);
    const answer = this.#looking(() => handler(parsed(text)));
    if (answer instanceof Promise) {
      answer.catch(() => undefined);
      throw new TypeError(`its handler is async, but a query answers at once from the code's variables`);
    }
    return toJsonText(answer, `the answer to query "${name}"`);
  }

  /** Throws if the update is not to be let in. */
  refuseUpdate(name: string, text: string | undefined): void {
    const update = this.#updates?.get(name);
    if (update === undefined) throw this.#unknown("update", name, this.#updates?.keys() ?? []);
    const verdict = validateNow(update.input, parsed(text));
    const value = verdict === undefined ? parsed(text) : accepted(verdict, `the input of update "${name}"`);
    this.#looking(() => update.validate?.(value as never));
  }

  /** A replay knows nothing of it. */
  #refuseWhileLooking(): void {
    if (!this.#isLooking) return;
    throw new EngineError(
      "WORKFLOW_NOT_DURABLE",
      `a query of instance "${this.parts.instanceId}", or the check of an update, asks ctx for a step or for chance; it may only look`,
    );
  }

  #looking<T>(look: () => T): T {
    const { loopWatch } = this.parts.host;
    const work = loopWatch === undefined ? 0 : this.#enterLoop(loopWatch);
    this.#isLooking = true;
    try {
      return look();
    } finally {
      this.#isLooking = false;
      loopWatch?.leave(work);
    }
  }

  #unknown(what: string, name: string, known: Iterable<string>): EngineError {
    const names = [...known];
    const there = names.length === 0 ? `it answers none` : `it answers ${names.map((each) => `"${each}"`).join(", ")}`;
    return new EngineError(
      "HANDLER_UNKNOWN",
      `workflow "${this.parts.workflow.name}" answers no ${what} "${name}"; ${there}`,
    );
  }

  async #update({ update, name, data }: Extract<Arrival, { type: "update" }>): Promise<void> {
    const handled = this.#updates?.get(name);
    (this.#updatesUnderWay ??= []).push(name);
    try {
      // As in #main.
      await nextMicrotask;
      if (handled === undefined) throw this.#unknown("update", name, this.#updates?.keys() ?? []);
      const given = parsed(data);
      const input =
        handled.input === undefined ? given : await fitting(handled.input, given, `the input of update "${name}"`);
      const output = textOf(await handled.handler(input as never), `the answer to update "${name}"`);
      this.#answer({ type: "answer", update, ...(output !== undefined && { output }) });
    } catch (error) {
      this.#answer({ type: "answer", update, failure: this.parts.host.failureFrom(error) });
    }
    this.#updatesUnderWay.splice(this.#updatesUnderWay.indexOf(name), 1);
  }

  /** Also in the reaction in which the code takes its last step, which is then the last all the same. */
  #answer(step: Extract<Step, { type: "answer" }>): void {
    if (!this.#isOver && !this.#hasStrayed()) this.#note(step);
    else if (this.#isReacting && this.#lastStep !== undefined) this.#steps?.splice(-1, 0, step);
  }

  /** If it is of this reaction. */
  get #lastStep(): LastStep | undefined {
    const step = this.#steps?.at(-1);
    return step !== undefined && isLast(step) ? step : undefined;
  }

  #warnOfUnanswered(): void {
    const last = this.#lastStep?.type;
    if (last !== "complete" && last !== "continue") return;
    for (const update of this.#updatesUnderWay ?? noSteps) {
      this.log.warn(
        { update },
        `the code of a workflow ${last === "complete" ? "ends" : "begins anew"} while it handles update "${update}", which is therefore never answered: wait for it first`,
      );
    }
  }
}

function describe(task: TaskStep | undefined): string {
  if (task?.type === "child") return `child workflow "${task.node.workflowName}"`;
  return `activity "${task?.node.nodeName ?? task?.node.jobName}"`;
}

/** `Promise.any` gives all that it waited for in one. */
function isCancel(error: unknown): boolean {
  try {
    if (error instanceof AggregateError) return error.errors.some(isCancel);
    return error instanceof WorkflowCanceled;
  } catch {
    // Code may throw a proxy that throws itself when it is looked at.
    return false;
  }
}
