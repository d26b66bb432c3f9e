import { randomUUID } from "node:crypto";
import { copyAsJson } from "../base/json-text.ts";
import { broadcastProblem, mapProblem } from "../kernel/dag/check-map.ts";
import type { BroadcastSpec, MapSpec, NodeJob } from "../kernel/node-spec.ts";
import type { RetryPolicy } from "../kernel/retry.ts";
import { nodeTypes } from "../kernel/task-definition.ts";
import { type CodeWorkflow, isCodeWorkflow } from "./code-workflow.ts";
import { isJob, type Job, type ParamsArgument } from "./job.ts";
import { SettingCheck } from "./setting-check.ts";
import { preview } from "../base/preview.ts";
import { durationMsMax } from "../base/time-limits.ts";
import { type Dependency, paramsText, Task, type TaskNode } from "./task.ts";
import type { Workflow } from "./workflow.ts";

export interface DependencyOptions {
  /** The result of a decision for which this task runs. */
  when?: string | boolean;
}

/** Settings of a map; each item is one run of the job. */
export interface MapOptions {
  /** Items under way at a time. Default: the instance's `maxConcurrentTasks`. */
  concurrency?: number;
  /** Starts no further item once more have failed than are tolerated. Default: false, all items run. */
  failFast?: boolean;
  /** Failed items that do not fail the task: a number, or a share such as `"10%"`. Default 0; with a reduce, all. */
  tolerateFailures?: number | string;
}

/** Settings of a broadcast: each eligible worker runs the job once. */
export interface BroadcastOptions {
  /** The job that runs once before, on any worker: if it fails, so does the task. */
  before?: OneJob;
  /** The job that runs once after, on any worker: it reads the workers' results, and its output is that of the task. */
  after?: OneJob;
  /** Workers under way at a time. Default: all. */
  concurrency?: number;
  /** Workers that may fail without failing the task: a number, or a share such as `"10%"`. Default 0; with `after`, all. */
  tolerateFailures?: number | string;
}

/** A job, or the name it is registered under; with params as an object of both. */
export type OneJob = Job | string | { readonly job: Job | string; readonly params?: unknown };

/** The work of a task: exactly one of these. */
interface Work {
  job?: { job: Job | undefined; name: string; params: unknown };
  decision?: string;
  nested?: Workflow | CodeWorkflow | string;
}

const defaultTimeoutSeconds = 30;

/**
 * Builds a task. The methods may be called in any order, and `build` again for another, independent task.
 *
 * ```ts
 * new TaskBuilder("orders").withJobFunction(extract, { table: "orders" }).withTimeout(60).withRetryCount(3).build();
 * ```
 */
export class TaskBuilder<Params = unknown> {
  readonly #name: string;
  readonly #work: Work = {};
  readonly #dependencies: { name: string; when?: string | boolean | undefined }[] = [];
  #timeout: Pick<TaskNode, "timeoutSeconds" | "defaultTimeoutSeconds"> = { defaultTimeoutSeconds };
  #heartbeatTimeout: number | undefined;
  #retryCount = 0;
  #retryPolicy: Partial<RetryPolicy> | undefined;
  #domain: string | undefined;
  #workerTags: readonly string[] = [];
  #worker: string | undefined;
  #skipWhenFailed = false;
  #enabled = true;
  #map: MapSpec | undefined;
  #source: OneJob | undefined;
  #reduce: OneJob | undefined;
  #broadcast: BroadcastOptions | undefined;

  constructor(name: string) {
    this.#name = name;
  }

  /** Sets the job to run: the job itself, with typed params, or the name it is registered under. */
  withJobFunction(name: string, params?: unknown): TaskBuilder;
  withJobFunction<P, O, Input>(job: Job<P, O, Input>, ...params: ParamsArgument<Input>): TaskBuilder<Input>;
  withJobFunction(job: Job | string, params?: unknown): TaskBuilder {
    this.#work.job =
      typeof job === "object" && job !== null ? { job, name: job.name, params } : { job: undefined, name: job, params };
    return this;
  }

  /** Sets the timeout of one attempt. Default: the engine's `defaultTimeoutSeconds`, or 30 if that is not set. */
  withTimeout(seconds: number): this {
    this.#timeout = { timeoutSeconds: seconds };
    return this;
  }

  /** Sets the time without a heartbeat (`ctx.heartbeat()`) after which an attempt times out. Default: none is expected. */
  withHeartbeatTimeout(seconds: number): this {
    this.#heartbeatTimeout = seconds;
    return this;
  }

