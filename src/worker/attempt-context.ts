import { EngineError } from "../base/error.ts";
import type { ContextLog } from "../base/context-log.ts";
import type { Logger } from "../base/logger.ts";
import { toJsonText } from "../base/json-text.ts";
import { localName } from "../base/namespace.ts";
import { preview } from "../base/preview.ts";
import { durationSecondsMax } from "../base/time-limits.ts";
import { utf8Length } from "../base/utf8.ts";
import type { CompleteLaterOptions, JobContext, MapResult, ProgressReport } from "../authoring/job.ts";
import type { Task } from "../authoring/task.ts";
import type { OnTaskLog } from "../dispatch/task-log.ts";
import type { AskOwner, AttemptAnswer, AttemptQuestion } from "../dispatch/attempt-question.ts";
import type { OnReport } from "../dispatch/attempt-report.ts";
import { heartbeatBytesMax } from "../dispatch/session-schema.ts";
import type { TaskInputs } from "../dispatch/task-run.ts";
import { firstItemNumber } from "../kernel/dag/map-items.ts";
import type { NodeSpec } from "../kernel/node-spec.ts";
import type { ContextPatch } from "../kernel/event.ts";
import type { Outcome } from "../kernel/input.ts";
import type { Abort } from "../dispatch/abort.ts";
import { attemptLog, type RunIdentity } from "./attempt-log.ts";
import { readResults } from "./attempt-results.ts";
import { HandedItems } from "./handed-items.ts";
import { progressOf } from "./task-progress.ts";
import { subTaskNode } from "./sub-task-node.ts";

type AwaitsOutcome = Extract<Outcome, { kind: "awaits" }>;

/** The part of a context that all attempts of a worker share. */
export interface ContextServices {
  readonly logger: Logger;
  readonly subTasksMax: number;
  readonly onTaskLog?: OnTaskLog | undefined;
  readonly onReport?: OnReport | undefined;
  readonly ask?: AskOwner | undefined;
}

/** Implements the context of a job. Its parts are created at first use, because most jobs use few of them. */
export class AttemptContext implements JobContext {
  readonly #run: RunIdentity;
  readonly #inputs: TaskInputs;
  readonly #abort: Abort;
  readonly #services: ContextServices;
  #context: Readonly<Record<string, unknown>> | undefined;
  #outputs: Readonly<Record<string, unknown>> | undefined;
  #item: unknown;
  #heartbeatDetails: unknown;
  /** The details of the last heartbeat of this attempt that had some. */
  #sentDetails: string | undefined;
  #log: ContextLog | undefined;
  #patch: Map<string, string | null> | undefined;
  #subTasks: Map<string, NodeSpec> | undefined;
  #awaits: AwaitsOutcome | undefined;
  #handedItems: HandedItems | undefined;
  #closed = false;

  constructor(run: RunIdentity, inputs: TaskInputs, abort: Abort, services: ContextServices) {
    this.#run = run;
    this.#inputs = inputs;
    this.#abort = abort;
    this.#services = services;
  }

  get run(): RunIdentity {
    return this.#run;
  }

