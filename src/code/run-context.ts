import { isCodeWorkflow } from "../authoring/code-workflow.ts";
import type { StandardSchema } from "../authoring/standard-schema.ts";
import type {
  ActivityOptions,
  ChildOptions,
  CodeMapOptions,
  EventOptions,
  UpdateHandler,
  UpdateOptions,
  WorkflowContext,
} from "../authoring/workflow-context.ts";
import { EngineError } from "../base/error.ts";
import type { ContextLog } from "../base/context-log.ts";
import { preview } from "../base/preview.ts";
import { durationMsMax, momentAfter } from "../base/time-limits.ts";
import { localName, qualifyAs, refuseMark } from "../base/namespace.ts";
import type { Failure } from "../kernel/failure.ts";
import type { NodeSpec } from "../kernel/node-spec.ts";
import { nodeTypes } from "../kernel/task-definition.ts";
import { placeOfCall } from "./call-place.ts";
import type { CodeRun } from "./code-run.ts";
import { allOf, ContextPromise, markHandled, raceOf } from "./context-promise.ts";
import { EventWait } from "./event-wait.ts";
import {
  checkActivity,
  checkChild,
  checkContinue,
  checkEventWait,
  checkHandler,
  checkMap,
  checkName,
  checkUpdateHandler,
} from "./step-check.ts";
import { TimerWait } from "./timer-wait.ts";
import { UndoScope } from "./undo-scope.ts";
import { validateValue, parseOptional, textOf } from "./values.ts";

/** Limit of the custom status, which is kept in memory with the instance. */
const customStatusBytesMax = 16_384;

/** Items of `ctx.map` that run at a time, unless it says otherwise. */
const mapConcurrency = 10;

const noOptions: ActivityOptions<never> = {};

/** The options of an activity that become fields of its node. */
const nodeOptions = [
  "timeoutSeconds",
  "heartbeatTimeoutSeconds",
  "retryCount",
  "retryPolicy",
  "domain",
  "workerTags",
  "worker",
] as const;

/** Context that is handed to the code. A saga has one of its own, with its own undoing. */
export class RunContext implements WorkflowContext {
  readonly #run: CodeRun;
  readonly #undoing: UndoScope;

  constructor(run: CodeRun, undoing: UndoScope) {
    this.#run = run;
    this.#undoing = undoing;
  }

