import type { CodeWorkflow } from "../authoring/code-workflow.ts";
import { validateNow } from "../authoring/job-params.ts";
import { toJsonText } from "../authoring/json-text.ts";
import type { StandardSchema } from "../authoring/standard-schema.ts";
import type { UpdateHandler, UpdateOptions } from "../authoring/workflow-context.ts";
import { EngineError } from "../base/error.ts";
import { type Logger, silentLogger } from "../base/logger.ts";
import type { Step } from "../kernel/code/step.ts";
import type { Failure } from "../kernel/failure.ts";
import type { Arrival, RaisedEvent } from "./arrival.ts";
import { RaisedEvents } from "./raised-events.ts";
import { SteadyChance } from "./steady-chance.ts";
import { StepFailed, WorkflowCanceled } from "./step-failed.ts";
import { UndoFailed, UndoScope } from "./undo-scope.ts";
import { accepted, fitting, parsed } from "./values.ts";
import { notDurable, type Wait, Waiting } from "./waiting.ts";
import { RunContext } from "./run-context.ts";

/** Who the running code belongs to, and what it needs from outside. */
export interface RunParts {
  readonly instanceId: string;
  readonly generation: number;
  /** What chance follows from. */
  readonly seed: string;
  readonly parentInstanceId: string | undefined;
  readonly workflow: CodeWorkflow;
  readonly logger: Logger;
  /** Resolves when all that the last arrival led to in the code has happened. */
  readonly drained: () => Promise<void>;
  /** The error in words that history keeps. */
  readonly failureFrom: (error: unknown) => Failure;
  /** The newest version of the workflow that is registered under that name, or what is known of it otherwise. */
  readonly versionOf: (workflow: string) => string | undefined;
  /** The code did something while nothing had come in that it could react to. */
  readonly onStray: (error: EngineError) => void;
  /** Runs what may call the user's code, so that it can be told from other code. */
  readonly within?: <T>(call: () => T) => T;
}

const none: ReadonlySet<string> = new Set();

interface Update {
  readonly input: StandardSchema | undefined;
  readonly validate: ((input: never) => void) | undefined;
  readonly handler: UpdateHandler<never>;
}

