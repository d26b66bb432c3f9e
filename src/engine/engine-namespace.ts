import type { CodeWorkflow } from "../authoring/code-workflow.ts";
import {
  defineJob,
  type Job,
  type JobFunction,
  type JobOptions,
  type JobOptionsWithInput,
  type ParamsArgument,
} from "../authoring/job.ts";
import type { Jsonified } from "../authoring/jsonified.ts";
import type { Task } from "../authoring/task.ts";
import { Workflow } from "../authoring/workflow.ts";
import { assert } from "../base/assert.ts";
import { EngineError } from "../base/error.ts";
import { toJsonText } from "../base/json-text.ts";
import { preview } from "../base/preview.ts";
import { localName, qualify } from "../base/namespace.ts";
import type { MemberEvent } from "../cluster/member-event.ts";
import type { MemberView } from "../cluster/member-view.ts";
import { checkName } from "../code/step-check.ts";
import { parseOptional, textOf } from "../code/values.ts";
import type { DomainOverview } from "../dispatch/dispatcher.ts";
import type { Link, LinkListener } from "../dispatch/link.ts";
import type { EndStatus } from "../kernel/status.ts";
import { type RecordedHistory, recordHistory } from "../runtime/recorded-history.ts";
import type { InstanceFilter, InstanceSummary } from "../stores/store.ts";
import type { TaskAttempt } from "../views/attempt-view.ts";
import type { Breakpoint } from "../views/breakpoint.ts";
import type { ItemFilter, MapItemPage } from "../views/item-view.ts";
import type { InstanceView, TaskDetails } from "../views/instance-view.ts";
import { subTaskNode } from "../worker/sub-task-node.ts";
import {
  checkFilter,
  checkFork,
  checkInstanceId,
  checkItemPage,
  checkListener,
  checkPage,
  checkPatch,
  checkPauseOptions,
  checkPurge,
  checkQueueFilter,
  checkReason,
  checkRerun,
  checkRunJobOptions,
  checkSignal,
  checkStartOptions,
  checkStopOptions,
  checkSubmitOptions,
  checkSubscription,
  checkTask,
  checkUpdateId,
  checkUpdateOptions,
} from "./argument-check.ts";
import type { Assembly } from "./assembly.ts";
import { ClusterOverview } from "./cluster-overview.ts";
import { CodeForks } from "./code-forks.ts";
import { CodeStarts } from "./code-starts.ts";
import { Completions } from "./completions.ts";
import type { Executor } from "./executor.ts";
import { beforeTask } from "./forked-events.ts";
import { type HistoryEntry, InstanceCalls } from "./instance-calls.ts";
import type { InstanceChange } from "./instance-change.ts";
import type { InstanceOperations } from "./instance-operations.ts";
import { InstanceStarts } from "./instance-starts.ts";
import { taskOptionsOf } from "./job-workflow.ts";
import { listInstances } from "./list-instances.ts";
import {
  domainViews,
  type JobView,
  jobViews,
  type QueuedTask,
  type QueueFilter,
  type StuckInstance,
  type WorkerView,
  type WorkflowView,
} from "./overview.ts";
import { ownStuck, ownWorkers } from "./member-requests.ts";
import type { NamespaceParts } from "./namespace-parts.ts";
import { Purging } from "./purging.ts";
import { countQueue, queuePage } from "./queue.ts";
import { Schedules } from "./schedules.ts";
import {
  noOptions,
  type PauseOptions,
  type RaisedData,
  type RunJobOptions,
  type StartOptions,
  type SubmitOptions,
} from "./start-options.ts";
import { jsonTexts, type WorkflowProblem } from "./submission.ts";
import { type SubscribeOptions, type Subscription, Subscriptions } from "./subscriptions.ts";
import { UpdateFailed } from "./update-failed.ts";
import { WorkflowController } from "./workflow-controller.ts";
import { WorkflowHandle } from "./workflow-handle.ts";

/**
 * The interface of an engine in one namespace. Instances, workflows, jobs, schedules and domains of other namespaces cannot be
 * seen or changed here. Methods that change something resolve when the change is durable. Made by `Engine`.
 */
