import { EngineError } from "../../base/error.ts";
import type { InstanceAddress, ParentAddress } from "../address.ts";
import type { TellParent } from "../command.ts";
import { Context } from "../context.ts";
import type { ContextPatch, Event, Execution } from "../event.ts";
import type { Failure } from "../failure.ts";
import type { ChildEnded, DecisionEvaluated, Input, NodeCompleted, Outcome, StartWorkflow } from "../input.ts";
import type { Machine, MachineLimits } from "../machine.ts";
import { type Payload, payloadBytesMax } from "../payload.ts";
import { isRetryable, retryDelayMs } from "../retry.ts";
import { type EndStatus, hasEnded, type InstanceStatus } from "../status.ts";
import type { Turn } from "../turn.ts";
import { DagState } from "./dag-state.ts";
import type { NodeSpec } from "./dag-spec.ts";
import { edgesNotTaken } from "./decision.ts";
import { descendants } from "./descendants.ts";
import type { Graph } from "./graph.ts";
import { type Reopening, rerun, retry, settle } from "./reopening.ts";
import { admitSubTasks } from "./sub-tasks.ts";
import { isFinished, isInFlight, Phase, statusOf } from "./task-state.ts";

const defaultMaxConcurrentTasks = 5;

/** Above this many instances, a definition that nests without end is stopped. */
const nestingDepthMax = 32;

/**
 * Decides what a DAG instance does about each message: a message becomes events, events become state, and what the state
 * now allows (`#advance`) becomes more events and commands.
 */
export class DagMachine implements Machine {
  readonly state: DagState;
  readonly #id: string;
  readonly #key: number;
  readonly #limits: MachineLimits;

  constructor(graph: Graph, id: string, key: number, limits: MachineLimits) {
    this.state = new DagState(graph);
    this.#id = id;
    this.#key = key;
    this.#limits = limits;
  }

  get address(): InstanceAddress {
    return { id: this.#id, key: this.#key, generation: this.state.generation };
  }

  get status(): InstanceStatus {
    return this.state.status;
  }

  apply(event: Event, at: number): void {
    this.state.apply(event, at);
  }

  nextWake(): number | undefined {
    const { status, pausing, deadline, retryWaits } = this.state;
    if (hasEnded(status)) return undefined;
    let wake = deadline ?? Infinity;
    if (status === "Running" && !pausing) {
      for (const task of retryWaits) wake = Math.min(wake, this.state.record(task)?.retryAt ?? Infinity);
    }
    return wake === Infinity ? undefined : wake;
  }

  /** Tasks that the dispatcher should know of; after a restart they are handed to it again. */
  jobsInFlight(): number[] {
    if (this.state.jobsInFlight === 0) return [];
    return this.#tasksInFlight().filter((task) => this.state.definition(task).kind === "job");
  }

  handle(input: Input, turn: Turn): void {
    switch (input.type) {
      case "StartWorkflow":
        return this.#start(input, turn);
      case "AdmitWorkflow":
        return this.#admit(turn);
      case "NodeStarted":
        if (!this.#isCurrent(input)) return void turn.dropped++;
        if (this.state.phase(input.task) === Phase.running) return;
        const { task, attempt, worker, startedAt } = input;
        return this.#emit(turn, { type: "TaskStarted", task, attempt, worker, startedAt });
      case "NodeCompleted":
        return this.#complete(input, turn);
      case "NodesWithdrawn":
        return this.#withdrawn(input.runs, turn);
      case "DecisionEvaluated":
        return this.#decided(input, turn);
      case "ChildEnded":
        return this.#childEnded(input, turn);
      case "TimerDue":
        return this.#wake(turn);
      default:
        return this.#request(input, turn);
    }
  }

  /** What users ask for: refused when the state does not allow it. */
  #request(input: UserRequest, turn: Turn): void {
    switch (input.type) {
      case "PauseWorkflow":
        return this.#pause(turn);
      case "ResumeWorkflow":
        return this.#resume(turn);
      case "CancelWorkflow":
        this.#refuseIfEnded("terminate");
        return this.#end(turn, "Terminated", input.reason);
      case "RetryWorkflow":
        return this.#reopen(turn, { ...retry(this.state), ...(input.parent && { parent: input.parent }) });
      case "RerunWorkflow":
        return this.#reopen(turn, rerun(this.state, input.task, input.params));
      case "SucceedNode": {
        const output = input.output === undefined ? {} : { output: input.output };
        return this.#reopen(turn, settle(this.state, { task: input.task, status: "Success", ...output }));
      }
      case "SkipNode":
        return this.#reopen(turn, settle(this.state, { task: input.task, status: "Skipped" }));
      case "UpdateContext":
        return this.#updateContext(input.patch, turn);
      case "UpdateParams":
        return this.#updateParams(input.task, input.params, turn);
      case "AddSubTask":
        return this.#addSubTask(input.parent, input.node, turn);
    }
  }

  #emit(turn: Turn, event: Event): void {
    turn.events.push(event);
    this.state.apply(event, turn.at);
  }