  get instanceId(): string {
    return localName(this.#run.instanceId);
  }

  get workflowName(): string {
    return localName(this.#run.workflowName);
  }

  get taskName(): string {
    return this.#run.taskName;
  }

  get taskId(): string {
    return `${this.#run.instanceId}::${this.#run.task}`;
  }

  get attempt(): number {
    return this.#run.attempt;
  }

  get attemptId(): string {
    return this.#run.attemptId;
  }

  get traceparent(): string | undefined {
    return this.#run.traceparent;
  }

  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  get context(): Readonly<Record<string, unknown>> {
    return (this.#context ??= parseEach(this.#inputs.context));
  }

  get outputs(): Readonly<Record<string, unknown>> {
    return (this.#outputs ??= parseEach(this.#inputs.outputs));
  }

  get item(): unknown {
    const { item } = this.#inputs;
    if (item !== undefined) this.#item ??= JSON.parse(item.value) as unknown;
    return this.#item;
  }

  get index(): number | undefined {
    return this.#inputs.item?.index;
  }

  get log(): ContextLog {
    return (this.#log ??= attemptLog(this.#services.logger, this.#run, this.#services.onTaskLog));
  }

  /** SUBTASK_INVALID, SUBTASK_LIMIT. */
  generateSubTask(task: Task): void {
    if (this.#isClosed("generateSubTask")) return;
    const node = subTaskNode(task, this.taskName);
    const { name } = task;
    const subTasks = (this.#subTasks ??= new Map<string, NodeSpec>());
    const max = this.#services.subTasksMax;
    if (subTasks.has(name)) {
      throw new EngineError("SUBTASK_INVALID", `task "${this.taskName}" generates two sub-tasks called "${name}"`);
    }
    if (subTasks.size >= max) {
      const message = `task "${this.taskName}" may generate at most ${max} sub-tasks; "${name}" would be number ${max + 1}`;
      throw new EngineError("SUBTASK_LIMIT", message);
    }
    subTasks.set(name, node);
  }

  /** Serializes the values at once, so later changes to them have no effect. OPTION_INVALID, VALUE_NOT_SERIALIZABLE. */
  patchContext(patch: Readonly<Record<string, unknown>>): void {
    if (this.#isClosed("patchContext")) return;
    if (typeof patch !== "object" || patch === null || Array.isArray(patch)) {
      throw new EngineError(
        "OPTION_INVALID",
        `patchContext of task "${this.taskName}" takes an object of keys and values`,
      );
    }
    const texts = Object.entries(patch).map(([key, value]) => [key, patchText(key, value)] as const);
    const collected = (this.#patch ??= new Map<string, string | null>());
    for (const [key, text] of texts) if (text !== undefined) collected.set(key, text);
  }

  /** OPTION_INVALID. */
  progress(report: ProgressReport, message?: string): void {
    if (this.#isClosed("progress")) return;
    this.#services.onReport?.(this.attemptId, { progress: progressOf(report, message, this.taskName) });
  }

  get heartbeatDetails(): unknown {
    const { heartbeat } = this.#inputs;
    if (heartbeat !== undefined) this.#heartbeatDetails ??= JSON.parse(heartbeat) as unknown;
    return this.#heartbeatDetails;
  }

  /** OPTION_INVALID, VALUE_NOT_SERIALIZABLE. */
  heartbeat(details?: unknown): void {
    if (this.#isClosed("heartbeat") || this.#abort.aborted) return;
    this.#sentDetails = heartbeatText(details, this.taskName) ?? this.#sentDetails;
    const heartbeat = this.#sentDetails === undefined ? {} : { details: this.#sentDetails };
    this.#services.onReport?.(this.attemptId, { heartbeat });
  }

  /** TASK_INVALID for a task that is neither a reduce nor runs after a broadcast. */
  results(): AsyncIterable<MapResult> {
    if (this.#run.task < firstItemNumber || this.#inputs.item !== undefined) {
      const problem = "has no results to read: it neither reduces a map nor runs after a broadcast";
      throw new EngineError("TASK_INVALID", `task "${this.taskName}" ${problem}`);
    }
    return readResults((question) => this.#ask(question));
  }

  /** TASK_INVALID, MAP_ITEMS_INVALID, VALUE_NOT_SERIALIZABLE. */
  map(items: Iterable<unknown> | AsyncIterable<unknown>): Promise<void> {
    if (this.#run.task < firstItemNumber) {
      const problem = "cannot hand in items: it is neither the source of a map nor one of its items";
      throw new EngineError("TASK_INVALID", `task "${this.taskName}" ${problem}`);
    }
    if (this.#isClosed("map")) return Promise.resolve();
    this.#handedItems ??= new HandedItems((question) => this.#ask(question), this.taskName);
    return this.#handedItems.add(items);
  }

  /** Resolves when the items that the job has handed in are durable; undefined if there are none. */
  get handedIn(): Promise<void> | undefined {
    return this.#handedItems?.settled;
  }

  /** Rejects if the attempt is aborted before the answer comes. */
  #ask(question: AttemptQuestion): Promise<AttemptAnswer> {
    const { signal } = this.#abort;
    const { ask } = this.#services;
    if (ask === undefined) {
      const message = `task "${this.taskName}" cannot ask its instance: it is part of no workflow`;
      return Promise.reject(new EngineError("TASK_INVALID", message));
    }
    if (signal.aborted) return Promise.reject(signal.reason as Error);
    const { promise, resolve, reject } = Promise.withResolvers<AttemptAnswer>();
    const abort = (): void => reject(signal.reason as Error);
    signal.addEventListener("abort", abort, { once: true });
    ask(this.#run, question)
      .then(resolve, reject)
      .finally(() => signal.removeEventListener("abort", abort));
    return promise;
  }

  /** OPTION_INVALID; TASK_INVALID for a task of no instance. */
  completeLater(options: CompleteLaterOptions = {}): string {
    const { completionToken } = this.#run;
    if (completionToken === undefined) {
      const problem = "cannot be completed from outside: it belongs to no workflow, or is an item of a map";
      throw new EngineError("TASK_INVALID", `task "${this.taskName}" ${problem}`);
    }
    if (!this.#isClosed("completeLater"))
      this.#awaits = { kind: "awaits", ...completionTimeoutOf(options, this.taskName) };
    return completionToken;
  }

  /** Ends the attempt: later calls of a job that keeps running are ignored. */
  close(): void {
    this.#closed = true;
  }

  /** The outcome of a job that has returned, if its task is completed from outside. */
  get awaits(): AwaitsOutcome | undefined {
    return this.#awaits;
  }

  get patch(): ContextPatch | undefined {
    return this.#patch === undefined ? undefined : Object.fromEntries(this.#patch);
  }

  get subTasks(): readonly NodeSpec[] | undefined {
    return this.#subTasks === undefined ? undefined : [...this.#subTasks.values()];
  }

  /** Logs a warning after the end: an error in a job that is not awaited any more could end the process. */
  #isClosed(call: string): boolean {
    if (this.#closed) this.log.warn({ call }, "ignored: the attempt has ended");
    return this.#closed;
  }
}

function completionTimeoutOf({ timeoutSeconds }: CompleteLaterOptions, taskName: string): { timeoutMs?: number } {
  if (timeoutSeconds === undefined) return {};
  if (typeof timeoutSeconds === "number" && timeoutSeconds > 0 && timeoutSeconds <= durationSecondsMax)
    return { timeoutMs: timeoutSeconds * 1000 };
  throw new EngineError(
    "OPTION_INVALID",
    `completeLater of task "${taskName}": timeoutSeconds must be a number above 0, at most ${durationSecondsMax}, got ${preview(timeoutSeconds)}`,
  );
}

/** Serializes one value of a patch; a key with `undefined` is skipped, as in JSON. */
function patchText(key: string, value: unknown): string | null | undefined {
  return value === null ? null : toJsonText(value, `context key "${key}"`);
}

function heartbeatText(details: unknown, taskName: string): string | undefined {
  const text = toJsonText(details, `the details of the heartbeat of task "${taskName}"`);
  const bytes = text === undefined ? 0 : utf8Length(text);
  if (bytes <= heartbeatBytesMax) return text;
  const problem = `has details of ${bytes} bytes, more than the ${heartbeatBytesMax} allowed`;
  throw new EngineError(
    "OPTION_INVALID",
    `a heartbeat of task "${taskName}" ${problem}: send where to find them instead`,
  );
}

function parseEach(texts: Readonly<Record<string, string>>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(texts).map(([key, text]) => [key, JSON.parse(text) as unknown]));
}