  get instanceId(): string {
    return localName(this.#run.parts.instanceId);
  }

  get workflowName(): string {
    return this.#run.parts.workflow.name;
  }

  get workflowVersion(): string {
    return this.#run.parts.workflow.version;
  }

  get generation(): number {
    return this.#run.parts.generation;
  }

  get parentInstanceId(): string | undefined {
    const { parentInstanceId } = this.#run.parts;
    return parentInstanceId === undefined ? undefined : localName(parentInstanceId);
  }

  get isReplaying(): boolean {
    return this.#run.isReplaying;
  }

  get cancelReason(): string | undefined {
    return this.#run.cancelReason;
  }

  get log(): ContextLog {
    return this.#run.log;
  }

  now(): number {
    return this.#run.at;
  }

  random(): number {
    return this.#run.random.next();
  }

  uuid(): string {
    return this.#run.random.uuid();
  }

  run(job: unknown, input?: unknown, options = noOptions): Promise<never> {
    const jobName = nameOf(job, "a job");
    if (options !== noOptions) checkActivity(jobName, options);
    const name = options.name ?? jobName;
    const nodeId = this.#run.waiting.nextTask;
    const node: NodeSpec = name === jobName ? { nodeId, jobName } : { nodeId, nodeName: name, jobName };
    if (input !== undefined) Object.assign(node, paramsOf(input, `the input of activity "${name}"`));
    if (options !== noOptions) Object.assign(node, optional(options, nodeOptions));
    const refusal = options.domain === undefined ? undefined : this.#domainRefusal(options.domain);
    const place = this.#run.waiting.isObserved ? placeOfCall() : undefined;
    const step =
      refusal === undefined ? ({ type: "activity", node } as const) : ({ type: "activity", node, refusal } as const);
    const output = this.#run.takeTask<never>(step, place);
    const { undo } = options;
    return undo === undefined ? output : markHandled(output.then((value) => this.#undoable(value, undo)));
  }

  /**
   * Refuses an undeclared domain. The refusal is recorded with the step, because no history says which domains exist.
   */
  #domainRefusal(domain: string): Failure | undefined {
    if (this.#run.parts.services.hasDomain(this.#qualify(domain))) return undefined;
    const message = `it belongs to domain "${domain}", which is not declared in the engine's "domains"`;
    return { type: "DOMAIN_UNKNOWN", message, retryable: false };
  }

  #undoable(output: never, undo: (output: never) => unknown): never {
    this.#undoing.add(() => undo(output));
    return output;
  }

  /**
   * A fixed number of loops take the items in order. Results arrive in the order of history, so a replay takes the same
   * steps; a change of these awaits would alter replays.
   */
  map(job: unknown, items: readonly unknown[], options: CodeMapOptions = {}): Promise<never> {
    const { concurrency = mapConcurrency, ...rest } = options;
    checkMap(nameOf(job, "a job"), items, concurrency);
    const outputs: unknown[] = Array.from({ length: items.length });
    let next = 0;
    const takeItems = async (): Promise<void> => {
      while (next < items.length) {
        const index = next++;
        try {
          outputs[index] = await this.run(job, items[index], rest);
        } catch (error) {
          next = items.length;
          throw error;
        }
      }
    };
    const loops = Array.from({ length: Math.min(concurrency, items.length) }, takeItems);
    return markHandled(this.all(loops).then(() => outputs as never));
  }

  callActivity(job: unknown, input?: unknown, options?: ActivityOptions<never>): Promise<never> {
    return this.run(job, input, options);
  }

  sleep(time: number | Date): Promise<void> {
    const dueAt = dueTime(time, this.#run.at);
    this.#run.refuseStray("sleeps");
    const wait = new TimerWait(this.#run, dueAt, placeOfCall());
    return ContextPromise.of(wait.promise, wait);
  }

  createTimer(time: number | Date): Promise<void> {
    return this.sleep(time);
  }

  waitForEvent<Data>(name: string, options: EventOptions<Data> = {}): Promise<Data> {
    checkName("an event", name);
    checkEventWait(name, options as EventOptions<never>);
    const { timeoutMs, schema } = options;
    const timeout = timeoutMs === undefined ? undefined : { ms: timeoutMs, dueAt: dueTime(timeoutMs, this.#run.at) };
    this.#run.refuseStray("waits for an event");
    const wait = new EventWait(this.#run, name, { timeout, place: placeOfCall() });
    const event = wait.promise.then((text) => parseOptional(text) as Data);
    const what = `event "${name}" of instance "${this.instanceId}"`;
    const fit = (data: Data): Promise<Data> => validateValue(schema as StandardSchema, data, what) as Promise<Data>;
    return ContextPromise.of(markHandled(schema === undefined ? event : event.then(fit)), wait);
  }

  sendEvent(to: string, name: string, data?: unknown): void {
    checkName("an event", name);
    if (typeof to !== "string" || to === "")
      throw new EngineError("OPTION_INVALID", `an event is sent to an instance id, got ${preview(to)}`);
    refuseMark("an instance id", to);
    const text = textOf(data, `the data of event "${name}"`);
    this.#run.take({ type: "event", to: this.#qualify(to), name, ...(text !== undefined && { data: text }) });
  }

  cancelInstance(to: string, reason: string): void {
    refuseMark("an instance id", to);
    this.#run.take({ type: "cancel-instance", to: this.#qualify(to), reason });
  }

  callChild(workflow: unknown, input?: unknown, options: ChildOptions = {}): Promise<never> {
    const step = this.#childStep(workflow, input, options);
    return this.#run.takeTask({ ...step, isDetached: false }, placeOfCall());
  }

  startChild(workflow: unknown, input?: unknown, options: ChildOptions = {}): string {
    const { instanceId = `${this.instanceId}/${this.uuid()}` } = options;
    const step = this.#childStep(workflow, input, { ...options, instanceId });
    this.#run.takeDetached({ ...step, isDetached: true });
    return instanceId;
  }

  #childStep(
    workflow: unknown,
    input: unknown,
    options: ChildOptions,
  ): { type: "child"; node: NodeSpec; childId?: string } {
    const name = nameOf(workflow, "a workflow");
    checkChild(name, options);
    const wanted = isCodeWorkflow(workflow) ? workflow.version : undefined;
    const version = this.#run.parts.services.versionOf(this.#qualify(name), wanted);
    if (version === undefined) throw this.#run.faults.missWorkflow(name);
    const node: NodeSpec = {
      nodeId: this.#run.waiting.nextTask,
      nodeType: nodeTypes.nested,
      workflowName: name,
      workflowVersion: version,
      ...paramsOf(input, `the input of child workflow "${name}"`),
      ...optional(options, ["retryCount", "retryPolicy", "whenParentEnds"]),
    };
    const { instanceId } = options;
    return { type: "child", node, ...(instanceId !== undefined && { childId: this.#qualify(instanceId) }) };
  }

  /** Names that the code uses are those of its own namespace. */
  #qualify(name: string): string {
    return qualifyAs(this.#run.parts.instanceId, name);
  }

  all<T extends readonly unknown[] | []>(values: T): Promise<{ -readonly [P in keyof T]: Awaited<T[P]> }> {
    return allOf(values) as Promise<{ -readonly [P in keyof T]: Awaited<T[P]> }>;
  }

  any<T>(values: Iterable<T | PromiseLike<T>>): Promise<Awaited<T>> {
    return raceOf([...values], "fulfilled");
  }

  race<T>(values: Iterable<T | PromiseLike<T>>): Promise<Awaited<T>> {
    return raceOf([...values], "settled");
  }

  continueAsNew(input?: unknown, options: { readonly keepEvents?: boolean } = {}): Promise<never> {
    checkContinue(options);
    const text = textOf(input, "the input to begin anew with");
    this.#run.continueAsNew(text, { keepsEvents: options.keepEvents === true });
    return new Promise<never>(() => undefined);
  }

  setCustomStatus(status: unknown): void {
    const text = textOf(status, "the custom status", customStatusBytesMax);
    this.#run.take({ type: "custom-status", status: text ?? null });
  }

  patched(name: string): boolean {
    checkName("a patch", name);
    return this.#run.usePatch(name);
  }

  onCancel(handler: () => unknown): void {
    checkHandler("onCancel", handler);
    this.#run.compensation.onCancel(handler);
  }

  undo(handler: () => unknown): void {
    checkHandler("undo", handler);
    this.#undoing.add(handler);
  }

  saga<T>(body: (ctx: WorkflowContext) => Promise<T>): Promise<T> {
    checkHandler("saga", body);
    return markHandled(this.#saga(body));
  }

  async #saga<T>(body: (ctx: WorkflowContext) => Promise<T>): Promise<T> {
    const undoing = new UndoScope();
    try {
      const result = await body(new RunContext(this.#run, undoing));
      this.#undoing.add(() => undoAll(undoing));
      return result;
    } catch (error) {
      throw await this.#run.undoSaga(undoing, error);
    }
  }

  onQuery(name: string, handler: (input: never) => unknown): void {
    checkName("a query", name);
    checkHandler("onQuery", handler);
    this.#run.handlers.onQuery(name, handler);
  }

  onUpdate<Input, Params>(name: string, handler: UpdateHandler<Params> | UpdateOptions<Input, Params>): void {
    checkName("an update", name);
    checkUpdateHandler(name, handler);
    this.#run.handlers.onUpdate(name, handler);
  }
}

/** Compensates a saga that is through, when the code around it fails after all. */
async function undoAll(undoing: UndoScope): Promise<void> {
  const problems = await undoing.undo();
  if (problems.length > 0) throw new Error(problems.join("; "));
}

function nameOf(named: unknown, what: string): string {
  const name = typeof named === "object" && named !== null && "name" in named ? named.name : named;
  if (typeof name === "string" && name !== "") return name;
  throw new EngineError("OPTION_INVALID", `ctx takes ${what} or its name, got ${preview(named)}`);
}

function paramsOf(input: unknown, what: string): { nodeParams?: string } {
  const text = textOf(input, what);
  return text === undefined ? {} : { nodeParams: text };
}

function optional<T extends object, K extends keyof T>(options: T, keys: readonly K[]): Partial<Pick<T, K>> {
  const given = keys.filter((key) => options[key] !== undefined);
  return Object.fromEntries(given.map((key) => [key, options[key]])) as Partial<Pick<T, K>>;
}

function dueTime(time: number | Date, now: number): number {
  const waitMs = time instanceof Date ? time.getTime() - now : time;
  if (Number.isFinite(waitMs) && waitMs <= durationMsMax) return Math.max(0, momentAfter(now, waitMs));
  throw new EngineError(
    "OPTION_INVALID",
    `a wait takes a number of ms or a Date, at most ${durationMsMax} ms ahead, got ${preview(time)}`,
  );
}
