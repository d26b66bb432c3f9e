/** The steps of a random run: what is said to an instance, chosen by numbers that chance gives. */
import type { NodeSpec } from "../../src/kernel/node-spec.ts";
import type { Failure } from "../../src/kernel/failure.ts";
import type { Outcome } from "../../src/kernel/input.ts";
import type { DagInput } from "../../src/kernel/dag/dag-input.ts";
import type { EndStatus } from "../../src/kernel/status.ts";
import type { ModelTask } from "./dag-model.ts";
import { type DagRun, limits } from "./dag-run.ts";

/** `which` chooses the task, `how` all the rest. */
export interface Choice {
  readonly which: number;
  readonly how: number;
}

type Take = (run: DagRun, choice: Choice) => void;

export const steps = {
  complete,
  start,
  withdraw,
  wait,
  pause,
  resume,
  terminate,
  retry,
  retryByParent,
  rerun,
  succeedNode: (run, choice) => settle(run, choice, "Success"),
  skipNode: (run, choice) => settle(run, choice, "Skipped"),
  stopNode,
  updateContext,
  updateParams,
  addSubTask,
  admit: (run) => run.admit(),
  stale,
  replay: (run) => run.replay(),
} as const satisfies Record<string, Take>;

export type StepName = keyof typeof steps;

/** Lets everything that is out succeed, whatever stands in the way, until the instance has ended. */
export function finish(run: DagRun): void {
  const { model } = run;
  for (let turns = 0; !model.hasEnded; turns++) {
    if (turns > 500) throw new Error("the instance does not end");
    if (model.status === "Ready") run.admit();
    else if (model.status === "Paused" || model.isPausing) resume(run);
    else if (model.out.length > 0) complete(run, { which: 0, how: 0 });
    else wait(run, { which: 0, how: 9 });
  }
}

function pick<T>(list: readonly T[], { which }: Choice): T | undefined {
  return list[which % Math.max(1, list.length)];
}

// Reports

function complete(run: DagRun, choice: Choice): void {
  const task = pick(run.model.out, choice);
  if (task === undefined) return;
  if (task.kind === "decision") decide(run, task, choice.how);
  else if (task.kind === "nested") endChild(run, task, choice.how);
  else endJob(run, task, choice.how);
}

function endJob(run: DagRun, task: ModelTask, how: number): void {
  const { model } = run;
  const dice = how % 20;
  const report = { type: "AttemptEnded", ...run.report(task) } as const;
  if (dice < 12) {
    const outcome = successOf(run, task, how);
    const { patch, subTasks = [] } = outcome;
    for (const [key, value] of Object.entries(patch ?? {})) patchModel(run, key, value as string | null);
    run.succeeded(task, subTasks);
    return run.tell({ ...report, outcome });
  }
  if (dice < 15) {
    if (++task.losses > limits.interruptionsMax) model.fail(task, { at: run.at, isRetryable: false, ending: "Failed" });
    else model.lose(task);
    return run.tell({ ...report, outcome: { kind: "lost" } });
  }
  const failure = failureOf(dice !== 19);
  const kind = dice === 15 ? "timeout" : "failure";
  model.fail(task, {
    at: run.at,
    isRetryable: failure.retryable,
    ending: kind === "timeout" ? "TimeoutFailed" : "Failed",
  });
  run.tell({ ...report, outcome: { kind, failure } });
}

function successOf(run: DagRun, task: ModelTask, how: number): Outcome & { kind: "success" } {
  const wants = how % 7 === 3 ? 1 + (how % 3) : 0;
  const known = run.model.subTasksOf(task).map(({ name }) => name);
  const subTasks: NodeSpec[] = [];
  for (let n = 0; n < Math.min(wants, limits.subTasksMax - known.length); n++) {
    const names = [...known, ...subTasks.map(({ nodeName }) => nodeName!)];
    subTasks.push(subTask(run, names, how + n, n));
  }
  return {
    kind: "success",
    ...(how % 2 === 0 && { output: String(how) }),
    ...(how % 5 === 1 && { patch: { [`k${how % 3}`]: how % 4 === 1 ? null : String(how) } }),
    ...(subTasks.length > 0 && { subTasks }),
  };
}

/** A name that no task of the instance has had. */
function subTask(run: DagRun, siblings: readonly string[], how: number, place: number): NodeSpec {
  const dependsOn = siblings.filter((_, sibling) => (how >> sibling) % 3 === 1);
  return {
    nodeId: 0,
    nodeName: `s${run.model.tasks.length + place}`,
    nodeType: how % 11 === 0 ? 2 : how % 5 === 0 ? 3 : 1,
    ...(how % 13 === 0 && { enable: false }),
    ...(how % 6 === 0 && { skipWhenFailed: true }),
    ...(how % 4 === 0 && { retryCount: 1 }),
    ...(dependsOn.length > 0 && { dependsOn }),
  };
}

