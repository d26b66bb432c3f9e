import type { ContextLog } from "../base/context-log.ts";
import type { LastStep, Step } from "../kernel/code/step.ts";
import type { UndoScope } from "./undo-scope.ts";
import type { TaskStep } from "./waiting.ts";

// Warnings about work that the code of a workflow leaves behind when it ends.

/** Warns that an instance was ended, for this reason, while its code had undo handlers. */
export function warnOfDroppedUndo(log: ContextLog, { size }: UndoScope, reason: string): void {
  if (size === 0) return;
  log.warn(
    { handlers: size, reason },
    `an instance was ended with ${size} undo handlers, which are dropped: ${reason}`,
  );
}

/** Warns that undo handlers cannot pass to the next generation, because they are functions. */
export function warnOfUndo(log: ContextLog, { size }: UndoScope): void {
  if (size === 0) return;
  log.warn(
    { handlers: size },
    `the code of a workflow begins anew with ${size} undo handlers, which are dropped: what they would undo is final from now on`,
  );
}

/** Warns of tasks that the code asks for in its last reaction: it cannot wait for them, so they are stopped. */
export function warnOfUnawaited(log: ContextLog, steps: readonly Step[], does: "ends" | "begins anew"): void {
  for (const step of steps) {
    if (step.type !== "activity" && step.type !== "child") continue;
    if (step.type === "child" && (step.isDetached || step.node.whenParentEnds === "leave")) continue;
    const what = describeTask(step);
    const instead = step.type === "child" ? "await it first, or use ctx.startChild()" : "await it first";
    log.warn(
      { step: what },
      `the code of a workflow ${does} without waiting for ${what}, which it has just asked for and which is therefore stopped: ${instead}`,
    );
  }
}

/** Warns of updates whose handlers had not ended when the code took its last step. */
export function warnOfUnanswered(log: ContextLog, last: LastStep | undefined, updates: readonly string[]): void {
  if (last?.type !== "complete" && last?.type !== "continue") return;
  for (const update of updates) {
    log.warn(
      { update },
      `the code of a workflow ${last.type === "complete" ? "ends" : "begins anew"} while it handles update "${update}", which is therefore never answered: wait for it first`,
    );
  }
}

export function describeTask(task: TaskStep | undefined): string {
  if (task?.type === "child") return `child workflow "${task.node.workflowName}"`;
  return `activity "${task?.node.nodeName ?? task?.node.jobName}"`;
}
