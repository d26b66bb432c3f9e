import { EngineError } from "../../base/error.ts";
import { momentAfter } from "../../base/time-limits.ts";
import type { ParentAddress } from "../address.ts";
import { Context } from "../context.ts";
import type { Refusal, StartInstance } from "../input.ts";
import type { Payload } from "../payload.ts";
import { refuseDeep, refuseLargeContext } from "../size-limits.ts";
import { hasEnded } from "../status.ts";
import { refuseIfEnded, stateRefusal } from "../task-reports.ts";
import { advance, conclude, withdrawScheduled } from "./advance.ts";
import type { DagState } from "./dag-state.ts";
import type { DagTransition } from "./dag-transition.ts";
import { end, tellChildren, tellParent } from "./ending.ts";
import { type Reopening, retry } from "./reopening.ts";

export function start(step: DagTransition, input: StartInstance): void {
  const { state, identity } = step;
  const { workflow, version, generation, parent, trigger, traceparent, admission, taskParams } = input;
  if (state.generation > 0) {
    throw new EngineError(
      "INSTANCE_EXISTS",
      `instance "${identity.id}" has been started already; it is ${state.status}`,
    );
  }
  const context = Context.of(input.context);
  refuseLargeContext(context, `the start context of workflow "${workflow}"`);
  refuseDeep(workflow, parent);
  step.emit({
    type: "InstanceCreated",
    workflow,
    version,
    generation,
    context: input.context,
    maxConcurrentTasks: concurrency(input, context, step),
    trigger,
    ...(parent && { parent }),
    ...(traceparent !== undefined && { traceparent }),
  });
  if (taskParams !== undefined) step.emit({ type: "TaskParamsUpdated", task: 0, params: taskParams });
  if (admission === "run") admit(step);
  else if (admission !== "queue") refuse(step, admission);
}

function refuse(step: DagTransition, { refuse: policy, reason }: Refusal): void {
  end(step, policy === "fail" ? "Failed" : "Terminated", reason);
}

export function admit(step: DagTransition, refusal?: Refusal): void {
  if (step.state.status !== "Ready") return step.drop();
  if (refusal !== undefined) return refuse(step, refusal);
  step.emit({ type: "InstanceStarted", ...newDeadline(step) });
  advance(step);
}

/** An instance that waits to be admitted will pause as soon as it is. */
export function pause(step: DagTransition): void {
  const { status, pausing } = step.state;
  if ((status !== "Running" && status !== "Ready") || pausing)
    throw stateRefusal(step.state, step.identity.id, "pause");
  step.emit({ type: "PauseRequested" });
  if (status === "Ready") return;
  withdrawScheduled(step);
  tellChildren(step, { type: "PauseInstance" });
  conclude(step);
}

export function resume(step: DagTransition): void {
  if (step.state.status !== "Paused" && !step.state.pausing) throw stateRefusal(step.state, step.identity.id, "resume");
  step.emit({ type: "InstanceResumed" });
  tellChildren(step, { type: "ResumeInstance" });
  wake(step);
}

export function terminate(step: DagTransition, reason: string): void {
  refuseIfEnded(step.state, step.identity.id, "terminate");
  end(step, "Terminated", reason);
}

export function retryWorkflow(step: DagTransition, parent: ParentAddress | undefined): void {
  const { status } = step.state;
  if (parent === undefined) return reopen(step, retry(step));
  if (status === "Success" || !hasEnded(status)) return followParent(step, parent);
  reopen(step, { ...retry(step), parent });
}

/**
 * The parent wants its child retried, but a user has done so already, or the child ended well after its parent had given
 * it up. Nothing is to be run again; what counts is that this attempt of the parent hears of the end.
 */
function followParent(step: DagTransition, parent: ParentAddress): void {
  step.emit({ type: "ParentChanged", parent });
  if (step.state.status === "Success") step.command(tellParent(step.state, parent, "Success"));
}

export function reopen(step: DagTransition, reopening: Reopening): void {
  const generation = step.state.generation + 1;
  step.emit({ type: "InstanceReopened", generation, ...reopening, ...newDeadline(step) });
  advance(step);
}

/** Something may have come due: the instance's deadline, its tasks' retries. */
export function wake(step: DagTransition): void {
  const { state, turn } = step;
  const { status, pausing, failing, deadline, retryWaits } = state;
  if (hasEnded(status)) return;
  if (deadline !== undefined && turn.at >= deadline) {
    const seconds = (state.graph.timeoutMs as number) / 1000;
    return end(step, "Failed", `the instance did not end within its timeout of ${seconds} s`);
  }
  if (status !== "Running" || pausing) return;
  const due = failing ? [] : retryWaits.takeDue(turn.at);
  if (due.length > 0) step.emit({ type: "RetriesDue", tasks: due });
  advance(step);
}

/** When `wake` has something to do. */
export function nextWake({ status, pausing, failing, deadline, retryWaits }: DagState): number | undefined {
  if (hasEnded(status)) return undefined;
  const retryAt = status === "Running" && !pausing && !failing ? retryWaits.earliest() : undefined;
  return retryAt === undefined || (deadline !== undefined && deadline < retryAt) ? deadline : retryAt;
}

function newDeadline({ state, turn }: DagTransition): { deadline?: number } {
  const { timeoutMs } = state.graph;
  return timeoutMs === undefined ? {} : { deadline: momentAfter(turn.at, timeoutMs) };
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
    `maxConcurrentTasks in the start context of workflow "${workflow}" must be a whole number, at least 1, got ${given}`,
  );
}
