import { namespaceOf } from "../../base/namespace.ts";
import { isOwnWorkflowName } from "../event.ts";
import { kindOf } from "../task-definition.ts";
import type { CodeState } from "./code-state.ts";
import { isLast, type Step, taskStepOf } from "./step.ts";

/**
 * Returns why an instance cannot take these steps, which came from outside this process; undefined if it can. Their form
 * is known to be right.
 */
export function findStepProblem(steps: readonly Step[], state: CodeState, instanceId: string): string | undefined {
  let { timers } = state;
  const open = new Set(state.updates?.open.map(({ update }) => update) ?? []);
  for (const [place, step] of steps.entries()) {
    const problem = problemOf(step, { timers, open, namespace: namespaceOf(instanceId) });
    if (problem !== undefined) return `step ${place}, ${step.type}, ${problem}`;
    if (isLast(step) && place < steps.length - 1) return `step ${place}, ${step.type}, is not the last`;
    if (step.type === "timer") timers++;
    if (step.type === "answer") open.delete(step.update);
  }
  return undefined;
}

interface Place {
  readonly timers: number;
  /** Updates without an answer. */
  readonly open: ReadonlySet<string>;
  readonly namespace: string;
}

function problemOf(step: Step, { timers, open, namespace }: Place): string | undefined {
  switch (step.type) {
    case "activity":
    case "child": {
      if (kindOf(step.node) === "decision" || taskStepOf(kindOf(step.node)) !== step.type)
        return "has another kind of task";
      const name = step.type === "child" ? step.node.workflowName : step.node.jobName;
      if (name === undefined || name === "") return "does not say what to run";
      if (step.type === "child" && isOwnWorkflowName(name)) return "starts a workflow that is the engine's own";
      const childId = step.type === "child" ? step.childId : undefined;
      return childId === undefined || namespaceOf(childId) === namespace ? undefined : "has an id of another namespace";
    }
    case "cancel-timer":
      return step.timer < timers ? undefined : `is about timer ${step.timer}, which was never set`;
    case "event":
    case "cancel-instance":
      return namespaceOf(step.to) === namespace ? undefined : "is for an instance of another namespace";
    case "answer":
      return open.has(step.update) ? undefined : `is about update "${step.update}", which is not open`;
    default:
      return undefined;
  }
}
