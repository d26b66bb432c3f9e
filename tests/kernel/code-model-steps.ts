/** The steps of a random run: what is said to an instance of code, chosen by numbers that chance gives. */
import type { Step } from "../../src/kernel/code/step.ts";
import type { Failure } from "../../src/kernel/failure.ts";
import type { CodeInput } from "../../src/kernel/code/code-input.ts";
import type { DagInput } from "../../src/kernel/dag/dag-input.ts";
import type { ModelTask } from "./code-model.ts";
import { type CodeModelRun, limits } from "./code-model-run.ts";

/** `which` chooses the task, `how` all the rest. */
export interface Choice {
  readonly which: number;
  readonly how: number;
}

type Take = (run: CodeModelRun, choice: Choice) => void;

export const steps = {
  code,
  codeEnds,
  complete,
  endDetached,
  start,
  withdraw,
  wait,
  pause,
  resume,
  terminate,
  cancel,
  heed,
  retry,
  retryByParent,
  raise,
  update,
  stop,
  ofDags,
  stale,
  replay: (run) => run.replay(),
} as const satisfies Record<string, Take>;

export type StepName = keyof typeof steps;

/** Lets everything that is out succeed until the code completes. */
export function finish(run: CodeModelRun): void {
  const { model } = run;
  for (let turns = 0; !model.hasEnded; turns++) {
    if (turns > 500) throw new Error("the instance does not end");
    if (model.status === "Paused") resume(run);
    else if (model.out.length > 0) complete(run, { which: 0, how: 0 });
    else if (model.detached.length > 0) endDetached(run, { which: 0, how: 0 });
    else if (model.nextWake !== undefined) wait(run, { which: 0, how: 6 });
    else codeEnds(run, { which: 0, how: 0 });
  }
}

function pick<T>(list: readonly T[], { which }: Choice): T | undefined {
  return list[which % Math.max(1, list.length)];
}

// What the code does

/** Only while the instance runs: the code sees nothing while it is paused, and does nothing after its end. */
function code(run: CodeModelRun, { which, how }: Choice): void {
  const { model } = run;
  if (model.status !== "Running") return;
  const taken: Step[] = [];
  const tooMany = model.tasks.length + model.timers.length + 1 + (which % 3) > limits.stepsMax;
  for (let n = 0; n <= which % 3; n++) taken.push(oneStep(run, how + n * 37, tooMany));
  if (tooMany) model.endInstance("Failed");
  run.tell({ type: "StepsTaken", steps: taken });
}

/** The model takes it too, unless the run is too long for any more. */
function oneStep(run: CodeModelRun, how: number, isIgnored: boolean): Step {
  const { model } = run;
  const retryCount = how % 3;
  switch (how % 10) {
    case 0:
    case 1:
    case 2:
      if (!isIgnored) model.add("job", { retryCount });
      return { type: "activity", node: { nodeId: 0, jobName: "j", nodeParams: "1", retryCount } };
    case 3:
    case 4:
      return childStep(run, how, isIgnored);
    case 5:
      if (!isIgnored) model.timers.push({ dueAt: run.at + (how % 7) * 500, state: "set" });
      return { type: "timer", dueAt: run.at + (how % 7) * 500 };
    case 6: {
      const timer = model.timers.findIndex(({ state }) => state === "set");
      if (timer === -1) return { type: "patch", patch: "p" };
      if (!isIgnored) model.timers[timer]!.state = "canceled";
      return { type: "cancel-timer", timer };
    }
    case 7: {
      const [open] = [...model.updates].find(([, standing]) => standing === "open") ?? [];
      if (open === undefined) return { type: "event", to: "j", name: "go", data: "1" };
      if (!isIgnored) model.updates.set(open, "answered");
      return { type: "answer", update: open, output: String(how) };
    }
    default:
      if (!isIgnored) model.customStatus = how % 4 === 0 ? undefined : String(how);
      return { type: "custom-status", status: how % 4 === 0 ? null : String(how) };
  }
}

function childStep({ model }: CodeModelRun, how: number, isIgnored: boolean): Step {
  const isDetached = how % 4 === 3;
  const retryCount = isDetached ? 0 : how % 3;
  const policy = ([undefined, "terminate", "cancel", "leave"] as const)[(how >> 3) % 4];
  const node = {
    nodeId: 0,
    nodeType: 3 as const,
    workflowName: "c",
    workflowVersion: "1",
    nodeParams: "1",
    retryCount,
    ...(policy && { whenParentEnds: policy }),
  };
  const childId = isDetached ? `free-${how}` : undefined;
  const options = { retryCount, ...(policy && { policy }), ...(childId !== undefined && { childId }) };
  if (!isIgnored) model.add(isDetached ? "detached" : "child", options);
  return { type: "child", node, isDetached, ...(childId !== undefined && { childId }) };
}