function decide(run: DagRun, task: ModelTask, how: number): void {
  const { model } = run;
  const edges = model.edges.filter(({ from }) => from === task);
  const value = how % 8 === 7 ? { failure: failureOf(true) } : { ok: how % 8 === 6 ? null : how % 2 === 0 };
  if ("failure" in value || value.ok === null) {
    model.fail(task, { at: run.at, isRetryable: "failure" in value, ending: "Failed" });
  } else {
    for (const edge of edges) edge.isNotTaken = (edge.property === "true") !== value.ok;
    run.succeeded(task, []);
  }
  run.tell({ type: "DecisionEvaluated", ...run.report(task), value });
}

function endChild(run: DagRun, task: ModelTask, how: number): void {
  const status: EndStatus = how % 5 === 3 ? "Failed" : how % 5 === 4 ? "Terminated" : "Success";
  const patch = status === "Success" && how % 3 === 1 ? { child: String(how) } : undefined;
  if (patch !== undefined) patchModel(run, "child", patch.child);
  if (status === "Success") run.succeeded(task, []);
  else run.model.fail(task, { at: run.at, isRetryable: true, ending: "Failed" });
  run.tell({ type: "ChildEnded", ...run.report(task), status, ...(patch && { patch }) });
}

function failureOf(retryable: boolean): Failure {
  return { type: "Error", message: "no", retryable };
}

function start(run: DagRun, choice: Choice): void {
  const jobs = run.model.out.filter(({ kind }) => kind === "job");
  const task = pick(jobs, choice);
  if (task === undefined) return;
  task.hasStarted = true;
  run.tell({ type: "AttemptStarted", ...run.report(task), worker: "w", startedAt: run.at });
}

function withdraw(run: DagRun, { which, how }: Choice): void {
  const waiting = run.model.out.filter(({ kind, hasStarted }) => kind === "job" && !hasStarted);
  const tasks = waiting.filter((_, place) => (which >> place) % 2 === 0);
  if (tasks.length === 0) return;
  const runs = tasks.map((task) => run.report(task));
  for (const task of tasks) run.model.back(task);
  run.tell({ type: "AttemptsWithdrawn", runs: how % 3 === 0 ? [...runs, ...runs] : runs });
}

/** Reports about what is over, or never was. */
function stale(run: DagRun, choice: Choice): void {
  const report = pick(run.staleReports, choice);
  if (report === undefined) return;
  const inputs: readonly DagInput[] = [
    { type: "AttemptEnded", ...report, outcome: { kind: "success", output: "1", patch: { late: "1" } } },
    { type: "AttemptEnded", ...report, outcome: { kind: "failure", failure: failureOf(true) } },
    { type: "AttemptEnded", ...report, outcome: { kind: "lost" } },
    { type: "AttemptStarted", ...report, worker: "late", startedAt: 1 },
    { type: "ChildEnded", ...report, status: "Success" },
  ];
  // These carry no generation: attempts are numbered on through all of them.
  const task = run.model.tasks[report.task];
  const isOtherAttempt = !task?.isOut || task.attempt !== report.attempt;
  const others: readonly DagInput[] = [
    { type: "DecisionEvaluated", ...report, value: { ok: true } },
    { type: "AttemptsWithdrawn", runs: [report] },
  ];
  const all = isOtherAttempt ? [...inputs, ...others] : inputs;
  run.drop(all[choice.how % all.length]!);
}

/** Time passes; what came due is told. */
function wait(run: DagRun, { how }: Choice): void {
  const { model } = run;
  run.at += [0, 300, 1000, 2500, 9000][how % 5]!;
  if (!model.hasEnded && model.deadline !== undefined && run.at >= model.deadline) model.endInstance("Failed");
  else dueRetries(run);
  run.tell({ type: "TimerDue" });
}

function dueRetries({ model, at }: DagRun): void {
  if (model.status !== "Running" || model.isPausing || model.isFailing) return;
  for (const task of model.present) if (task.retryAt !== undefined && task.retryAt <= at) task.retryAt = undefined;
}

// Requests

function pause(run: DagRun): void {
  const { model } = run;
  const mayPause = (model.status === "Running" || model.status === "Ready") && !model.isPausing;
  if (!mayPause) return run.refuse({ type: "PauseInstance" }, "INSTANCE_STATE");
  model.isPausing = true;
  run.tell({ type: "PauseInstance" });
}

function resume(run: DagRun): void {
  const { model } = run;
  if (model.status !== "Paused" && !model.isPausing) return run.refuse({ type: "ResumeInstance" }, "INSTANCE_STATE");
  model.isPausing = false;
  if (model.status === "Paused") model.status = "Running";
  if (model.deadline !== undefined && run.at >= model.deadline) model.endInstance("Failed");
  else dueRetries(run);
  run.tell({ type: "ResumeInstance" });
}

function terminate(run: DagRun): void {
  const input: DagInput = { type: "TerminateInstance", reason: "enough" };
  if (run.model.hasEnded) return run.refuse(input, "INSTANCE_STATE");
  run.model.endInstance("Terminated");
  run.tell(input);
}

