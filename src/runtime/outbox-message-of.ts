import { assert, unreachable } from "../base/assert.ts";
import { localName, qualifyAs } from "../base/namespace.ts";
import type { Command, StartChild } from "../kernel/command.ts";
import { scheduleWorkflowName } from "../kernel/event.ts";
import { childWorkflow } from "../kernel/task-definition.ts";
import type { InstanceActor } from "./instance-actor.ts";
import type { OutboxMessage } from "./outbox.ts";

/** The message of a command that concerns another instance; undefined for a command that concerns only its own. */
export function outboxMessageOf(actor: InstanceActor, command: Command): OutboxMessage | undefined {
  const { key: from } = actor;
  switch (command.type) {
    case "StartChild":
      return startMessage(actor, command);
    case "TellChild":
      return { kind: "tell-child", from, to: command.childId, order: command.tell };
    case "CancelOther":
      return { kind: "cancel-other", from, to: command.to, reason: command.reason };
    case "SendEvent": {
      const { to, name, data } = command;
      return { kind: "raise-event", from, to, name, ...(data !== undefined && { data }) };
    }
    case "TellParent": {
      const { parent, status, reason, patch, output, failure } = command;
      const { id: to, task, attempt, generation } = parent;
      const outputs = status === "Success" ? actor.outputs() : undefined;
      return {
        kind: "tell-parent",
        from,
        to,
        task,
        attempt,
        generation,
        status,
        ...(outputs !== undefined && { outputs }),
        ...(output !== undefined && { output }),
        ...(failure !== undefined && { failure }),
        ...(reason !== undefined && { reason }),
        ...(patch !== undefined && { patch }),
      };
    }
    case "RunTasks":
    case "WithdrawTasks":
    case "AbortTasks":
    case "EvaluateDecision":
    case "ListItems":
      return undefined;
    default:
      return unreachable(command, "a command");
  }
}

function startMessage(
  { key: from, id, machine: { kind, state } }: InstanceActor,
  { task, childId: to, of = childWorkflow(state.definition(task)), parent, input, isGivenId }: StartChild,
): OutboxMessage {
  const { workflow, version } = of;
  assert(workflow !== undefined && version !== undefined, "a child's version is fixed before it is asked for");
  return {
    kind: "start-child",
    from,
    to,
    workflow: qualifyAs(id, workflow),
    version,
    ...(kind === "dag" && { context: Object.fromEntries(state.context.entries) }),
    ...(input !== undefined && { input }),
    ...(parent !== undefined && { parent }),
    ...(isGivenId && { isGivenId }),
    ...(localName(state.workflow) === scheduleWorkflowName && { trigger: "schedule" as const }),
    ...(state.traceparent !== undefined && { traceparent: state.traceparent }),
    ...(state.app !== undefined && { app: state.app }),
  };
}