export class EngineNamespace extends Completions implements InstanceOperations {
  readonly executor: Executor;
  readonly schedules: Schedules;
  /** Queues and workers of all members. */
  readonly cluster: ClusterOverview;
  readonly #parts: Assembly;
  readonly #own: NamespaceParts;
  readonly #instances: InstanceCalls;
  readonly #starts: InstanceStarts;
  readonly #codeStarts: CodeStarts;
  readonly #forks: CodeForks;
  readonly #purging: Purging;
  readonly #subscriptions: Subscriptions;

  constructor(parts: Assembly, own: NamespaceParts) {
    const { state, calls, outage, definitions } = parts;
    const { namespace, submission, registration, code } = own;
    const { storage: store, clock, random, app } = parts.options;
    const instances = new InstanceCalls({ namespace, state, calls, outage, store });
    super(namespace, parts.completionTokens, instances);
    this.#parts = parts;
    this.#own = own;
    this.executor = own.executor;
    this.#instances = instances;
    this.#starts = new InstanceStarts({ namespace, app, state, clock, random, submission, calls, outage });
    this.#forks = new CodeForks({ namespace, app, store, definitions, calls });
    this.#codeStarts = new CodeStarts({ namespace, app, state, code, submission, calls, instances: this.#instances });
    this.#purging = new Purging(namespace, this.#instances, calls);
    this.#subscriptions = new Subscriptions(parts, namespace, this.#instances);
    this.cluster = new ClusterOverview(parts, namespace);
    this.schedules = new Schedules({ engine: this, clock, registration, submission });
  }

  /**
   * Registers a job: the result of `defineJob`, or its arguments. Returns the job's id: its name and a hash of its
   * parameters. `JOB_DUPLICATE`, `JOB_INVALID`.
   */
  registerJobFunction(job: Job): string;
  registerJobFunction<Params, Output, Input = Params>(
    name: string,
    fn: JobFunction<Params, Output>,
    options?: JobOptions | JobOptionsWithInput<Input, Params>,
  ): string;
  registerJobFunction(jobOrName: Job | string, fn?: JobFunction<unknown, unknown>, options: JobOptions = {}): string {
    const job = typeof jobOrName === "string" ? defineJob(jobOrName, options, fn as Job["fn"]) : jobOrName;
    return this.#own.registration.registerJob(job);
  }

  /** Starts an instance of a DAG; it is durable when this resolves. `INSTANCE_EXISTS`, `JOB_MISSING`, `WORKFLOW_INVALID`. */
  async submitWorkflow(workflow: Workflow, options: SubmitOptions = noOptions): Promise<WorkflowController> {
    this.#parts.state.refuseUnlessReady();
    checkSubmitOptions(options);
    const id = options.instanceId ?? this.#starts.newId();
    await this.#starts.submit(id, workflow, options);
    return this.#controller(id, workflow);
  }

  /**
   * Runs a registered job by itself: starts an instance of workflow `job:<name>` whose only task has the job's name. The
   * instance is durable when this resolves. `JOB_MISSING`, `PARAMS_INVALID`, `INSTANCE_EXISTS`.
   */
  async runJob(job: string, params?: unknown, options?: RunJobOptions): Promise<WorkflowController>;
  async runJob<Params, Output, Input>(
    job: Job<Params, Output, Input>,
    ...given: [...ParamsArgument<Input>, options?: RunJobOptions]
  ): Promise<WorkflowController>;
  async runJob(job: Job | string, params?: unknown, options: RunJobOptions = {}): Promise<WorkflowController> {
    this.#parts.state.refuseUnlessReady();
    checkRunJobOptions(options);
    const { context, ...start } = options;
    const { jobRuns } = this.#own.registration;
    const { workflow, taskParams } = await jobRuns.prepare(job, params, taskOptionsOf(options));
    const id = options.instanceId ?? this.#starts.newId();
    const given = { ...start, ...(context !== undefined && { params: context }) };
    await this.#starts.submit(id, workflow, given, taskParams);
    return this.#controller(id, workflow);
  }

  /**
   * Registers a workflow, in addition to the option `workflows`. Instances that wait for its code continue. A DAG
   * replaces the one that had its name, even if it is then refused because it cannot run here. `WORKFLOW_DUPLICATE`,
   * `WORKFLOW_INVALID`, and for a DAG the errors of `submitWorkflow`.
   */
  async registerWorkflow(workflow: Workflow | CodeWorkflow): Promise<void> {
    await this.#own.registration.registerWorkflow(workflow);
  }

