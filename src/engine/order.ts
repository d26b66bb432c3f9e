import { didYouMean } from "../base/closest-name.ts";
import type { JobRegistry } from "../authoring/job-registry.ts";
import { paramsFromText } from "../authoring/job-params.ts";
import { paramsText } from "../authoring/task.ts";
import { EngineError } from "../base/error.ts";
import { preview } from "../base/preview.ts";
import type { Machine } from "../kernel/machine.ts";
import type { NodeSpec } from "../kernel/node-spec.ts";
import type { Input } from "../runtime/input.ts";
import { hasEnded } from "../kernel/status.ts";
import { isFinished } from "../kernel/task-state.ts";
import { taskNumbers } from "../views/instance-view.ts";

/**
 * What a user wants of an instance, in words that can travel: tasks by name, values as JSON text. The owner of the
 * instance makes a message of it.
 */
export type Order =
  | { readonly type: "pause" }
  | { readonly type: "resume" }
  | { readonly type: "terminate"; readonly reason: string }
  | { readonly type: "raise-event"; readonly name: string; readonly data?: string }
  | { readonly type: "update"; readonly update: string; readonly name: string; readonly data?: string }
  | { readonly type: "cancel"; readonly reason: string }
  | { readonly type: "retry" }
  | { readonly type: "rerun"; readonly task: string; readonly params?: string }
  | { readonly type: "succeed"; readonly task: string; readonly output?: string }
  | { readonly type: "skip"; readonly task: string }
  | { readonly type: "stop"; readonly task: string | number; readonly reason: string }
  | { readonly type: "update-context"; readonly patch: Readonly<Record<string, string | null>> }
  | { readonly type: "update-params"; readonly task: string; readonly params: string }
  | { readonly type: "add-sub-task"; readonly parent: string; readonly node: NodeSpec };

export interface OrderParts {
  readonly registry: JobRegistry;
  /** How many instances of the workflow run, when that is its maximum. */
  readonly fullFor: (workflow: string) => number | undefined;
}

/** `TASK_UNKNOWN`, `TASK_INVALID`, `PARAMS_INVALID`, `INSTANCE_STATE`. */
export function inputOf(order: Order, machine: Machine, parts: OrderParts): Input {
  switch (order.type) {
    case "pause":
      return { type: "PauseInstance" };
    case "resume":
      return { type: "ResumeInstance" };
    case "terminate":
      return { type: "TerminateInstance", reason: order.reason };
    case "raise-event":
      return { ...order, type: "RaiseEvent" };
    case "update":
      return { ...order, type: "RequestUpdate" };
    case "cancel":
      return { ...order, type: "CancelInstance" };
    case "stop":
      return { type: "StopTask", task: unfinishedTask(machine, order.task), reason: order.reason };
    case "update-context":
      return { type: "UpdateContext", patch: order.patch };
    case "update-params": {
      const task = numberOf(machine, order.task);
      return { type: "UpdateParams", task, params: checkedParams(machine, task, order.params, parts.registry) };
    }
    case "add-sub-task":
      return { type: "AddSubTask", parent: numberOf(machine, order.parent), node: order.node };
    default:
      refuseIfFull(machine, parts.fullFor);
      return reopeningInput(order, machine, parts);
  }
}

type Reopening = Extract<Order, { type: "retry" | "rerun" | "succeed" | "skip" }>;

function reopeningInput(order: Reopening, machine: Machine, { registry }: OrderParts): Input {
  if (order.type === "retry") return { type: "RetryInstance" };
  const task = numberOf(machine, order.task);
  if (order.type === "skip") return { type: "SkipTask", task };
  if (order.type === "succeed") {
    return { type: "SucceedTask", task, ...(order.output !== undefined && { output: order.output }) };
  }
  if (order.params === undefined) return { type: "RerunInstance", task };
  return { type: "RerunInstance", task, params: checkedParams(machine, task, order.params, registry) };
}

/** A workflow's maximum of concurrent instances holds for reopened ones too. */
function refuseIfFull({ state, address }: Machine, fullFor: OrderParts["fullFor"]): void {
  const running = hasEnded(state.status) ? fullFor(state.workflow) : undefined;
  if (running === undefined) return;
  throw new EngineError(
    "INSTANCE_STATE",
    `cannot reopen instance "${address.id}": ${running} instances of workflow "${state.workflow}" run, which is its maximum`,
  );
}

function checkedParams(machine: Machine, task: number, params: string, registry: JobRegistry): string {
  const definition = machine.state.definition(task);
  const { name: taskName, kind } = definition;
  if (kind !== "job")
    throw new EngineError("TASK_INVALID", `task ${preview(taskName)} runs no job, so it has no params to update`);
  const text = params === "" ? undefined : params;
  const { job } = registry.resolve({ ...definition, params: text });
  // Empty where the task is to have none.
  return paramsText({ taskName, job, params: paramsFromText(params) }) ?? "";
}

/** A task by name or number. The code of a workflow may call a job many times: of that name, the one that has not ended. */
function unfinishedTask(machine: Machine, given: string | number): number {
  const { state, address, kind } = machine;
  if (typeof given === "number" || kind === "dag") return taskOf(machine, given);
  const unfinished = tasksNamed(machine, given).filter((task) => !isFinished(state.phase(task)));
  if (unfinished.length <= 1) return unfinished[0] ?? taskOf(machine, given);
  const numbers = unfinished.slice(0, 10).join(", ");
  throw new EngineError(
    "TASK_INVALID",
    `instance "${address.id}" has ${unfinished.length} tasks ${preview(given)} that have not ended; give the number of one of them: ${numbers}`,
  );
}

/** A task by name or number; of several with that name, which only code has, the last. `TASK_UNKNOWN`. */
export function taskOf(machine: Machine, given: string | number): number {
  if (typeof given === "string") return tasksNamed(machine, given).at(-1) ?? numberOf(machine, given);
  if (taskNumbers(machine).includes(given)) return given;
  throw new EngineError("TASK_UNKNOWN", `instance "${machine.address.id}" has no task of number ${given}`);
}

function tasksNamed(machine: Machine, name: string): number[] {
  return taskNumbers(machine).filter((task) => machine.state.definition(task).name === name);
}

function numberOf(machine: Machine, taskName: string): number {
  const task = machine.state.find(taskName);
  if (task !== undefined) return task;
  const names = taskNumbers(machine).map((number) => machine.state.definition(number).name);
  const hint = didYouMean(taskName, names);
  throw new EngineError("TASK_UNKNOWN", `instance "${machine.address.id}" has no task ${preview(taskName)}${hint}`);
}