function retry(run: DagRun): void {
  const { model } = run;
  if (!model.hasEnded || model.status === "Success") return run.refuse({ type: "RetryInstance" }, "INSTANCE_STATE");
  model.retry();
  run.reopen({ type: "RetryInstance" });
}

/** Never refused: a child that needs no retry hears only who waits for it now. */
function retryByParent(run: DagRun, { how }: Choice): void {
  if (run.parent === undefined) return;
  const { model } = run;
  run.parent = { ...run.parent, attempt: 2 + how };
  const input: DagInput = { type: "RetryInstance", parent: run.parent };
  if (!model.hasEnded || model.status === "Success") return run.tell(input);
  model.retry();
  run.reopen(input);
}

function rerun(run: DagRun, choice: Choice): void {
  const { model } = run;
  const task = pick(model.tasks, choice)!;
  const input: DagInput = {
    type: "RerunInstance",
    task: run.numberOf(task),
    ...(choice.how % 2 === 0 && { params: "1" }),
  };
  if (!model.hasEnded) return run.refuse(input, "INSTANCE_STATE");
  if (task.isRemoved || task.ending === "Canceled (branch)") return run.refuse(input, "TASK_STATE");
  model.rerun(task);
  run.reopen(input);
}

function settle(run: DagRun, choice: Choice, status: "Success" | "Skipped"): void {
  const { model } = run;
  const failed = model.present.filter((task) => model.isHardFailure(task));
  const task = pick(failed.length > 0 && choice.how % 4 > 0 ? failed : model.present, choice)!;
  const decides = task.kind === "decision" && status === "Success";
  const type = status === "Success" ? "SucceedTask" : "SkipTask";
  const input: DagInput = { type, task: run.numberOf(task), ...(decides && { output: "true" }) };
  if (!model.hasEnded) return run.refuse(input, "INSTANCE_STATE");
  if (!model.isHardFailure(task)) return run.refuse(input, "TASK_STATE");
  if (decides) for (const edge of model.edges) if (edge.from === task) edge.isNotTaken = edge.property !== "true";
  model.settle(task, status);
  run.reopen(input);
}

/** What is ready, out or waiting for its retry can be stopped; not what has ended, or waits for what comes before it. */
function stopNode(run: DagRun, choice: Choice): void {
  const { model } = run;
  const stoppable = new Set([...model.out, ...model.candidates, ...model.present.filter(waitsForRetry)]);
  const task = pick(stoppable.size > 0 && choice.how % 4 > 0 ? [...stoppable] : model.tasks, choice)!;
  const input: DagInput = { type: "StopTask", task: run.numberOf(task), reason: "enough" };
  if (model.hasEnded) return run.refuse(input, "INSTANCE_STATE");
  if (model.status === "Ready" || !stoppable.has(task)) return run.refuse(input, "TASK_STATE");
  model.stop(task);
  run.tell(input);
}

function waitsForRetry({ ending, retryAt }: ModelTask): boolean {
  return ending === undefined && retryAt !== undefined;
}

function updateContext(run: DagRun, { how }: Choice): void {
  const value = how % 3 === 0 ? null : String(how);
  const input: DagInput = { type: "UpdateContext", patch: { outside: value } };
  if (run.model.hasEnded) return run.refuse(input, "INSTANCE_STATE");
  patchModel(run, "outside", value);
  run.tell(input);
}

function patchModel({ model }: DagRun, key: string, value: string | null): void {
  if (value === null) model.context.delete(key);
  else model.context.set(key, value);
}

function updateParams(run: DagRun, choice: Choice): void {
  const { model } = run;
  const task = pick(model.tasks, choice)!;
  const input: DagInput = { type: "UpdateParams", task: run.numberOf(task), params: String(choice.how) };
  if (model.hasEnded) return run.refuse(input, "INSTANCE_STATE");
  const isPending = !task.isRemoved && task.ending === undefined && !(task.isOut && task.hasStarted);
  if (!isPending) return run.refuse(input, "TASK_STATE");
  run.tell(input);
}

function addSubTask(run: DagRun, choice: Choice): void {
  const { model } = run;
  const parent = pick(model.tasks, choice)!;
  const siblings = model.subTasksOf(parent);
  const node = subTask(
    run,
    siblings.map(({ name }) => name),
    choice.how,
    0,
  );
  const input: DagInput = { type: "AddSubTask", parent: run.numberOf(parent), node };
  if (model.hasEnded) return run.refuse(input, "INSTANCE_STATE");
  const isOver =
    parent.isRemoved || (parent.ending !== undefined && (!model.isPassed(parent) || model.isComplete(parent)));
  if (isOver) return run.refuse(input, "TASK_STATE");
  if (siblings.length >= limits.subTasksMax) return run.refuse(input, "SUBTASK_LIMIT");
  const waitsFor = siblings.filter(({ name }) => node.dependsOn?.includes(name));
  if (waitsFor.some((sibling) => model.canNeverComplete(sibling))) return run.refuse(input, "SUBTASK_INVALID");
  model.addSubTask(node, parent);
  run.tell(input);
}