/** With up to two steps before the last one, in the same reaction. */
function codeEnds(run: CodeModelRun, { which, how }: Choice): void {
  const { model } = run;
  if (model.status !== "Running") return;
  const before = which % 3;
  const isTooLong = model.tasks.length + model.timers.length + before + 1 > limits.stepsMax;
  const taken: Step[] = [];
  for (let n = 0; n < before; n++) taken.push(oneStep(run, (how >> 2) + n * 37, isTooLong));
  const isFailing = isTooLong || model.isTimedOut;
  const dice = isFailing ? 5 : how % 4;
  if (dice === 0) model.endInstance("Success");
  else if (dice === 1 || dice === 5) model.endInstance("Failed");
  else if (dice === 2) model.endInstance("Terminated");
  else model.continueAsNew();
  const last: readonly Step[] = [
    { type: "complete", output: "1" },
    { type: "fail", failure: failureOf(true) },
    { type: "cancel", reason: "through" },
    { type: "continue", events: [], input: String(how) },
  ];
  run.tell({ type: "StepsTaken", steps: [...taken, last[how % 4]!] });
}

function failureOf(retryable: boolean): Failure {
  return { type: "Error", message: "no", retryable };
}

// Reports

function complete(run: CodeModelRun, choice: Choice): void {
  const task = pick(run.model.out, choice);
  if (task?.kind === "child") endChild(run, task, choice.how);
  else if (task !== undefined) endJob(run, task, choice.how);
}

function endJob(run: CodeModelRun, task: ModelTask, how: number): void {
  const { model, at } = run;
  const report = { type: "AttemptEnded", ...run.report(task) } as const;
  const dice = how % 20;
  if (dice < 11) {
    model.end(task, "Success");
    return run.tell({ ...report, outcome: { kind: "success", ...(how % 2 === 0 && { output: String(how) }) } });
  }
  if (dice === 11) {
    model.end(task, "Failed");
    return run.tell({ ...report, outcome: { kind: "success", patch: { x: "1" } } });
  }
  if (dice < 15) {
    if (++task.losses > limits.interruptionsMax) model.end(task, "Failed");
    else model.back(task);
    return run.tell({ ...report, outcome: { kind: "lost" } });
  }
  const failure = failureOf(dice !== 19);
  const kind = dice === 15 ? "timeout" : "failure";
  const ending = kind === "timeout" ? "TimeoutFailed" : "Failed";
  model.fail(task, { at, isRetryable: failure.retryable, ending });
  run.tell({ ...report, outcome: { kind, failure } });
}

function endChild(run: CodeModelRun, task: ModelTask, how: number): void {
  const status = (["Success", "Success", "Failed", "Terminated"] as const)[how % 4]!;
  const report = run.report(task);
  if (status === "Success") run.model.end(task, "Success");
  else run.model.fail(task, { at: run.at, isRetryable: true, ending: "Failed" });
  run.tell({ type: "ChildEnded", ...report, status, ...(how % 3 === 0 && { output: "1" }) });
}

/** Also of an earlier generation. */
function endDetached(run: CodeModelRun, choice: Choice): void {
  const { model } = run;
  const child = pick(model.detached, choice);
  if (child === undefined) return;
  const { generation, task } = child;
  const report = { generation, task, attempt: 0 };
  model.detached = model.detached.filter((each) => each !== child);
  run.tell({ type: "ChildEnded", ...report, status: choice.how % 2 === 0 ? "Success" : "Failed" });
  run.drop({ type: "ChildEnded", ...report, status: "Success" });
}

function start(run: CodeModelRun, choice: Choice): void {
  const task = pick(run.model.out, choice);
  if (task === undefined || task.kind === "child") return;
  task.hasStarted = true;
  run.tell({ type: "AttemptStarted", ...run.report(task), worker: "w", startedAt: run.at });
}

function withdraw(run: CodeModelRun, { how }: Choice): void {
  const runs = run.model.out.filter(({ kind }, place) => kind === "job" && (how >> place) % 2 === 1);
  if (runs.length === 0) return;
  const input: CodeInput = { type: "AttemptsWithdrawn", runs: runs.map((task) => run.report(task)) };
  for (const task of runs) run.model.back(task);
  run.tell(input);
}

function stale(run: CodeModelRun, choice: Choice): void {
  const report = pick(run.staleReports, choice)!;
  const inputs: readonly CodeInput[] = [
    { type: "AttemptStarted", ...report, worker: "w", startedAt: run.at },
    { type: "AttemptEnded", ...report, outcome: { kind: "success", output: "1" } },
    { type: "AttemptEnded", ...report, outcome: { kind: "lost" } },
    { type: "ChildEnded", ...report, status: "Failed" },
    { type: "AdmitInstance" },
  ];
  run.drop(inputs[choice.how % inputs.length]!);
}

/** Time passes; what came due is told. */
function wait(run: CodeModelRun, { how, which }: Choice): void {
  const justBefore = Math.max(0, (run.model.nextWake ?? 0) - 1 - run.at);
  const isCodeAbsent = which % 3 === 1;
  run.at += [0, 300, 1000, 2500, 9000, justBefore, justBefore + 1][how % 7]!;
  run.model.wake(run.at, isCodeAbsent);
  run.tell({ type: "TimerDue", ...(isCodeAbsent && { isCodeAbsent }) });
}

