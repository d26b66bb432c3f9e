import { EngineError } from "../../base/error.ts";
import { earlier, momentAfter } from "../../base/time-limits.ts";
import type { Writable } from "../../base/writable.ts";
import { localName } from "../../base/namespace.ts";
import type { ParentAddress } from "../address.ts";
import { Context } from "../context.ts";
import type { InstanceCreated } from "../event.ts";
import type { PauseInstance, Refusal, StartInstance } from "../input.ts";
import type { Payload } from "../payload.ts";
import { refuseDeep, refuseLargeContext } from "../size-limits.ts";
import { hasEnded } from "../status.ts";
import { followParent } from "../parent.ts";
import { refuseIfEnded, refuseIfStarted, stateRefusal } from "../refusals.ts";
import { advance, conclude } from "./advance.ts";
import { withdrawJobs } from "../dispatched-jobs.ts";
import type { DagState } from "./dag-state.ts";
import type { DagTransition } from "./dag-transition.ts";
import { end, tellChildren } from "./ending.ts";
import { timeOutCompletions } from "./reports.ts";
import { type Reopening, retry } from "./reopening.ts";

export function start(transition: DagTransition, input: StartInstance): void {
  const { state, identity } = transition;
  const { workflow, version, generation, parent, trigger, traceparent, app, admission, taskParams } = input;
  refuseIfStarted(state, identity.id);
  const context = Context.of(input.context);
  if (context !== Context.empty) refuseLargeContext(context, `the start context of workflow "${localName(workflow)}"`);
  refuseDeep(workflow, parent);
  const created: Writable<InstanceCreated> = {
    type: "InstanceCreated",
    workflow,
    version,
    generation,
    context: input.context,
    maxConcurrentTasks: concurrency(input, context, transition),
    trigger,
  };
  if (parent !== undefined) created.parent = parent;
  if (traceparent !== undefined) created.traceparent = traceparent;
  if (app !== undefined) created.app = app;
  if (identity.flags.length > 0) created.flags = identity.flags;
  transition.emit(created);
  if (taskParams !== undefined) transition.emit({ type: "TaskParamsUpdated", task: 0, params: taskParams });
  if (admission === "run") admit(transition);
  else if (admission !== "queue") refuse(transition, admission);
}

function refuse(transition: DagTransition, { refuse: policy, reason }: Refusal): void {
  end(transition, policy === "fail" ? "Failed" : "Terminated", reason);
}

export function admit(transition: DagTransition, refusal?: Refusal): void {
  if (transition.state.status !== "Ready") return transition.drop();
  if (refusal !== undefined) return refuse(transition, refusal);
  const deadline = newDeadline(transition);
  transition.emit(deadline === undefined ? { type: "InstanceStarted" } : { type: "InstanceStarted", deadline });
  advance(transition);
}

/** An instance that waits to be admitted will pause as soon as it is. */
export function pause(transition: DagTransition, request: PauseInstance): void {
  const { status, pausing } = transition.state;
  if ((status !== "Running" && status !== "Ready") || pausing)
    throw stateRefusal(transition.state, transition.identity.id, "pause");
  transition.emit({ ...request, type: "PauseRequested" });
  if (status === "Ready") return;
  withdrawJobs(transition);
  tellChildren(transition, request);
  conclude(transition);
}

export function resume(transition: DagTransition): void {
  if (transition.state.status !== "Paused" && !transition.state.pausing)
    throw stateRefusal(transition.state, transition.identity.id, "resume");
  transition.emit({ type: "InstanceResumed" });
  tellChildren(transition, { type: "ResumeInstance" });
  wake(transition);
}

export function terminate(transition: DagTransition, reason: string): void {
  refuseIfEnded(transition.state, transition.identity.id, "terminate");
  end(transition, "Terminated", reason);
}

export function retryInstance(transition: DagTransition, parent: ParentAddress | undefined): void {
  const { status } = transition.state;
  if (parent === undefined) return reopen(transition, retry(transition));
  if (status === "Success" || !hasEnded(status)) return followParent(transition, parent);
  reopen(transition, { ...retry(transition), parent });
}

export function reopen(transition: DagTransition, reopening: Reopening): void {
  const generation = transition.state.generation + 1;
  const deadline = newDeadline(transition);
  transition.emit({ type: "InstanceReopened", generation, ...reopening, ...(deadline !== undefined && { deadline }) });
  advance(transition);
}

/** Handles what may have come due: the instance's deadline, its tasks' retries. */
export function wake(transition: DagTransition): void {
  const { state, turn } = transition;
  const { status, pausing, deadline, retryWaits } = state;
  if (hasEnded(status)) return;
  if (deadline !== undefined && turn.at >= deadline) {
    const seconds = (state.graph.timeoutMs as number) / 1000;
    return end(transition, "Failed", `the instance did not end within its timeout of ${seconds} s`);
  }
  if (status !== "Running" || pausing) return;
  timeOutCompletions(transition);
  const due = state.failing || hasEnded(state.status) ? [] : retryWaits.takeDue(turn.at);
  if (due.length > 0) transition.emit({ type: "RetriesDue", tasks: due });
  advance(transition);
}

/** Time at which `wake` has something to do; undefined for none. */
export function nextWake(state: DagState): number | undefined {
  const { status, pausing, failing, deadline, retryWaits, completionsDue } = state;
  if (hasEnded(status)) return undefined;
  if (status !== "Running" || pausing) return deadline;
  const retryAt = failing ? undefined : retryWaits.earliest();
  return earlier(deadline, earlier(retryAt, completionsDue.earliest()));
}

function newDeadline({ state, turn }: DagTransition): number | undefined {
  const { timeoutMs } = state.graph;
  return timeoutMs === undefined ? undefined : momentAfter(turn.at, timeoutMs);
}

function concurrency(input: StartInstance, context: Context, { state: { graph }, identity }: DagTransition): number {
  return (
    input.maxConcurrentTasks ??
    concurrencyIn(context, input.workflow) ??
    graph.maxConcurrentTasks ??
    identity.limits.concurrentTasks
  );
}

/** `maxConcurrentTasks` may also be set by the context, as a number or as its text: the one key the kernel reads. */
function concurrencyIn(context: Context, workflow: string): number | undefined {
  const payload: Payload | undefined = context.entries.get("maxConcurrentTasks");
  if (payload === undefined || payload === "null") return undefined;
  const given = typeof payload === "string" ? payload : "a long text";
  const value = /^"?([1-9]\d{0,14})"?$/.exec(given)?.[1];
  if (value !== undefined) return Number(value);
  throw new EngineError(
    "OPTION_INVALID",
    `maxConcurrentTasks in the start context of workflow "${localName(workflow)}" must be a whole number, at least 1, got ${given}`,
  );
}
