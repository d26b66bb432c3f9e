import { paramsFromText } from "../authoring/job-params.ts";
import type { JobRegistry } from "../authoring/job-registry.ts";
import { paramsText } from "../authoring/task.ts";
import { EngineError } from "../base/error.ts";
import { localName } from "../base/namespace.ts";
import { preview } from "../base/preview.ts";
import type { Input } from "./input.ts";
import { DagMachine } from "../kernel/dag/dag-machine.ts";
import type { Machine } from "../kernel/machine.ts";
import type { CallOf, InputCall } from "./call.ts";
import { findTaskNamed, findUnfinishedTask } from "./find-task.ts";
import { pagesOf } from "./item-pages.ts";

/**
 * The input of the instance's machine that a call stands for: task names become numbers, and parameters are checked
 * against the job that this member has. `TASK_UNKNOWN`, `TASK_INVALID`, `PARAMS_INVALID`.
 */
export function inputOf(call: InputCall, machine: Machine, registry: JobRegistry): Input {
  switch (call.type) {
    case "PauseInstance":
      return pauseInput(call);
    case "ResumeInstance":
      return { type: call.type };
    case "TerminateInstance":
    case "CancelInstance":
      return { type: call.type, reason: call.reason };
    case "RaiseEvent":
    case "RequestUpdate":
      return codeInput(call);
    case "StopTask":
      return { type: "StopTask", task: findUnfinishedTask(machine, call.task), reason: call.reason };
    case "CompleteTask":
      return completionInput(call, machine);
    case "UpdateContext":
      return { type: "UpdateContext", patch: call.patch };
    case "UpdateParams": {
      const task = findTaskNamed(machine, call.task);
      return { type: "UpdateParams", task, params: checkParams(machine, task, call.params, registry) };
    }
    case "AddItems":
      return addedItems(call, machine);
    case "AddSubTask":
      return { type: "AddSubTask", parent: findTaskNamed(machine, call.parent), node: call.node };
    default:
      return reopeningInput(call, machine, registry);
  }
}

function pauseInput({ type, by, reason }: CallOf<"PauseInstance">): Input {
  return { type, ...(by !== undefined && { by }), ...(reason !== undefined && { reason }) };
}

function codeInput(call: CallOf<"RaiseEvent" | "RequestUpdate">): Input {
  const data = call.data === undefined ? {} : { data: call.data };
  if (call.type === "RaiseEvent") return { type: "RaiseEvent", name: call.name, ...data };
  return { type: "RequestUpdate", update: call.update, name: call.name, ...data };
}

/** `COMPLETION_LATE` for the token of an earlier instance that had the same id. */
function completionInput({ id, createdAt, ...call }: CallOf<"CompleteTask">, { state }: Machine): Input {
  const { type, task, attempt, generation, result } = call;
  if (state.createdAt === createdAt) return { type, task, attempt, generation, result };
  const message = `the instance "${localName(id)}" that waited for that completion is gone`;
  throw new EngineError("COMPLETION_LATE", message);
}

/** Items of the call that are there already are left out. `MAP_ITEMS_INVALID`. */
function addedItems(
  { task, attempt, generation, call, from, items: text }: CallOf<"AddItems">,
  machine: Machine,
): Input {
  const items: unknown = JSON.parse(text);
  if (!Array.isArray(items))
    throw new EngineError("MAP_ITEMS_INVALID", "the items that a task hands in must be a list");
  const map = machine instanceof DagMachine ? machine.state.items.find(task) : undefined;
  const known = Math.min(Math.max(0, (map?.handedIn.count(task, call) ?? 0) - from), items.length);
  const pages = pagesOf(items.slice(known), map?.definitionOf(task).name ?? String(task));
  return { type: "AddItems", task, attempt, generation, call, from: from + known, pages };
}

type ReopeningCall = CallOf<"RetryInstance" | "RerunInstance" | "SucceedTask" | "SkipTask">;

function reopeningInput(call: ReopeningCall, machine: Machine, registry: JobRegistry): Input {
  if (call.type === "RetryInstance") return { type: "RetryInstance" };
  const task = findTaskNamed(machine, call.task);
  if (call.type === "SkipTask") return { type: "SkipTask", task };
  if (call.type === "SucceedTask") {
    return { type: "SucceedTask", task, ...(call.output !== undefined && { output: call.output }) };
  }
  if (call.params === undefined) return { type: "RerunInstance", task };
  return { type: "RerunInstance", task, params: checkParams(machine, task, call.params, registry) };
}

/** Checks the parameters against the task's job; an empty text stands for none. */
function checkParams(machine: Machine, task: number, params: string, registry: JobRegistry): string {
  const definition = machine.state.definition(task);
  const { name: taskName, kind } = definition;
  if (kind !== "job" && kind !== "map")
    throw new EngineError("TASK_INVALID", `task ${preview(taskName)} runs no job, so it has no params to update`);
  const text = params === "" ? undefined : params;
  const { job } = registry.resolve({ ...definition, params: text });
  return paramsText({ taskName, job, params: paramsFromText(params) }) ?? "";
}