  /**
   * Throws what `submitWorkflow` would, without registering the workflow. Errors about something that may still come
   * (`JOB_MISSING`, `DOMAIN_UNKNOWN`, `WORKFLOW_UNKNOWN`) are thrown only if nothing else is wrong. With a listener, every
   * error of a DAG is reported to it instead, with the task that it is about.
   */
  async checkWorkflow(
    workflow: Workflow | CodeWorkflow,
    onProblem?: (problem: WorkflowProblem) => void,
  ): Promise<void> {
    this.#parts.state.refuseUnlessUp();
    await this.#own.submission.check(workflow, onProblem);
  }

  /** Removes a DAG from those that can be started by name. Its instances continue. */
  forgetWorkflow(name: string): void {
    this.#own.submission.forget(name);
  }

  /** Finds a workflow that this process can start by name. */
  findWorkflow(name: string): Workflow | CodeWorkflow | undefined {
    return this.#own.submission.find(name);
  }

  /** Lists the workflows that this process can start by name, but for the engine's own. */
  listWorkflows(): WorkflowView[] {
    return this.#own.registration.listWorkflows();
  }

  /**
   * Starts an instance of a code workflow; it is durable when this resolves. `INPUT_INVALID`, `INSTANCE_EXISTS`,
   * `WORKFLOW_UNKNOWN`.
   */
  async startWorkflow<Params, Output, Input>(
    workflow: CodeWorkflow<Params, Output, Input>,
    ...[input, options]: [...ParamsArgument<Input>, options?: StartOptions]
  ): Promise<WorkflowHandle<Jsonified<Awaited<Output>>>> {
    const given = (options ?? noOptions) as StartOptions;
    if (given !== noOptions) checkStartOptions(given);
    const { instanceId, reuse = false, whenActive = "refuse", traceparent, app } = given;
    const id = instanceId ?? this.#starts.newId();
    if (instanceId !== undefined && whenActive !== "refuse") {
      await this.#codeStarts.startOverActive(workflow, input, { id, reuse, whenActive, traceparent, app });
      return new WorkflowHandle(this, id);
    }
    await this.#codeStarts.start(workflow, input, { id, isGivenId: instanceId !== undefined, reuse, traceparent, app });
    return new WorkflowHandle(this, id);
  }

  /**
   * Raises an event for the instance of that id. If there is none, or it has ended, starts one that has received the
   * event before its code runs.
   */
  async signalWithStart<Params, Output, Input>(
    workflow: CodeWorkflow<Params, Output, Input>,
    options: { readonly instanceId: string; readonly input?: Input; readonly event: RaisedData },
  ): Promise<WorkflowHandle<Jsonified<Awaited<Output>>>> {
    checkSignal(options);
    const { instanceId: id, input, event } = options;
    await this.#codeStarts.startOrRaise(workflow, input, { id, event });
    return new WorkflowHandle(this, id);
  }

