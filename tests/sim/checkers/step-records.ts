import { unreachable } from "../../../src/base/assert.ts";
import type { LastStep, Step } from "../../../src/kernel/code/step.ts";
import type { Event, InstanceEnded } from "../../../src/kernel/event.ts";
import type { Payload } from "../../../src/kernel/payload.ts";

// The records of code steps, compared more strictly than an engine does in a replay: values count too.

type StepRecord = Extract<
  Event,
  {
    type:
      | "TaskAdded"
      | "TimerSet"
      | "TimerCanceled"
      | "EventSent"
      | "CancelSent"
      | "CancelHeeded"
      | "CustomStatusSet"
      | "PatchMarked"
      | "UpdateAnswered";
  }
>;

const types: ReadonlySet<string> = new Set<StepRecord["type"]>([
  "TaskAdded",
  "TimerSet",
  "TimerCanceled",
  "EventSent",
  "CancelSent",
  "CancelHeeded",
  "CustomStatusSet",
  "PatchMarked",
  "UpdateAnswered",
]);

export function isStepRecord(event: Event): event is StepRecord {
  return types.has(event.type);
}

type TextOf = (payload: Payload) => string;

/** Events that were copied from another instance may have had other values there: ids differ. */
export function isSameStep(
  event: StepRecord,
  step: Step,
  { isCopied, text }: { isCopied: boolean; text: TextOf },
): boolean {
  const recorded = recordOf(event, text);
  const actual = actualOf(step);
  if (isCopied) return recorded.type === actual.type;
  return JSON.stringify(recorded) === JSON.stringify(actual);
}

export function shownStep(step: Step): string {
  return JSON.stringify(step).slice(0, 200);
}

interface Likeness {
  readonly type: string;
  readonly values: readonly unknown[];
}

function recordOf(event: StepRecord, text: TextOf): Likeness {
  const textOf = (payload: Payload | undefined): string | undefined => payload && text(payload);
  switch (event.type) {
    case "TaskAdded":
      return { type: event.node.nodeType === 3 ? "child" : "activity", values: nodeValues(event.node) };
    case "TimerSet":
      return { type: "timer", values: [event.dueAt] };
    case "TimerCanceled":
      return { type: "cancel-timer", values: [event.timer] };
    case "EventSent":
      return { type: "event", values: [event.to, event.name, textOf(event.data)] };
    case "CancelSent":
      return { type: "cancel-instance", values: [event.to, event.reason] };
    case "CancelHeeded":
      return { type: "heed-cancel", values: [] };
    case "CustomStatusSet":
      return { type: "custom-status", values: [event.status] };
    case "PatchMarked":
      return { type: "patch", values: [event.patch] };
    case "UpdateAnswered":
      return { type: "answer", values: [event.update, textOf(event.output), event.failure?.message] };
    default:
      return unreachable(event, "the record of a step");
  }
}

function actualOf(step: Step): Likeness {
  switch (step.type) {
    case "activity":
    case "child":
      return { type: step.type, values: nodeValues(step.node) };
    case "timer":
      return { type: step.type, values: [step.dueAt] };
    case "cancel-timer":
      return { type: step.type, values: [step.timer] };
    case "event":
      return { type: step.type, values: [step.to, step.name, step.data] };
    case "cancel-instance":
      return { type: step.type, values: [step.to, step.reason] };
    case "custom-status":
      return { type: step.type, values: [step.status] };
    case "patch":
      return { type: step.type, values: [step.patch] };
    case "answer":
      return { type: step.type, values: [step.update, step.output, step.failure?.message] };
    default:
      return { type: step.type, values: [] };
  }
}

/** All fields except the version of a child DAG, which its engine chooses. */
function nodeValues(node: Extract<StepRecord, { type: "TaskAdded" }>["node"]): unknown[] {
  return Object.entries(node)
    .filter(([name]) => name !== "workflowVersion")
    .sort(([a], [b]) => (a < b ? -1 : 1));
}

export function isSameEnd({ status, reason, output }: InstanceEnded, last: LastStep, text: TextOf): boolean {
  switch (last.type) {
    case "complete":
      return status === "Success" && (output && text(output)) === last.output;
    case "fail":
      return status === "Failed" && reason === last.failure.message;
    case "cancel":
      return status === "Terminated" && reason === last.reason;
    default:
      return false;
  }
}
