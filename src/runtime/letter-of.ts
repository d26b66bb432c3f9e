import { assert } from "../base/assert.ts";
import type { Effect, InstanceActor } from "./instance-actor.ts";
import type { Letter } from "./outbox.ts";

/** The letter that an effect amounts to, if it concerns another instance. */
export function letterOf(actor: InstanceActor, effect: Effect): Letter | undefined {
  const { key: from, machine } = actor;
  switch (effect.type) {
    case "StartChild": {
      const { workflowName: workflow, workflowVersion: version } = machine.state.definition(effect.task);
      assert(workflow !== undefined && version !== undefined, "a nested workflow's version is fixed at submit");
      const context = Object.fromEntries(machine.state.context.entries);
      return { kind: "start-child", from, to: effect.childId, workflow, version, context, parent: effect.parent };
    }
    case "TellChild":
      return { kind: "tell-child", from, to: effect.childId, order: effect.tell };
    case "TellParent": {
      const { parent, status, reason, patch } = effect;
      const { id: to, task, attempt, generation } = parent;
      const outputs = status === "Success" ? actor.outputs() : {};
      return {
        kind: "tell-parent",
        from,
        to,
        task,
        attempt,
        generation,
        status,
        outputs,
        ...(reason !== undefined && { reason }),
        ...(patch !== undefined && { patch }),
      };
    }
    default:
      return undefined;
  }
}