/**
 * The code of one instance, as it runs: between arrivals it is parked on a promise.
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
  readonly chance: SteadyChance;
  /** Those on record. */
  markedPatches: ReadonlySet<string> = none;
  readonly undoing = new UndoScope();
  readonly #context: RunContext;
  readonly #tasks = new Map<number, { wait: Wait<string | undefined>; name: string }>();
  readonly #timers = new Map<number, () => void>();
  /** Made when they are first used: of most instances there are many, and they use little. */
  #queries: Map<string, (input: unknown) => unknown> | undefined;
  #updates: Map<string, Update> | undefined;
  #patches: Map<string, boolean> | undefined;
  #cancelHandlers: (() => void | Promise<void>)[] | undefined;
  /** Arrivals that came while the instance was paused. */
  readonly #held: Arrival[] = [];
  #isPaused = false;
  #steps: Step[] = [];
  /** Its number. */
  nextTask = 0;
  #nextTimer = 0;
  #isReacting = false;
  #isOver = false;
  #hasStrayed = false;
  at = 0;
  isReplaying = false;
  cancelReason: string | undefined;

  constructor(parts: RunParts) {
    this.parts = parts;
    this.chance = new SteadyChance(parts.seed);
    this.#context = new RunContext(this, this.undoing);
  }

  get logger(): Logger {
    return this.isReplaying ? silentLogger : this.parts.logger;
  }

  /** It has taken its last step, or was ended from outside. */
  get isOver(): boolean {
    return this.#isOver;
  }

  end(): void {
    this.#isOver = true;
  }

  /** Lets the code react, and hands on the steps that it took. `WORKFLOW_NOT_DURABLE`. */
  async see(arrival: Arrival, at: number, onSteps: (steps: readonly Step[]) => void): Promise<void> {
    if (arrival.type === "paused") {
      this.#isPaused = true;
      return;
    }
    if (arrival.type === "resumed") this.#isPaused = false;
    else this.#held.push(arrival);
    while (!this.#isPaused && !this.#isOver) {
      const next = this.#held.shift();
      if (next === undefined) return;
      this.at = at;
      await this.#react(next);
      onSteps(this.#takeSteps());
    }
  }

  async #react(arrival: Arrival): Promise<void> {
    this.#isReacting = true;
    try {
      if (this.parts.within === undefined) this.#settle(arrival);
      else this.parts.within(() => this.#settle(arrival));
      await this.parts.drained();
    } finally {
      this.#isReacting = false;
    }
    if (!this.#isOver && this.waiting.isEmpty) {
      throw notDurable(
        `the code of instance "${this.parts.instanceId}" waits for something, but for nothing that is durable`,
      );
    }
  }

  #settle(arrival: Arrival): void {
    switch (arrival.type) {
      case "start":
        for (const event of arrival.events) this.events.raise(event);
        return void this.#main(arrival.input);
      case "task-succeeded":
        return this.#taken(arrival.task)?.wait.resolve(arrival.output);
      case "task-failed": {
        const task = this.#taken(arrival.task);
        const { failure } = arrival;
        return task?.wait.reject(new StepFailed(`${task.name} failed: ${failure.message}`, failure));
      }
      case "timer-fired":
        return this.#timers.get(arrival.timer)?.();
      case "event":
        return this.events.raise(arrival.event);
      case "update":
        return void this.#update(arrival);
      case "cancel":
        this.cancelReason = arrival.reason;
        this.#tasks.clear();
        this.#timers.clear();
        this.events.forgetTakers();
        return this.waiting.cancelAll(arrival.reason);
      default:
        return undefined;
    }
  }

  #taken(task: number): { wait: Wait<string | undefined>; name: string } | undefined {
    const taken = this.#tasks.get(task);
    this.#tasks.delete(task);
    return taken;
  }

  #takeSteps(): Step[] {
    const steps = this.#steps;
    this.#steps = [];
    return steps;
  }

  // What the code does

  /** `WORKFLOW_NOT_DURABLE` at any time but in reaction to an arrival. */
  take(step: Step): void {
    this.refuseStray(`the code of instance "${this.parts.instanceId}" takes a step after waiting for something else`);
    this.#steps.push(step);
  }

  refuseStray(what: string): void {
    if (this.#isReacting && !this.#isOver) return;
    const error = notDurable(what);
    if (!this.#isOver && !this.#hasStrayed) {
      this.#hasStrayed = true;
      this.parts.onStray(error);
    }
    throw error;
  }

  takeTask(step: Extract<Step, { type: "activity" | "child" }>, name: string): Promise<string | undefined> {
    this.take(step);
    const task = this.nextTask++;
    return this.waiting.add((wait) => this.#tasks.set(task, { wait, name }));
  }

  /** A child that is not waited for; gives back its task's number. */
  takeDetached(step: Extract<Step, { type: "child" }>): number {
    this.take(step);
    return this.nextTask++;
  }

  /** Gives back how to call it off. */
  setTimer(dueAt: number, onDue: () => void): () => void {
    this.take({ type: "timer", dueAt });
    const timer = this.#nextTimer++;
    this.#timers.set(timer, () => {
      this.#timers.delete(timer);
      onDue();
    });
    return () => {
      if (this.#timers.delete(timer)) this.take({ type: "cancel-timer", timer });
    };
  }

  /** The last step: what comes after it in the same breath is not carried out. */
  #finish(step: Step): void {
    if (this.#isOver) return;
    this.take(step);
    this.#isOver = true;
  }

  continueAsNew(input: string | undefined, events: readonly RaisedEvent[]): void {
    const kept = events.map(({ name, data }) => ({ name, ...(data !== undefined && { data }) }));
    this.#finish({ type: "continue", events: kept, ...(input !== undefined && { input }) });
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

  onCancel(handler: () => void | Promise<void>): void {
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

  async #main(text: string | undefined): Promise<void> {
    const { workflow, instanceId } = this.parts;
    try {
      const input = await fitting(workflow.input, parsed(text), `the input of instance "${instanceId}"`);
      const output: unknown = await workflow.fn(this.#context, input);
      await fitting(workflow.output, output, `the output of instance "${instanceId}"`);
      const result = toJsonText(output, `the output of instance "${instanceId}"`);
      this.#finish({ type: "complete", ...(result !== undefined && { output: result }) });
    } catch (error) {
      if (!this.#isOver && !this.#hasStrayed) await this.#fail(error);
    }
  }

  async #fail(error: unknown): Promise<void> {
    const isCanceled = error instanceof WorkflowCanceled && this.cancelReason !== undefined;
    const problems: string[] = [];
    if (isCanceled) {
      const handlers = new UndoScope();
      for (const handler of this.#cancelHandlers ?? []) handlers.add(handler);
      problems.push(...(await handlers.undo()));
    }
    problems.push(...(await this.undoing.undo()));
    if (isCanceled && problems.length === 0) return this.#finish({ type: "cancel", reason: error.reason });
    const failure = problems.length === 0 ? error : new UndoFailed(error, problems);
    this.#finish({ type: "fail", failure: this.parts.failureFrom(failure) });
  }

  // What clients ask

  /** `HANDLER_UNKNOWN`. The answer is JSON text. */
  answer(name: string, text: string | undefined): string | undefined {
    const handler = this.#queries?.get(name);
    if (handler === undefined) throw this.#unknown("query", name, this.#queries?.keys() ?? []);
    return toJsonText(handler(parsed(text)), `the answer to query "${name}"`);
  }

  /** Throws if the update is not to be let in. */
  refuseUpdate(name: string, text: string | undefined): void {
    const update = this.#updates?.get(name);
    if (update === undefined) throw this.#unknown("update", name, this.#updates?.keys() ?? []);
    const verdict = validateNow(update.input, parsed(text));
    const value = verdict === undefined ? parsed(text) : accepted(verdict, `the input of update "${name}"`);
    update.validate?.(value as never);
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
    try {
      if (handled === undefined) throw this.#unknown("update", name, this.#updates?.keys() ?? []);
      const input = await fitting(handled.input, parsed(data), `the input of update "${name}"`);
      const output = toJsonText(await handled.handler(input as never), `the answer to update "${name}"`);
      this.#answer({ type: "answer", update, ...(output !== undefined && { output }) });
    } catch (error) {
      if (!this.#hasStrayed) this.#answer({ type: "answer", update, failure: this.parts.failureFrom(error) });
    }
  }

  #answer(step: Extract<Step, { type: "answer" }>): void {
    if (!this.#isOver) this.take(step);
  }
}