// Requests

function pause(run: CodeModelRun): void {
  if (run.model.status !== "Running") return run.refuse({ type: "PauseInstance" }, "INSTANCE_STATE");
  run.model.status = "Paused";
  run.model.tellChildren("PauseInstance");
  run.tell({ type: "PauseInstance" });
}

function resume(run: CodeModelRun): void {
  if (run.model.status !== "Paused") return run.refuse({ type: "ResumeInstance" }, "INSTANCE_STATE");
  run.model.status = "Running";
  run.model.tellChildren("ResumeInstance");
  run.model.wakeTasks(run.at);
  run.tell({ type: "ResumeInstance" });
}

function terminate(run: CodeModelRun): void {
  const input: CodeInput = { type: "TerminateInstance", reason: "enough" };
  if (run.model.hasEnded) return run.refuse(input, "INSTANCE_STATE");
  run.model.endInstance("Terminated");
  run.tell(input);
}

function cancel(run: CodeModelRun, { how, which }: Choice): void {
  const { model } = run;
  const isHeld = which % 2 === 0;
  const input: CodeInput = { type: "CancelInstance", reason: `please ${how}`, ...(isHeld && { isHeld }) };
  if (model.hasEnded) return run.refuse(input, "INSTANCE_STATE");
  if (model.cancelReason === undefined) {
    if (isHeld) model.holdCancel(input.reason);
    else model.cancel(input.reason, run.at);
  } else if (model.isCancelHeld && !isHeld) model.cancel(input.reason, run.at);
  run.tell(input);
}

/** The code was undoing a saga, and is through with that. */
function heed(run: CodeModelRun): void {
  const { model } = run;
  if (!model.isCancelHeld || model.status !== "Running") return;
  if (model.tasks.length + model.timers.length + 1 > limits.stepsMax) model.endInstance("Failed");
  else model.cancel(model.cancelReason ?? "", run.at);
  run.tell({ type: "StepsTaken", steps: [{ type: "heed-cancel" }] });
}

function retry(run: CodeModelRun): void {
  const { model } = run;
  if (!model.hasEnded || model.status === "Success") return run.refuse({ type: "RetryInstance" }, "INSTANCE_STATE");
  beginAnew(run);
  run.tell({ type: "RetryInstance" });
}

/** Never refused: a child that needs no retry hears only who waits for it now. */
function retryByParent(run: CodeModelRun, { how }: Choice): void {
  if (run.parent === undefined) return;
  const { model } = run;
  run.parent = { ...run.parent, attempt: 2 + how };
  if (model.hasEnded && model.status !== "Success") beginAnew(run);
  run.tell({ type: "RetryInstance", parent: run.parent });
}

function beginAnew({ model, at }: CodeModelRun): void {
  model.beginAnew({ keepsAnswers: false });
  model.customStatus = undefined;
  model.setDeadline(at);
}

function raise(run: CodeModelRun, { how }: Choice): void {
  const input: CodeInput = { type: "RaiseEvent", name: "go", data: String(how) };
  if (run.model.hasEnded) return run.refuse(input, "INSTANCE_STATE");
  run.tell(input);
}

/** The same one twice is the same one, also after the end. */
function update(run: CodeModelRun, { how }: Choice): void {
  const { model } = run;
  const input: CodeInput = { type: "RequestUpdate", update: `u${how % 4}`, name: "set" };
  if (model.updates.has(input.update)) return run.tell(input);
  if (model.hasEnded) return run.refuse(input, "INSTANCE_STATE");
  model.updates.set(input.update, "open");
  run.tell(input);
}

/** Of what has not ended. */
function stop(run: CodeModelRun, choice: Choice): void {
  const { model } = run;
  const unfinished = model.tasks.filter(({ ending }) => ending === undefined);
  const task = pick(unfinished.length > 0 && choice.how % 4 > 0 ? unfinished : model.tasks, choice);
  if (task === undefined) return;
  const input: CodeInput = { type: "StopTask", task: run.numberOf(task), reason: "enough" };
  if (model.hasEnded) return run.refuse(input, "INSTANCE_STATE");
  if (task.ending !== undefined) return run.refuse(input, "TASK_STATE");
  model.stop(task);
  run.tell(input);
}

function ofDags(run: CodeModelRun, { which, how }: Choice): void {
  const inputs: readonly DagInput[] = [
    { type: "DecisionEvaluated", task: which, attempt: 1, value: { ok: true } },
    { type: "RerunInstance", task: which },
    { type: "SucceedTask", task: which },
    { type: "SkipTask", task: which },
    { type: "UpdateContext", patch: { x: "1" } },
    { type: "UpdateParams", task: which, params: "1" },
    { type: "AddSubTask", parent: which, node: { nodeId: 1 } },
  ];
  run.refuse(inputs[how % inputs.length]!, "INSTANCE_STATE");
}