  // Life cycle

  #start(input: StartWorkflow, turn: Turn): void {
    const context = Context.of(input.context);
    refuseTooLarge(context, `the start context of workflow "${input.workflow}"`);
    if ((input.parent?.depth ?? 0) > nestingDepthMax) {
      throw new EngineError("NESTING_TOO_DEEP", `workflow "${input.workflow}" is nested more than ${nestingDepthMax} deep`);
    }
    this.#emit(turn, {
      type: "InstanceCreated",
      workflow: input.workflow,
      version: input.version,
      generation: input.generation,
      context: input.context,
      maxConcurrentTasks:
        input.maxConcurrentTasks ??
        concurrencyIn(context) ??
        this.state.graph.maxConcurrentTasks ??
        defaultMaxConcurrentTasks,
      trigger: input.trigger,
      ...(input.parent && { parent: input.parent }),
    });
    if (input.admission === "queue") return;
    if (input.admission === "run") return this.#admit(turn);
    this.#end(turn, input.admission.refuse === "fail" ? "Failed" : "Terminated", input.admission.reason);
  }

  #admit(turn: Turn): void {
    if (this.state.status !== "Ready") return void turn.dropped++;
    this.#emit(turn, { type: "InstanceStarted", ...this.#newDeadline(turn) });
    this.#advance(turn);
  }

  #newDeadline(turn: Turn): { deadline?: number } {
    const { timeoutMs } = this.state.graph;
    return timeoutMs === undefined ? {} : { deadline: turn.at + timeoutMs };
  }

  #pause(turn: Turn): void {
    if (this.state.status !== "Running" || this.state.pausing) throw this.#refusal("pause");
    this.#emit(turn, { type: "PauseRequested" });
    this.#withdrawScheduled(turn);
    this.#tellChildren(turn, { type: "PauseWorkflow" });
    this.#conclude(turn);
  }

  #resume(turn: Turn): void {
    if (this.state.status !== "Paused" && !this.state.pausing) throw this.#refusal("resume");
    this.#emit(turn, { type: "InstanceResumed" });
    this.#tellChildren(turn, { type: "ResumeWorkflow" });
    this.#wake(turn);
  }

  #end(turn: Turn, status: EndStatus, reason?: string): void {
    const stopped = this.#tasksInFlight();
    const jobs = stopped.filter((task) => this.state.definition(task).kind === "job");
    if (jobs.length > 0) turn.commands.push({ type: "AbortTasks", tasks: jobs });
    this.#tellChildren(turn, { type: "CancelWorkflow", reason: reason ?? `parent instance ended in ${status}` });
    if (stopped.length > 0) this.#emit(turn, { type: "TasksStopped", tasks: stopped });
    this.#emit(turn, { type: "InstanceEnded", status, ...(reason !== undefined && { reason }) });
    if (this.state.parent !== undefined) turn.commands.push(this.#tellParent(this.state.parent, status, reason));
  }

  #tellParent(parent: ParentAddress, status: EndStatus, reason: string | undefined): TellParent {
    const patch: ContextPatch | undefined =
      status === "Success" && this.state.changedKeys.size > 0
        ? Object.fromEntries([...this.state.changedKeys].map((key) => [key, this.state.context.entries.get(key) ?? null]))
        : undefined;
    return { type: "TellParent", parent, status, ...(reason !== undefined && { reason }), ...(patch && { patch }) };
  }

  #reopen(turn: Turn, reopening: Reopening): void {
    const generation = this.state.generation + 1;
    this.#emit(turn, { type: "InstanceReopened", generation, ...reopening, ...this.#newDeadline(turn) });
    this.#advance(turn);
  }

  #wake(turn: Turn): void {
    const { status, pausing, deadline, retryWaits } = this.state;
    if (hasEnded(status)) return;
    if (deadline !== undefined && turn.at >= deadline) {
      const seconds = (this.state.graph.timeoutMs ?? 0) / 1000;
      return this.#end(turn, "Failed", `the instance did not end within its timeout of ${seconds} s`);
    }
    if (status !== "Running" || pausing) return;
    const due = [...retryWaits].filter((task) => (this.state.record(task)?.retryAt ?? 0) <= turn.at);
    if (due.length > 0) this.#emit(turn, { type: "RetriesDue", tasks: due });
    this.#advance(turn);
  }

  // Reports about tasks

  #complete(input: NodeCompleted, turn: Turn): void {
    if (!this.#isCurrent(input)) return void turn.dropped++;
    const { task, outcome } = input;
    if (outcome.kind === "success") this.#succeed(task, outcome, executionOf(input), turn);
    else if (outcome.kind === "lost") this.#lose(task, executionOf(input), turn);
    else this.#fail(task, outcome.failure, executionOf(input), turn, outcome.kind === "timeout");
    this.#advance(turn);
  }

  #succeed(task: number, outcome: Outcome & { kind: "success" }, execution: Execution, turn: Turn): void {
    const { output, patch } = outcome;
    let subTasks: readonly NodeSpec[] | undefined = outcome.subTasks;
    try {
      if (patch !== undefined) refuseTooLarge(this.state.context.patched(patch), "the context with this task's patch");
      if (subTasks !== undefined) subTasks = admitSubTasks(this.state, task, subTasks, this.#limits.subTasksMax);
    } catch (error) {
      if (!(error instanceof EngineError)) throw error;
      return this.#fail(task, { type: error.code, message: error.message, retryable: false }, execution, turn, false);
    }
    this.#emit(turn, {
      type: "TaskSucceeded",
      task,
      attempt: this.#attemptOf(task),
      ...execution,
      ...(output !== undefined && { output }),
      ...(patch !== undefined && { patch }),
      ...(subTasks !== undefined && { subTasks }),
    });
  }

  #lose(task: number, execution: Execution, turn: Turn): void {
    const lost = (this.state.record(task)?.interruptions ?? 0) + 1;
    if (lost <= this.#limits.interruptionsMax) {
      return this.#emit(turn, { type: "TaskInterrupted", task, attempt: this.#attemptOf(task) });
    }
    const message = `worker lost: the attempt was lost with its process ${lost} times`;
    this.#fail(task, { type: "TASK_LOST", message, retryable: false }, execution, turn, false);
  }

  #fail(task: number, failure: Failure, execution: Execution, turn: Turn, timedOut: boolean): void {
    const { retryCount, retryPolicy, skipWhenFailed } = this.state.definition(task);
    const retriesUsed = this.state.record(task)?.retriesUsed ?? 0;
    const retries = retriesUsed < retryCount && !this.state.failing && isRetryable(retryPolicy, failure);
    this.#emit(turn, {
      type: "TaskFailed",
      task,
      attempt: this.#attemptOf(task),
      ...execution,
      failure,
      ...(timedOut && { timedOut }),
      ...(retries && { retryAt: turn.at + retryDelayMs(retryPolicy, retriesUsed, turn.chance) }),
    });
    if (!retries && !skipWhenFailed) this.#followFailure(task, turn);
  }

  /** A failure that nobody may skip: the workflow's policy decides about the rest. */
  #followFailure(task: number, turn: Turn): void {
    const policy = this.state.graph.failurePolicy;
    if (policy === "abort-running") return this.#end(turn, "Failed", this.#failureReason(task));
    const canceled = descendants(this.state, [task], "live").filter((other) => !isFinished(this.state.phase(other)));
    if (canceled.length > 0) this.#emit(turn, { type: "TasksCanceled", tasks: canceled, cause: "upstream-failed" });
    if (policy === "finish-running") this.#withdrawScheduled(turn);
  }

  #withdrawn(runs: readonly { task: number; attempt: number }[], turn: Turn): void {
    const current = runs.filter(({ task, attempt }) => this.#isInFlight(task, attempt));
    turn.dropped += runs.length - current.length;
    if (current.length > 0) this.#emit(turn, { type: "TasksWithdrawn", tasks: current.map(({ task }) => task) });
    this.#advance(turn);
  }

  #decided(input: DecisionEvaluated, turn: Turn): void {
    const { task, attempt, value } = input;
    if (!this.#isInFlight(task, attempt)) return void turn.dropped++;
    const { graph } = this.state;
    const edges = task < graph.size ? graph.outEdges(task) : [];
    const choice =
      "failure" in value
        ? value
        : edgesNotTaken(
            value.ok,
            Array.from(edges, (number) => ({ number, property: graph.edgeProperty[number] })),
          );
    if ("failure" in choice) this.#fail(task, choice.failure, {}, turn, false);
    else if ("ok" in value) {
      this.#emit(turn, { type: "DecisionMade", task, result: resultText(value.ok), edgesOff: choice.off });
    }
    this.#advance(turn);
  }

  #childEnded(input: ChildEnded, turn: Turn): void {
    if (!this.#isCurrent(input)) return void turn.dropped++;
    const { task, status, reason, output, patch } = input;
    if (status === "Success") {
      this.#succeed(task, { kind: "success", ...(output && { output }), ...(patch && { patch }) }, {}, turn);
    } else {
      const type = status === "Failed" ? "WORKFLOW_FAILED" : "WORKFLOW_TERMINATED";
      const message = `nested workflow instance "${this.state.record(task)?.childId}" ended in ${status}${reason ? `: ${reason}` : ""}`;
      this.#fail(task, { type, message, retryable: true }, {}, turn, false);
    }
    this.#advance(turn);
  }

  #isCurrent(report: { task: number; attempt: number; generation: number }): boolean {
    return report.generation === this.state.generation && this.#isInFlight(report.task, report.attempt);
  }

  #isInFlight(task: number, attempt: number): boolean {
    return task < this.state.size && isInFlight(this.state.phase(task)) && this.#attemptOf(task) === attempt;
  }

  #attemptOf(task: number): number {
    return this.state.record(task)?.attempt ?? 0;
  }

  // What users change while it runs

  #updateContext(patch: ContextPatch, turn: Turn): void {
    this.#refuseIfEnded("update the context of");
    refuseTooLarge(this.state.context.patched(patch), `the context of instance "${this.#id}" with this patch`);
    this.#emit(turn, { type: "ContextPatched", patch });
  }

  #updateParams(task: number, params: string, turn: Turn): void {
    this.#refuseIfEnded("update the parameters of a task of");
    const status = statusOf(this.state.phase(task));
    if (status !== "Pending") {
      const name = this.state.definition(task).name;
      throw new EngineError(
        "TASK_STATE",
        `cannot update the parameters of task "${name}" of instance "${this.#id}": it is ${status}, not Pending`,
      );
    }
    this.#emit(turn, { type: "TaskParamsUpdated", task, params });
  }

  #addSubTask(parent: number, node: NodeSpec, turn: Turn): void {
    this.#refuseIfEnded("add a sub-task to");
    const phase = this.state.phase(parent);
    if (isFinished(phase) && (!this.state.isPassed(parent) || this.state.isComplete(parent))) {
      const name = this.state.definition(parent).name;
      throw new EngineError(
        "TASK_STATE",
        `cannot add a sub-task to "${name}" of instance "${this.#id}": it is ${statusOf(phase)} and what comes after it may have started`,
      );
    }
    const [admitted] = admitSubTasks(this.state, parent, [node], this.#limits.subTasksMax);
    this.#emit(turn, { type: "TaskAdded", parent, node: admitted as NodeSpec });
    this.#advance(turn);
  }

  #refuseIfEnded(operation: string): void {
    if (hasEnded(this.state.status)) throw this.#refusal(operation);
  }

  #refusal(operation: string): EngineError {
    const { status, pausing } = this.state;
    const state = pausing ? `${status} and already pausing` : status;
    return new EngineError("INSTANCE_STATE", `cannot ${operation} instance "${this.#id}": it is ${state}`);
  }

  // What the state now allows

  #advance(turn: Turn): void {
    if (this.state.status !== "Running") return;
    this.#passOver(turn);
    if (!this.state.pausing && !this.state.failing) {
      this.#decide(turn);
      this.#schedule(turn);
    }
    this.#conclude(turn);
  }

  /** Dead branches and disabled nodes, and what they unblock in turn. */
  #passOver(turn: Turn): void {
    const { toCancel, toSkip } = this.state;
    const isWaiting = (task: number): boolean => this.state.phase(task) === Phase.waiting;
    while (toCancel.length > 0 || toSkip.length > 0) {
      const canceled = toCancel.splice(0).filter(isWaiting);
      if (canceled.length > 0) this.#emit(turn, { type: "TasksCanceled", tasks: canceled, cause: "branch" });
      const skipped = toSkip.splice(0).filter(isWaiting);
      if (skipped.length > 0) this.#emit(turn, { type: "TasksSkipped", tasks: skipped });
    }
  }

  #decide(turn: Turn): void {
    const ready = this.state.toDecide.splice(0).filter((task) => this.state.phase(task) === Phase.ready);
    if (ready.length === 0) return;
    this.#emit(turn, { type: "TasksScheduled", tasks: ready });
    for (const task of ready) {
      turn.commands.push({ type: "EvaluateDecision", task, attempt: this.#attemptOf(task) });
    }
  }

  #schedule(turn: Turn): void {
    const { state } = this;
    const places = state.maxConcurrentTasks - state.jobsInFlight - state.childrenInFlight;
    const picked = new Set<number>();
    while (picked.size < places) {
      const task = state.ready.pop();
      if (task === undefined) break;
      if (state.phase(task) === Phase.ready) picked.add(task);
    }
    if (picked.size === 0) return;
    const tasks = [...picked];
    this.#emit(turn, { type: "TasksScheduled", tasks });
    const jobs = tasks.filter((task) => state.definition(task).kind === "job");
    if (jobs.length > 0) turn.commands.push({ type: "RunTasks", tasks: jobs });
    for (const task of tasks) if (state.definition(task).kind === "nested") this.#startChild(task, turn);
  }

  /** A child that failed before goes on where it stopped; otherwise a new one begins. */
  #startChild(task: number, turn: Turn): void {
    const attempt = this.#attemptOf(task);
    const depth = (this.state.parent?.depth ?? 0) + 1;
    const parent: ParentAddress = { ...this.address, task, attempt, depth };
    const before = this.state.record(task)?.childId;
    const name = this.state.definition(task).name;
    const childId = before ?? (attempt === 1 ? `${this.#id}/${name}` : `${this.#id}/${name}~${attempt}`);
    this.#emit(turn, { type: "ChildStarted", task, attempt, childId });
    if (before === undefined) turn.commands.push({ type: "StartChild", task, childId, parent });
    else turn.commands.push({ type: "TellChild", childId, tell: { type: "RetryWorkflow", parent } });
  }

  #conclude(turn: Turn): void {
    const { state } = this;
    if (state.unfinished === 0 || (state.failing && state.inFlight === 0)) {
      const failed = this.#firstHardFailure();
      if (failed === undefined) this.#end(turn, "Success");
      else this.#end(turn, "Failed", this.#failureReason(failed));
    } else if (state.pausing && state.jobsInFlight + state.decisionsInFlight === 0) {
      this.#emit(turn, { type: "InstancePaused" });
    }
  }

  #firstHardFailure(): number | undefined {
    for (let task = 0; task < this.state.size; task++) if (this.state.isHardFailure(task)) return task;
    return undefined;
  }

  #failureReason(task: number): string {
    return `task "${this.state.definition(task).name}" failed: ${this.state.record(task)?.failure?.message}`;
  }

  /** Those not known to have started; the dispatcher says which it could take back. */
  #withdrawScheduled(turn: Turn): void {
    const tasks = this.jobsInFlight().filter((task) => this.state.phase(task) === Phase.scheduled);
    if (tasks.length > 0) turn.commands.push({ type: "WithdrawTasks", tasks });
  }

  #tellChildren(turn: Turn, tell: { type: "PauseWorkflow" | "ResumeWorkflow" } | { type: "CancelWorkflow"; reason: string }): void {
    if (this.state.childrenInFlight === 0) return;
    for (const task of this.#tasksInFlight()) {
      const childId = this.state.record(task)?.childId;
      if (this.state.definition(task).kind === "nested" && childId !== undefined) {
        turn.commands.push({ type: "TellChild", childId, tell });
      }
    }
  }

  #tasksInFlight(): number[] {
    const tasks: number[] = [];
    for (let task = 0; tasks.length < this.state.inFlight; task++) {
      if (isInFlight(this.state.phase(task))) tasks.push(task);
    }
    return tasks;
  }
}

