import { localName, qualifyAs } from "../base/namespace.ts";
import { durationSecondsMax, momentMax } from "../base/time-limits.ts";
import type { Step } from "../kernel/code/step.ts";
import type { KeptEvent } from "../kernel/event.ts";
import type { Failure } from "../kernel/failure.ts";
import type { NodeSpec } from "../kernel/node-spec.ts";
import { nodeTypes } from "../kernel/task-definition.ts";
import { statusNumbers } from "./client-messages.ts";
import { markOfId, tagsEvent, tagsText } from "./event-marks.ts";
import type { FailureDetails } from "./failure-details.ts";
import type { HistoryRenderer } from "./history-renderer.ts";
import { activityJob, workflowVersion } from "./names.ts";
import { failureOf, jsonOf, parsed } from "./payloads.ts";
import type { CompleteAction, OrchestratorAction, OrchestratorResponse } from "./worker-messages.ts";

/** What the server knows of names that orchestrations use. */
export interface KnownNames {
  /** True for a job of Heddle, which goes before activities of that name. */
  isJob(name: string): boolean;
  /** True for a workflow of Heddle, which goes before orchestrations of that name. */
  isWorkflow(name: string): boolean;
}

export interface ActionsContext {
  /** Qualified. */
  readonly instanceId: string;
  /** Has rendered the history that the orchestrator has seen. */
  readonly history: Pick<HistoryRenderer, "taskCount" | "nextId" | "customStatus" | "tags">;
  readonly known: KnownNames;
}

/** Converts what an orchestrator asked for to steps of a workflow's code. */
export function stepsOf(
  { actions, customStatus }: Pick<OrchestratorResponse, "actions" | "customStatus">,
  context: ActionsContext,
): Step[] {
  const steps: Step[] = [];
  const status = jsonOf(customStatus);
  if (status !== undefined && status !== context.history.customStatus) steps.push({ type: "custom-status", status });
  let tasks = context.history.taskCount;
  let expected = context.history.nextId;
  const ordered = actions.toSorted((a, b) => a.id - b.id);
  for (const action of ordered.filter(({ complete }) => complete === undefined)) {
    const step = stepOf(action, tasks, context);
    if (step === undefined) continue;
    if (action.id !== expected) steps.push({ type: "patch", patch: markOfId(action.id) });
    expected = action.id + 1;
    steps.push(step);
    if (step.type === "activity" || step.type === "child") tasks++;
  }
  const entity = actions.find(({ sendEntityMessage }) => sendEntityMessage !== undefined);
  const last = actions.find(({ complete }) => complete !== undefined)?.complete;
  if (entity !== undefined) steps.push({ type: "fail", failure: noEntities });
  else if (last !== undefined) steps.push(lastStepOf(last, context.history.tags));
  return steps;
}

const noEntities: Failure = {
  type: "NotSupported",
  message: "the orchestration calls or signals an entity, and this server has no entities",
  retryable: false,
};

/** Undefined for actions that are no steps. */
function stepOf(
  { id, scheduleTask, createChild, createTimer, sendEvent, terminate, createDetached }: OrchestratorAction,
  nodeId: number,
  { instanceId, known }: ActionsContext,
): Step | undefined {
  if (scheduleTask !== undefined) {
    const { name, input } = scheduleTask;
    return { type: "activity", node: activityNode({ nodeId, name, input }, known) };
  }
  if (createChild !== undefined || createDetached !== undefined) {
    const { instanceId: given = "", name = "", version, input } = createChild ?? createDetached ?? {};
    const node: NodeSpec = {
      nodeId,
      nodeType: nodeTypes.nested,
      workflowName: name,
      // The newest version of a workflow of Heddle is found where the instance is.
      ...(!known.isWorkflow(name) && { workflowVersion: workflowVersion(version) }),
      ...(input !== undefined && input !== "" && { nodeParams: input }),
      ...(createDetached !== undefined && { whenParentEnds: "leave" as const }),
    };
    const childId = given === "" ? `${localName(instanceId)}:${id.toString(16).padStart(4, "0")}` : given;
    return { type: "child", node, childId: qualifyAs(instanceId, childId), isDetached: createDetached !== undefined };
  }
  if (createTimer !== undefined) return { type: "timer", dueAt: Math.min(createTimer.fireAt ?? 0, momentMax) };
  if (sendEvent !== undefined) {
    const { instance, name } = sendEvent;
    const data = jsonOf(sendEvent.data);
    const to = qualifyAs(instanceId, instance?.instanceId ?? "");
    return { type: "event", to, name, ...(data !== undefined && { data }) };
  }
  if (terminate !== undefined) {
    const to = qualifyAs(instanceId, terminate.instanceId);
    return { type: "cancel-instance", to, reason: plainText(terminate.reason) };
  }
  return undefined;
}

function activityNode(
  { nodeId, name, input }: { nodeId: number; name: string; input: string | undefined },
  known: KnownNames,
): NodeSpec {
  const params = input === undefined || input === "" ? {} : { nodeParams: input };
  if (known.isJob(name)) return { nodeId, jobName: name, ...params };
  // Activities have no timeout but those of their orchestration.
  return { nodeId, nodeName: name, jobName: activityJob(name), timeoutSeconds: durationSecondsMax, ...params };
}

function lastStepOf(
  { status, result, failure, carryoverEvents }: CompleteAction,
  tags: ReadonlyMap<string, string>,
): Step {
  const output = jsonOf(result);
  switch (status) {
    case statusNumbers.COMPLETED:
      return { type: "complete", ...(output !== undefined && { output }) };
    case statusNumbers.CONTINUED_AS_NEW: {
      const events = carryoverEvents.flatMap(({ eventRaised }): KeptEvent[] => {
        const data = jsonOf(eventRaised?.input);
        return eventRaised === undefined ? [] : [{ name: eventRaised.name, ...(data !== undefined && { data }) }];
      });
      if (tags.size > 0) events.unshift({ name: tagsEvent, data: tagsText(tags) });
      return { type: "continue", events, ...(output !== undefined && { input: output }) };
    }
    case statusNumbers.TERMINATED:
    case statusNumbers.CANCELED:
      return { type: "cancel", reason: plainText(result) };
    default:
      return { type: "fail", failure: failureOf(failure ?? unexplained(status)) };
  }
}

function unexplained(status: number): FailureDetails {
  const errorMessage = `the orchestrator completed with status ${status} and without details`;
  return { errorType: "Error", errorMessage, stackTrace: undefined, innerFailure: undefined, isNonRetriable: false };
}

/** A JSON text as people read it; anything else as it is. */
function plainText(text: string | undefined): string {
  const value = parsed(text ?? "");
  return typeof value === "string" ? value : (text ?? "");
}