  /** Sets the maximum of retries after a failed or timed-out attempt. Default 0. */
  withRetryCount(count: number): this {
    this.#retryCount = count;
    return this;
  }

  /** Sets the backoff between retries, and which errors are final. Default: 1 s, 2 s, 4 s … up to an hour. */
  withRetryPolicy(policy: Partial<RetryPolicy>): this {
    this.#retryPolicy = policy;
    return this;
  }

  /** Adds a dependency on the named task. */
  withDependency(name: string, options: DependencyOptions = {}): this {
    const check = new SettingCheck("TASK_INVALID", `task ${preview(this.#name)}`);
    check.options(options ?? {}, { when: true }, `the options of dependency ${preview(name)}`);
    this.#dependencies.push({ name, when: options?.when });
    return this;
  }

  /** Adds dependencies. Throws TASK_INVALID if the value is no array: a text would be read letter by letter. */
  withDependencies(names: Iterable<string>): this {
    if (typeof names === "string" || typeof names?.[Symbol.iterator] !== "function") {
      const check = new SettingCheck("TASK_INVALID", `task ${preview(this.#name)}`);
      check.refuse(`dependencies must be a list of task names, got ${preview(names)}`);
    }
    for (const name of names) this.withDependency(name);
    return this;
  }

  /** Sets the domain whose pool it runs in. Default: the workflow's. */
  withDomain(domain: string): this {
    this.#domain = domain;
    return this;
  }

  /** Requires a worker that has all of these tags. Without a call, any worker with the job runs it. */
  withWorkerTags(...tags: string[]): this {
    this.#workerTags = [...this.#workerTags, ...tags];
    return this;
  }

  /** Designates the worker: its id, or its address as histories and the API show it. No other worker runs the task. */
  withWorker(worker: string): this {
    this.#worker = worker;
    return this;
  }

  /** Lets the successors run although this task fails. */
  withSkipWhenFailed(flag = true): this {
    this.#skipWhenFailed = flag;
    return this;
  }

  /** Enables or disables the task; a disabled task is skipped. */
  withEnabled(flag = true): this {
    this.#enabled = flag;
    return this;
  }

  /**
   * Runs the job once for each item of a list, which the job finds as `ctx.item`, and as its params if the task has none. The
   * items are given here, or by a CEL expression over `context` and `outputs`. Retries and timeout count for each item.
   */
  withMap(items: string | readonly unknown[], options?: MapOptions): this;
  /** Runs this job once for each item, which are its params. */
  withMap<P, O, Input>(
    job: Job<P, O, Input>,
    items: string | readonly Input[],
    options?: MapOptions,
  ): TaskBuilder<Input>;
  withMap(...given: readonly unknown[]): TaskBuilder {
    const [first] = given;
    if (isJob(first)) {
      const job = first;
      this.#work.job = { job, name: job.name, params: undefined };
    }
    const [items, options = {}] = (isJob(first) ? given.slice(1) : given) as [
      NonNullable<MapSpec["items"]>,
      MapOptions?,
    ];
    this.#map = { items, ...this.#checkedMap(options) };
    return this;
  }

  /**
   * Runs the job once for each item that another job hands in with `ctx.map(items)`, and that job's items may hand in more.
   * The source runs once, beside the items; the map ends when it has succeeded and all items have ended.
   */
  withMapSource(source: OneJob, options: MapOptions = {}): this {
    this.#source = source;
    this.#map = this.#checkedMap(options);
    return this;
  }