type UserRequest = Extract<
  Input,
  {
    type:
      | "PauseWorkflow"
      | "ResumeWorkflow"
      | "CancelWorkflow"
      | "RetryWorkflow"
      | "RerunWorkflow"
      | "SucceedNode"
      | "SkipNode"
      | "UpdateContext"
      | "UpdateParams"
      | "AddSubTask";
  }
>;

function executionOf({ worker, startedAt }: Execution): Execution {
  return { ...(worker !== undefined && { worker }), ...(startedAt !== undefined && { startedAt }) };
}

function refuseTooLarge(context: Context, what: string): void {
  if (context.bytes <= payloadBytesMax) return;
  throw new EngineError(
    "CONTEXT_TOO_LARGE",
    `${what} takes ${context.bytes} bytes; at most ${payloadBytesMax} are allowed`,
  );
}

/** `maxConcurrentTasks` may also be set by the context: the one key the kernel reads. */
function concurrencyIn(context: Context): number | undefined {
  const text: Payload | undefined = context.entries.get("maxConcurrentTasks");
  if (typeof text !== "string") return undefined;
  const value: unknown = JSON.parse(text);
  return typeof value === "number" && Number.isInteger(value) && value > 0 ? value : undefined;
}

function resultText(value: unknown): string {
  return typeof value === "bigint" ? value.toString() : JSON.stringify(value);
}
