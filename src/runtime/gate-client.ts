import type { MaxInstances } from "../kernel/dag/dag-spec.ts";
import type { StartInstance } from "../kernel/input.ts";
import type { Definition } from "./definitions.ts";
import type { ActorTurn, InstanceActor } from "./instance-actor.ts";
import type { EnterGate, LeaveGate, OutboxMessage } from "./outbox.ts";
import { gateAddress } from "./shared-gates.ts";
import type { WorkflowGates } from "./workflow-gate.ts";

export interface GateClientParts {
  readonly gates: WorkflowGates;
  readonly sharesInstances: boolean;
  /** Writes messages outside of turns, and posts them. */
  readonly send: (messages: readonly OutboxMessage[]) => Promise<void>;
}

/**
 * Applies for a place under the workflow's maximum of concurrent instances. One member alone asks its own gates and is
 * answered at once. In a cluster the gate lives on the shard of the workflow's name: an instance enters and leaves by
 * messages that its turns write, and is queued until the gate's `admit` arrives.
 */
export class GateClient {
  readonly #parts: GateClientParts;

  constructor(parts: GateClientParts) {
    this.#parts = parts;
  }

  /**
   * Returns whether a new instance may run. Where the gate has to be asked by message, the instance is queued until the
   * answer.
   */
  admissionOf(definition: Definition, id: string): StartInstance["admission"] {
    if (this.#sharedLimit(definition) !== undefined) return "queue";
    return this.#parts.gates.enter(definition.name, id, definition.spec.maxInstances);
  }

  /** The message of the turn to its workflow's gate, if it has to send one. */
  messageOf(turn: ActorTurn): EnterGate | LeaveGate | undefined {
    const { actor } = turn;
    const limit = this.#sharedLimit(actor.definition);
    if (limit === undefined || turn.events.length === 0) return undefined;
    if (turn.hasEnded) return { kind: "leave-gate", ...gateOf(actor) };
    if (turn.wasReopened) return { kind: "enter-gate", ...gateOf(actor), limit, isReopened: true };
    if (turn.events[0]?.type !== "InstanceCreated") return undefined;
    return { kind: "enter-gate", ...gateOf(actor), limit, isReopened: false };
  }

  /** Asks again for an instance that is queued and may have missed the gate's answer. */
  async rejoin(actor: InstanceActor): Promise<void> {
    const { definition, id } = actor;
    const limit = this.#sharedLimit(definition);
    if (limit === undefined) return this.#parts.gates.rejoin(definition.name, id, definition.spec.maxInstances);
    await this.#parts.send([{ kind: "enter-gate", ...gateOf(actor), limit, isReopened: false }]);
  }

  /** Undefined unless the workflow has a maximum that its instances share with those of other members. */
  #sharedLimit({ spec: { maxInstances } }: Definition): MaxInstances | undefined {
    return this.#parts.sharesInstances && maxInstances !== undefined && maxInstances.max > 0 ? maxInstances : undefined;
  }
}

function gateOf({ key: from, id: instanceId, definition }: InstanceActor): Omit<LeaveGate, "kind"> {
  const { name: workflow } = definition;
  return { from, to: gateAddress(workflow), workflow, instanceId };
}