  #checkedMap(options: MapOptions): MapOptions {
    const check = new SettingCheck("TASK_INVALID", `task ${preview(this.#name)}`);
    check.options(options, { concurrency: true, failFast: true, tolerateFailures: true }, "the options of its map");
    return options;
  }

  /**
   * Adds to a map the job that runs once when all items have ended: it reads their results with `ctx.results()`, failures
   * included, and its output is that of the task. A map with a reduce tolerates all failures unless it says otherwise.
   */
  withReduce(name: string, params?: unknown): this;
  withReduce<P, O, Input>(job: Job<P, O, Input>, ...params: ParamsArgument<Input>): this;
  withReduce(job: Job | string, params?: unknown): this {
    this.#reduce = { job, params };
    return this;
  }

  /**
   * Runs the job once on every worker that has it, and the task's tags, when the task starts. Workers that come later do not
   * run it; for one that is gone it fails.
   */
  withBroadcast(options: BroadcastOptions = {}): this {
    const check = new SettingCheck("TASK_INVALID", `task ${preview(this.#name)}`);
    const known = { before: true, after: true, concurrency: true, tolerateFailures: true } as const;
    check.options(options, known, "the options of its broadcast");
    this.#broadcast = options;
    return this;
  }

  /** Makes the task a decision: a CEL expression over `context` and `outputs`, whose result chooses among its successors. */
  withDecision(expression: string): this {
    this.#work.decision = expression;
    return this;
  }

  /** Makes the task run a whole workflow, of either kind: this one, or the newest of that name at submit. */
  withNestedWorkflow(workflow: Workflow | CodeWorkflow | string): this {
    this.#work.nested = workflow;
    return this;
  }

  /** Throws TASK_INVALID, PARAMS_INVALID or VALUE_NOT_SERIALIZABLE. */
  build(): Task<Params> {
    this.#check();
    const id = randomUUID();
    const { job, nested } = this.#work;
    return new Task<Params>({
      id,
      name: this.#name,
      node: { taskId: id, ...this.#workFields(), ...this.#settingFields() },
      job: job?.job,
      nestedWorkflow: typeof nested === "object" && !isCodeWorkflow(nested) ? nested : undefined,
      dependencies: distinct(this.#dependencies),
    });
  }

  #workFields(): TaskNode {
    const { job, decision, nested } = this.#work;
    const named = (kind: keyof typeof nodeTypes): TaskNode => ({ nodeType: nodeTypes[kind], nodeName: this.#name });
    if (decision !== undefined) return { ...named("decision"), nodeParams: decision };
    if (nested !== undefined) {
      const version = isCodeWorkflow(nested) ? { workflowVersion: nested.version } : {};
      return { ...named("nested"), workflowName: typeof nested === "string" ? nested : nested.name, ...version };
    }

    // The items of a map without params are its params.
    const checked = this.#map !== undefined && job?.params === undefined ? undefined : job?.job;
    const text = paramsText({ taskName: this.#name, job: checked, params: job?.params });
    const node: TaskNode = { ...named("job"), jobName: job?.name ?? "", ...this.#itemFields() };
    return text === undefined ? node : { ...node, nodeParams: text };
  }

  #itemFields(): Pick<TaskNode, "executeType" | "map" | "broadcast"> {
    const broadcast = this.#broadcastSpec();
    if (broadcast !== undefined) return { executeType: "BROADCAST", broadcast };
    const map = this.#mapSpec();
    if (map === undefined) return {};
    return { executeType: map.reduce === undefined ? "MAP" : "MAP_REDUCE", map: copyMap(map, this.#name) };
  }

  #mapSpec(): MapSpec | undefined {
    if (this.#map === undefined) return undefined;
    return {
      ...this.#map,
      ...(this.#source !== undefined && { source: nodeJob(this.#source, this.#name) }),
      ...(this.#reduce !== undefined && { reduce: nodeJob(this.#reduce, this.#name) }),
    };
  }

  #broadcastSpec(): BroadcastSpec | undefined {
    if (this.#broadcast === undefined) return undefined;
    const { before, after, ...limits } = this.#broadcast;
    return {
      ...limits,
      ...(before !== undefined && { before: nodeJob(before, this.#name) }),
      ...(after !== undefined && { after: nodeJob(after, this.#name) }),
    };
  }

  /** Leaves defaults out of the node, except the timeout: a file without one means an hour. */
  #settingFields(): TaskNode {
    const fields: TaskNode = { ...this.#timeout };
    if (this.#heartbeatTimeout !== undefined) fields.heartbeatTimeoutSeconds = this.#heartbeatTimeout;
    if (this.#retryCount > 0) fields.retryCount = this.#retryCount;
    if (this.#retryPolicy !== undefined) fields.retryPolicy = copyRetryPolicy(this.#retryPolicy);
    if (this.#domain !== undefined) fields.domain = this.#domain;
    if (this.#workerTags.length > 0) fields.workerTags = [...new Set(this.#workerTags)];
    if (this.#worker !== undefined) fields.worker = this.#worker;
    if (this.#skipWhenFailed) fields.skipWhenFailed = true;
    if (!this.#enabled) fields.enable = false;
    return fields;
  }

  #check(): void {
    new SettingCheck("TASK_INVALID", "a task").name("its name", this.#name);
    const check = new SettingCheck("TASK_INVALID", `task ${preview(this.#name)}`);
    checkWork(check, this.#work);
    this.#checkItems(check);
    if ("timeoutSeconds" in this.#timeout) check.seconds("timeout", this.#timeout.timeoutSeconds);
    if (this.#heartbeatTimeout !== undefined) check.seconds("heartbeat timeout", this.#heartbeatTimeout);
    check.wholeNumber("retry count", this.#retryCount, 0);
    check.flag("skipWhenFailed", this.#skipWhenFailed);
    check.flag("enabled", this.#enabled);
    if (this.#domain !== undefined) check.name("domain", this.#domain);
    check.names("worker tags", this.#workerTags);
    if (this.#worker !== undefined) check.name("worker", this.#worker);
    if (this.#retryPolicy !== undefined) checkRetryPolicy(check, this.#retryPolicy);
    for (const { name, when } of this.#dependencies) {
      check.name("dependency", name);
      if (when !== undefined && typeof when !== "boolean") check.name("when", when);
    }
  }

  #checkItems(check: SettingCheck): void {
    const map = this.#mapSpec();
    const broadcast = this.#broadcastSpec();
    if (this.#reduce !== undefined && map === undefined) check.refuse("a reduce needs a map: withMap");
    if (map === undefined && broadcast === undefined) return;
    if (map !== undefined && broadcast !== undefined) check.refuse("it is either a map or a broadcast, not both");
    if (this.#work.job === undefined)
      check.refuse("a map runs a job for each item, a broadcast on each worker: give it a job");
    if (broadcast !== undefined && this.#worker !== undefined)
      check.refuse("a broadcast runs on every eligible worker: it designates none");
    const problem = map === undefined ? broadcastProblem(broadcast) : mapProblem(map);
    if (problem !== undefined) check.refuse(problem);
  }
}

function checkWork(check: SettingCheck, work: Work): void {
  const chosen = Object.keys(work).length;
  if (chosen === 0) check.refuse("nothing to do: give it a job, a decision or a nested workflow");
  if (chosen > 1) check.refuse("it can be only one of a job, a decision and a nested workflow");
  if (work.job !== undefined) check.name("job name", work.job.name);
  if ("decision" in work) check.name("decision", work.decision);
  if ("nested" in work)
    check.name("nested workflow", typeof work.nested === "object" ? work.nested?.name : work.nested);
}

/** A job that a task with items runs once, as its node has it. */
function nodeJob(given: OneJob, taskName: string): NodeJob {
  const isPair = typeof given === "object" && given !== null && "job" in given;
  const { job, params }: { job: Job | string; params?: unknown } = isPair ? given : { job: given };
  const isName = typeof job === "string";
  const text = paramsText({ taskName, job: isName || !isJob(job) ? undefined : job, params });
  return { jobName: isName ? job : job?.name, ...(text !== undefined && { nodeParams: text }) };
}

/** The items as JSON has them, without options that were not set. */
function copyMap(map: MapSpec, taskName: string): MapSpec {
  return copyAsJson(map, `the map of task ${preview(taskName)}`) as MapSpec;
}

const retryPolicyNames = {
  initialMs: true,
  factor: true,
  maxMs: true,
  jitter: true,
  nonRetryable: true,
  retryOn: true,
} as const;

export function checkRetryPolicy(check: SettingCheck, policy: Partial<RetryPolicy>): void {
  if (typeof policy !== "object" || policy === null)
    check.refuse(`retry policy must be an object, got ${preview(policy)}`);
  check.options(policy, retryPolicyNames, "the settings of its retry policy");
  const { initialMs, factor, maxMs, jitter, nonRetryable, retryOn } = policy;
  const wait = { min: 0, max: durationMsMax };
  if (initialMs !== undefined) check.numberWithin("retry policy's initialMs", initialMs, wait);
  if (factor !== undefined) check.numberWithin("retry policy's factor", factor, { min: 1, max: Number.MAX_VALUE });
  if (maxMs !== undefined) check.numberWithin("retry policy's maxMs", maxMs, wait);
  if (jitter !== undefined) check.numberWithin("retry policy's jitter", jitter, { min: 0, max: 1 });
  if (nonRetryable !== undefined) check.texts("retry policy's nonRetryable", nonRetryable);
  if (retryOn !== undefined) check.texts("retry policy's retryOn", retryOn);
}

/** Removes keys with `undefined`, which would hide defaults. */
function copyRetryPolicy(policy: Partial<RetryPolicy>): Partial<RetryPolicy> {
  return Object.fromEntries(Object.entries(structuredClone(policy)).filter(([, value]) => value !== undefined));
}

/** Removes duplicate dependencies. */
function distinct(dependencies: readonly { name: string; when?: string | boolean | undefined }[]): Dependency[] {
  const byText = new Map<string, Dependency>();
  for (const { name, when } of dependencies) {
    const dependency = when === undefined ? { name } : { name, when: String(when) };
    byText.set(JSON.stringify(dependency), dependency);
  }
  return [...byText.values()];
}
