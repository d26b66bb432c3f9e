import { validateNow } from "../authoring/job-params.ts";
import type { StandardSchema } from "../authoring/standard-schema.ts";
import type { UpdateHandler, UpdateOptions } from "../authoring/workflow-context.ts";
import { EngineError } from "../base/error.ts";
import { toJsonText } from "../base/json-text.ts";
import type { Step } from "../kernel/code/step.ts";
import type { Failure } from "../kernel/failure.ts";
import type { Arrival } from "./arrival.ts";
import { requireValid, validateValue, parseOptional, textOf } from "./values.ts";

export type AnswerStep = Extract<Step, { type: "answer" }>;

interface Update {
  readonly input: StandardSchema | undefined;
  readonly validate: ((input: never) => void) | undefined;
  readonly handler: UpdateHandler<never>;
}

interface UpdateCall {
  readonly failureFrom: (error: unknown) => Failure;
  /** Called in the microtask in which the handler has ended. */
  readonly onAnswer: (step: AnswerStep) => void;
}

const nextMicrotask = Promise.resolve();

/** The handlers for queries and updates that the code of one instance has registered. */
export class RunHandlers {
  readonly #workflow: string;
  #queries: Map<string, (input: unknown) => unknown> | undefined;
  #updates: Map<string, Update> | undefined;
  /** Names of updates whose handler has begun and not answered. */
  readonly unanswered: string[] = [];
  /** A query is being answered or an update validated: the code may read its variables and take no step. */
  isReading = false;

  constructor(workflow: string) {
    this.#workflow = workflow;
  }

  onQuery(name: string, handler: (input: never) => unknown): void {
    (this.#queries ??= new Map()).set(name, handler);
  }

  onUpdate<Params>(name: string, how: UpdateHandler<Params> | UpdateOptions<unknown, Params>): void {
    const { input, validate: check, handler } = typeof how === "function" ? { handler: how } : how;
    (this.#updates ??= new Map()).set(name, { input, validate: check, handler });
  }

  /** Answers a query, as JSON text. `HANDLER_UNKNOWN`. */
  answer(name: string, text: string | undefined): string | undefined {
    const handler = this.#queries?.get(name);
    if (handler === undefined) throw this.#unknown("query", name, this.#queries?.keys() ?? []);
    const answer = this.#read(() => handler(parseOptional(text)));
    if (answer instanceof Promise) {
      answer.catch(() => undefined);
      throw new TypeError(`its handler is async, but a query answers at once from the code's variables`);
    }
    return toJsonText(answer, `the answer to query "${name}"`);
  }

  /** Throws if the update must not be accepted. `HANDLER_UNKNOWN`. */
  validateUpdate(name: string, text: string | undefined): void {
    const update = this.#updates?.get(name);
    if (update === undefined) throw this.#unknown("update", name, this.#updates?.keys() ?? []);
    const verdict = validateNow(update.input, parseOptional(text));
    const value = verdict === undefined ? parseOptional(text) : requireValid(verdict, `the input of update "${name}"`);
    this.#read(() => update.validate?.(value as never));
  }

  /** Runs the handler of an update. It is called in a microtask, like the workflow's function. */
  async handleUpdate(
    { update, name, data }: Extract<Arrival, { type: "update" }>,
    { failureFrom, onAnswer }: UpdateCall,
  ): Promise<void> {
    const handled = this.#updates?.get(name);
    this.unanswered.push(name);
    try {
      await nextMicrotask;
      if (handled === undefined) throw this.#unknown("update", name, this.#updates?.keys() ?? []);
      const given = parseOptional(data);
      const input =
        handled.input === undefined
          ? given
          : await validateValue(handled.input, given, `the input of update "${name}"`);
      const output = textOf(await handled.handler(input as never), `the answer to update "${name}"`);
      onAnswer({ type: "answer", update, ...(output !== undefined && { output }) });
    } catch (error) {
      onAnswer({ type: "answer", update, failure: failureFrom(error) });
    }
    this.unanswered.splice(this.unanswered.indexOf(name), 1);
  }

  #read<T>(read: () => T): T {
    this.isReading = true;
    try {
      return read();
    } finally {
      this.isReading = false;
    }
  }

  #unknown(what: string, name: string, known: Iterable<string>): EngineError {
    const names = [...known];
    const there = names.length === 0 ? `it answers none` : `it answers ${names.map((each) => `"${each}"`).join(", ")}`;
    return new EngineError("HANDLER_UNKNOWN", `workflow "${this.#workflow}" answers no ${what} "${name}"; ${there}`);
  }
}
