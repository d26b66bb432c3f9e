import { didYouMean } from "../base/closest-name.ts";
import { EngineError } from "../base/error.ts";
import { preview } from "../base/preview.ts";
import { localName } from "../base/namespace.ts";
import type { Machine } from "../kernel/machine.ts";
import { isFinished } from "../kernel/task-state.ts";
import { taskNumbers } from "../views/instance-view.ts";

/** The number of a task given by name or number; of several tasks with that name, which only code has, the last. `TASK_UNKNOWN`. */
export function findTask(machine: Machine, given: string | number): number {
  if (typeof given === "string") return tasksNamed(machine, given).at(-1) ?? findTaskNamed(machine, given);
  if (taskNumbers(machine).includes(given)) return given;
  throw new EngineError("TASK_UNKNOWN", `instance "${localName(machine.address.id)}" has no task of number ${given}`);
}

/** Code may call a job many times: a name then means the one task that has not ended. `TASK_INVALID` if there are several. */
export function findUnfinishedTask(machine: Machine, given: string | number): number {
  const { state, address, kind } = machine;
  if (typeof given === "number" || kind === "dag") return findTask(machine, given);
  const unfinished = tasksNamed(machine, given).filter((task) => !isFinished(state.phase(task)));
  if (unfinished.length <= 1) return unfinished[0] ?? findTask(machine, given);
  const numbers = unfinished.slice(0, 10).join(", ");
  throw new EngineError(
    "TASK_INVALID",
    `instance "${localName(address.id)}" has ${unfinished.length} tasks ${preview(given)} that have not ended; give the number of one of them: ${numbers}`,
  );
}

/** `TASK_UNKNOWN`. */
export function findTaskNamed(machine: Machine, taskName: string): number {
  const task = machine.state.find(taskName);
  if (task !== undefined) return task;
  const names = taskNumbers(machine).map((number) => machine.state.definition(number).name);
  const hint = didYouMean(taskName, names);
  throw new EngineError(
    "TASK_UNKNOWN",
    `instance "${localName(machine.address.id)}" has no task ${preview(taskName)}${hint}`,
  );
}

function tasksNamed(machine: Machine, name: string): number[] {
  return taskNumbers(machine).filter((task) => machine.state.definition(task).name === name);
}