  /**
   * Starts a new instance with the history of this one up to where its code scheduled the given task, which is scheduled
   * again. Tasks are numbered from 0, in the order in which the code scheduled them. `TASK_UNKNOWN`, `INSTANCE_STATE`.
   */
  async forkWorkflowInstance<Output = unknown>(
    instanceId: string,
    options: { readonly fromTask: number; readonly instanceId?: string },
  ): Promise<WorkflowHandle<Output>> {
    checkFork(options);
    const identity = await this.#instances.read({ type: "GetIdentity", id: instanceId });
    const { instanceId: id = this.#starts.newId(), fromTask } = options;
    const given = { id, isGivenId: options.instanceId !== undefined, choose: beforeTask(instanceId, fromTask) };
    await this.#forks.fork({ id: instanceId, ...identity }, given);
    return new WorkflowHandle(this, id);
  }

  /** Returns the handle of an instance of code, started by this engine or in an earlier run. `INSTANCE_UNKNOWN`. */
  async getWorkflowHandle<Output = unknown>(instanceId: string): Promise<WorkflowHandle<Output>> {
    await this.#instances.read({ type: "GetIdentity", id: instanceId });
    return new WorkflowHandle(this, instanceId);
  }

  /** Raises an event for the code of an instance; it is kept until the code waits for it. `INSTANCE_STATE` after the end. */
  async raiseEvent(instanceId: string, name: string, data?: unknown): Promise<void> {
    checkName("an event", name);
    const text = textOf(data, `the data of event "${name}"`);
    await this.#instances.change({
      type: "RaiseEvent",
      id: instanceId,
      name,
      ...(text !== undefined && { data: text }),
    });
  }

  /** Runs a query handler of the code, which reads its variables; also after its end. `HANDLER_UNKNOWN`, `HANDLER_FAILED`. */
  async queryWorkflowInstance<Answer = unknown>(instanceId: string, query: string, input?: unknown): Promise<Answer> {
    this.#parts.state.refuseUnlessUp();
    checkInstanceId(instanceId);
    checkName("a query", query);
    const text = toJsonText(input, `the input of query "${query}"`);
    const given = text === undefined ? {} : { input: text };
    return parseOptional(await this.#instances.read({ type: "QueryCode", id: instanceId, query, ...given })) as Answer;
  }

  /**
   * Runs an update handler of the code and returns its result. The same `updateId` again is the same update.
   * `HANDLER_UNKNOWN`; `INPUT_INVALID` if the handler's validator refuses the input; throws `UpdateFailed`
   * (`HANDLER_FAILED`) if the handler throws.
   */
  async updateWorkflowInstance<Answer = unknown>(
    instanceId: string,
    name: string,
    input?: unknown,
    options: { readonly updateId?: string } = {},
  ): Promise<Answer> {
    checkUpdateOptions(options);
    const update = options.updateId ?? this.#starts.newId();
    checkName("an update", name);
    checkUpdateId(update);
    const text = textOf(input, `the input of update "${name}"`);
    const data = text === undefined ? {} : { data: text };
    await this.#instances.change({ type: "RequestUpdate", id: instanceId, update, name, ...data });
    const { key, answer } = await this.#parts.calls.awaitUpdate(this.#qualify(instanceId), update);
    if (answer.failure !== undefined) throw new UpdateFailed(name, answer.failure);
    return (await this.#instances.readPayload(key, answer.output)) as Answer;
  }

  /** Asks the code to end: what it waits for is canceled, and its saga is compensated. */
  async cancelWorkflowInstance(instanceId: string, reason = "canceled by user"): Promise<void> {
    checkReason(reason);
    await this.#instances.change({ type: "CancelInstance", id: instanceId, reason });
  }

  /** Returns the controller of a DAG instance, started by this engine or in an earlier run. `INSTANCE_UNKNOWN`, `INSTANCE_STATE`. */
  async getWorkflowController(instanceId: string): Promise<WorkflowController> {
    const { workflow, version } = await this.#instances.read({ type: "GetIdentity", id: instanceId });
    const { kind, name, spec } = await this.#parts.definitions.load(workflow, version);
    if (kind === "dag") return this.#controller(instanceId, Workflow.fromJSON(spec, { name: localName(name) }));
    throw new EngineError(
      "INSTANCE_STATE",
      `instance "${instanceId}" is a code workflow: getWorkflowHandle gives what it can be asked`,
    );
  }

  #controller(instanceId: string, definition: Workflow): WorkflowController {
    return new WorkflowController({
      engine: this,
      region: this.#parts.region,
      namespace: this.namespace,
      instanceId,
      definition,
      live: this.#subscriptions.live(instanceId),
    });
  }

  /**
   * Waits for the end, and returns the outputs of a DAG by task name, or the result of code. Throws `WorkflowFailed` or
   * `WorkflowTerminated`; `RESULT_TOO_LARGE` if the outputs together pass 64 MB: `getTaskOutput` reads one.
   */
  awaitWorkflowInstance<Result = Record<string, unknown>>(instanceId: string): Promise<Result> {
    return this.#instances.awaitResult(instanceId) as Promise<Result>;
  }

  /** Returns the output of one task of a DAG, also while others run. `TASK_UNKNOWN` if no task of that name has succeeded with an output. */
  getTaskOutput(instanceId: string, task: string): Promise<unknown> {
    return this.#instances.readTaskOutput(instanceId, task);
  }

  /** Returns the status of an instance and of its tasks. `INSTANCE_UNKNOWN`. */
  getWorkflowInstanceStatus(instanceId: string): Promise<InstanceView> {
    return this.#instances.read({ type: "GetStatus", id: instanceId });
  }

  /** Returns completed and running tasks, the DAG and the context of an instance, at any time. */
  getWorkflowInstanceBreakpoint(instanceId: string): Promise<Breakpoint> {
    return this.#instances.readBreakpoint(instanceId);
  }

  /** Returns the turns of an instance, oldest first. */
  async getWorkflowInstanceHistory(
    instanceId: string,
    page: { afterTurn?: number; limit?: number } = {},
  ): Promise<HistoryEntry[]> {
    checkPage(page);
    const { afterTurn = -1, limit = 1000 } = page;
    return await this.#instances.readHistory(instanceId, { afterTurn, limit });
  }

  /**
   * Returns every attempt of the tasks of an instance, by task, generation and attempt, folded from its history. `INSTANCE_UNKNOWN`,
   * `WORKFLOW_UNKNOWN`.
   */
  listTaskAttempts(instanceId: string): Promise<TaskAttempt[]> {
    return this.#instances.listAttempts(instanceId);
  }

  /** Returns the whole history of an instance of code, large values included, for `replayWorkflow` of `heddle/testing`. `INSTANCE_UNKNOWN`. */
  async exportWorkflowInstanceHistory(instanceId: string): Promise<RecordedHistory> {
    const { key } = await this.#instances.read({ type: "GetIdentity", id: instanceId });
    return await recordHistory(this.#parts.options.storage, { id: this.#qualify(instanceId), key });
  }

  /** Lists instances, newest first. */
  async listWorkflowInstances(filter: Partial<InstanceFilter> = {}): Promise<InstanceSummary[]> {
    this.#parts.state.refuseUnlessUp();
    checkFilter(filter);
    return await listInstances(this.#parts.options.storage, this.namespace, { limit: 100, ...filter });
  }

  /** Starts no new task of the instance; running ones finish. `INSTANCE_STATE`, like all operations that the status does not allow. */
  async pauseWorkflowInstance(instanceId: string, options: PauseOptions = {}): Promise<void> {
    checkPauseOptions(options);
    await this.#instances.change({ type: "PauseInstance", id: instanceId, ...options });
  }

  /** Resumes a paused instance, and puts a quarantined one back into service. */
  resumeWorkflowInstance(instanceId: string): Promise<void> {
    return this.#instances.change({ type: "ResumeInstance", id: instanceId });
  }

  /** Ends an instance at once; running jobs get the abort signal. */
  async terminateWorkflowInstance(instanceId: string, reason = "terminated by user"): Promise<void> {
    checkReason(reason);
    await this.#instances.change({ type: "TerminateInstance", id: instanceId, reason });
  }

  /** Runs failed, stopped and canceled tasks of an ended instance again; successful ones stay. */
  retryWorkflowInstance(instanceId: string): Promise<void> {
    return this.#instances.change({ type: "RetryInstance", id: instanceId });
  }

  /** Runs the task and everything downstream of it again, with other parameters if given. */
  async rerunWorkflowInstance(instanceId: string, taskName: string, options: { params?: unknown } = {}): Promise<void> {
    checkRerun(options);
    const params = options.params === undefined ? {} : { params: textOfParams(taskName, options.params) };
    await this.#instances.change({ type: "RerunInstance", id: instanceId, task: taskName, ...params });
  }

  /** Treats a failed task as succeeded, with the given output; the instance continues. */
  async succeedTask(instanceId: string, taskName: string, output?: unknown): Promise<void> {
    const text = toJsonText(output, `the output for task "${taskName}"`);
    const given = text === undefined ? {} : { output: text };
    await this.#instances.change({ type: "SucceedTask", id: instanceId, task: taskName, ...given });
  }

  /** Treats a failed task as skipped; the instance continues. */
  skipTask(instanceId: string, taskName: string): Promise<void> {
    return this.#instances.change({ type: "SkipTask", id: instanceId, task: taskName });
  }

  /**
   * Stops one task that runs, or waits for a slot or its retry: its signal aborts, a nested instance is terminated, the
   * task is `Stopped` and counts as failed. The code of a code workflow sees a failure of type `TASK_STOPPED`. A task is
   * given by its name or its number. `TASK_STATE`, `TASK_UNKNOWN`; `TASK_INVALID` if code runs several of that name.
   */
  async stopTask(instanceId: string, task: string | number, options: { reason?: string } = {}): Promise<void> {
    checkTask(task);
    checkStopOptions(options);
    const { reason = "stopped by user" } = options;
    await this.#instances.change({ type: "StopTask", id: instanceId, task, reason });
  }

  /** Returns one task, by name or number; of several with that name, which only code has, the last. `TASK_UNKNOWN`. */
  async getTask(instanceId: string, task: string | number): Promise<TaskDetails> {
    this.#parts.state.refuseUnlessUp();
    checkInstanceId(instanceId);
    checkTask(task);
    return await this.#instances.read({ type: "GetTask", id: instanceId, task });
  }

  /**
   * Returns a page of the items of a map, in order, with their results; of one status if that is given. `from` is `next` of
   * the page before. `TASK_UNKNOWN`, `TASK_INVALID` for a task that is no map.
   */
  async listMapItems(instanceId: string, task: string | number, page: Partial<ItemFilter> = {}): Promise<MapItemPage> {
    checkTask(task);
    checkItemPage(page);
    return await this.#instances.listItems(instanceId, task, { from: 0, limit: 100, ...page });
  }

  /** Merges the patch into the context: top-level keys overwrite, null removes. `CONTEXT_TOO_LARGE`. */
  async updateContext(instanceId: string, patch: Readonly<Record<string, unknown>>): Promise<void> {
    checkPatch(patch);
    const removed = Object.keys(patch).filter((key) => patch[key] === null);
    const texts = { ...jsonTexts(patch, "the context"), ...Object.fromEntries(removed.map((key) => [key, null])) };
    await this.#instances.change({ type: "UpdateContext", id: instanceId, patch: texts });
  }

  /** Replaces the parameters of a task that is `Pending`. `TASK_STATE`. */
  async updateTaskParams(instanceId: string, taskName: string, params: unknown): Promise<void> {
    const text = textOfParams(taskName, params);
    await this.#instances.change({ type: "UpdateParams", id: instanceId, task: taskName, params: text });
  }

  /** Adds a task to a running instance: it waits for its parent, and successors of the parent wait for it. */
  async addSubTask(instanceId: string, task: Task, parentName: string): Promise<void> {
    this.#parts.state.refuseUnlessUp();
    const [node] = await this.#own.registration.checkSubTasks([subTaskNode(task, parentName)], parentName);
    assert(node !== undefined, "a sub-task that passed its checks is given back");
    await this.#instances.change({ type: "AddSubTask", id: instanceId, parent: parentName, node });
  }

  /**
   * Removes ended instances and everything about them, in all generations of an id; returns how many were removed.
   * `onPurged` is called with each id that is gone, including those that the instance started. `INSTANCE_STATE` for an
   * instance that has not ended.
   */
  async purgeWorkflowInstances(
    which:
      | { instanceId: string; recursive?: boolean; onPurged?: (instanceId: string) => void }
      | { status: EndStatus; endedBefore: number },
  ): Promise<number> {
    this.#parts.state.refuseUnlessUp();
    checkPurge(which);
    if ("status" in which) return await this.#parts.maintenance.purgeEnded(this.namespace, which);
    const { instanceId, recursive = false, onPurged } = which;
    return await this.#purging.purge(instanceId, { recursive, onPurged });
  }

  /** Calls the listener after every durable change of one instance, or of all of the namespace, whichever member commits it: each turn once, those of an instance in order. Returns a function that unsubscribes. */
  subscribe(listener: (change: InstanceChange) => void, options: SubscribeOptions = {}): Subscription {
    checkSubscription(listener, options);
    return this.#subscriptions.subscribe(listener, options);
  }

  /**
   * Accepts the connection of a worker in a process of its own; messages from it go to the returned listener. `principal`
   * names the identity that it was authenticated as: only workers of the same principal can take over its id, or bring
   * along attempts that it ran. `OPTION_INVALID`.
   */
  acceptWorker(link: Link, options: { readonly principal?: string } = {}): LinkListener {
    const { state, member, loneWorkers } = this.#parts;
    state.refuseUnlessUp();
    const listener = (member ?? loneWorkers)?.acceptWorker(link, { ...options, namespace: this.namespace });
    if (listener !== undefined) return listener;
    throw new EngineError("OPTION_INVALID", 'workers can connect only to an engine with the option "remoteWorkers"');
  }

  /**
   * Lists tasks that run in this process, and tasks that wait for anything but their predecessors: a slot, a domain, a
   * job, the limit of their instance or workflow, their next attempt, a resumption. At most `limit` of each, 1000 by
   * default; `health` has the full counts, and `cluster` the tasks of all members.
   */
  async listQueuedTasks(filter: QueueFilter = {}): Promise<QueuedTask[]> {
    this.#parts.state.refuseUnlessUp();
    checkQueueFilter(filter);
    const { state, limit = 1000 } = filter;
    const states = state === undefined ? (["waiting", "running"] as const) : [state];
    const pages = states.map((each) => queuePage(this.#parts, { namespace: this.namespace, state: each, limit }));
    return (await Promise.all(pages)).flat();
  }

  /**
   * Lists instances of this process that have something under way and have made no progress for that long, by default the
   * option `stuckMs`. Instances that wait for a time or an event are not stuck.
   */
  listStuckInstances({ forMs = this.#parts.options.stuckMs }: { forMs?: number } = {}): StuckInstance[] {
    this.#parts.state.refuseUnlessUp();
    return ownStuck(this.#parts, { namespace: this.namespace, forMs });
  }

  /** Lists the jobs on record, wherever their functions are, and those that workers have announced. */
  async listJobs(): Promise<JobView[]> {
    const { state, options, announcements } = this.#parts;
    state.refuseUnlessUp();
    await announcements.learn();
    return jobViews(await options.storage.loadJobs(), this.#own.registry, this.namespace);
  }

  /** Lists the domains of the namespace, and `default`, the highest priority first. */
  listDomains(): DomainOverview[] {
    return domainViews(this.#parts.dispatcher, this.namespace);
  }

  /** Lists the workers of this process: its own pool, and the remote workers of the namespace that are connected to it. */
  listWorkers(): WorkerView[] {
    return ownWorkers(this.#parts, this.namespace);
  }

  /**
   * Makes a remote worker of the namespace take no new tasks; resolves when those that run there have ended. Waiting
   * tasks run on other workers. `WORKER_UNKNOWN`.
   */
  async drainWorker(worker: string): Promise<void> {
    const { state, dispatcher } = this.#parts;
    state.refuseUnlessUp();
    const isOwn = this.listWorkers().some(({ address, isRemote }) => isRemote && address === worker);
    if (isOwn && (await dispatcher.drainWorker(worker))) return;
    throw new EngineError("WORKER_UNKNOWN", `no worker ${preview(worker)} is connected to this process`);
  }

  /** The tasks of the namespace that run in this process, and those that wait for anything but their predecessors. */
  countTasks(): { readonly running: number; readonly waiting: number } {
    const { running, waiting } = countQueue(this.#parts, this.namespace);
    return { running: running.total, waiting: waiting.total };
  }

  /** Lists the members of the cluster, as this one sees them; none if there is no cluster. */
  members(): MemberView[] {
    const { state, member } = this.#parts;
    return state.stage === "stopped" ? [] : (member?.members() ?? []);
  }

  /** Calls the listener when members join, leave, fall silent or take over. Returns a function that unsubscribes. */
  onMemberEvent(listener: (event: MemberEvent) => void): () => void {
    checkListener("onMemberEvent", listener);
    return this.#parts.member?.onEvent(listener) ?? (() => undefined);
  }

  #qualify(instanceId: string): string {
    return qualify(this.namespace, instanceId);
  }
}

/** Returns the parameters as JSON; an empty text if there are none. */
function textOfParams(taskName: string, params: unknown): string {
  return toJsonText(params, `params for task ${preview(taskName)}`) ?? "";
}
