import { parseStored } from "../base/stored-json.ts";
import type { MaxInstances } from "../kernel/dag/dag-spec.ts";
import type { InstanceSummary, Store } from "../stores/store.ts";
import type { Definitions } from "./definitions.ts";
import type { GateAnswer, EnterGate, LeaveGate, OutboxMessage } from "./outbox.ts";

/** The address of a workflow's gate: like an instance, it lives on the shard of its name. */
export function gateAddress(workflow: string): string {
  return `workflow:${workflow}`;
}

const pageSize = 1000;

/** Number of gates up to which empty ones stay in memory. */
const gatesMax = 1000;

/**
 * The gates of workflows with a maximum of concurrent instances, in a cluster. A gate lives on one shard and is reached by
 * messages: an instance is created waiting, asks for a place with the turn that creates it, and leaves with its last turn.
 * An answer is written in the same commit that consumes the request.
 *
 * - S1 A gate has no rows of its own: an instance that is `Ready` waits, any other unfinished one is inside, and so is one
 *   with an `admit` message under way.
 * - S2 While any wait, one that is inside will leave: the commit that consumed the last `leave-gate` has admitted the next
 *   instance. So a gate whose shard moved need not be created before a message comes.
 */
export class SharedGates {
  readonly #shard: number;
  readonly #store: Store;
  readonly #definitions: Definitions;
  readonly #gates = new Map<string, Gate>();

  constructor(options: { shard: number; store: Store; definitions: Definitions }) {
    this.#shard = options.shard;
    this.#store = options.store;
    this.#definitions = options.definitions;
  }

  /** Handles a message and returns the answers. Messages come one at a time. */
  async read(message: EnterGate | LeaveGate): Promise<GateAnswer[]> {
    const gate = await this.#gateOf(message.workflow);
    if (message.kind === "leave-gate") {
      gate.inside.delete(message.instanceId);
      gate.waiting.delete(message.instanceId);
    } else {
      const { instanceId, limit, isReopened } = message;
      gate.max = limit.max;
      if (isReopened) gate.inside.add(instanceId);
      else {
        const answer = enter(gate, instanceId, limit);
        if (answer !== undefined) return [answer, ...fill(gate)];
      }
    }
    if (gate.inside.size + gate.waiting.size === 0) this.#onEmptied(message.workflow, gate);
    return fill(gate);
  }

  /** An empty gate is kept, up to a number, because the next message would read it from the store again. */
  #onEmptied(workflow: string, gate: Gate): void {
    this.#gates.delete(workflow);
    if (this.#gates.size < gatesMax) this.#gates.set(workflow, gate);
  }

  async #gateOf(workflow: string): Promise<Gate> {
    const known = this.#gates.get(workflow);
    if (known !== undefined) return known;
    const gate: Gate = { max: Infinity, inside: new Set(), waiting: new Set() };
    // Messages are read before instances: an instance that is admitted while the instances are read is counted by its
    // message.
    const answered = await this.#answersUnderWay();
    for (const { id, version, status, quarantined } of await this.#unfinished(workflow)) {
      const limit = (await this.#definitions.load(workflow, version)).spec.maxInstances;
      // An instance of a version without a maximum neither enters nor leaves.
      if (limit === undefined || limit.max <= 0) continue;
      // The maximum that counts is that of the definition started last.
      gate.max = limit.max;
      const isWaiting = status === "Ready" && answered.get(id) !== "admitted";
      if (!isWaiting) gate.inside.add(id);
      // Under the other policies no instance waits for a place: this one has yet to ask.
      else if (limit.policy === "queue" && quarantined === null && !answered.has(id)) gate.waiting.add(id);
    }
    this.#gates.set(workflow, gate);
    return gate;
  }

  /** Answers of earlier owners of this shard that were not consumed yet, by instance. */
  async #answersUnderWay(): Promise<Map<string, "admitted" | "refused">> {
    const answers = new Map<string, "admitted" | "refused">();
    for (const { source, body } of await this.#store.loadOutboxOf(this.#shard)) {
      const message = parseStored(body, `a message of shard ${source}`) as OutboxMessage;
      if (message.kind === "admit") answers.set(message.to, message.refusal === undefined ? "admitted" : "refused");
    }
    return answers;
  }

  /** Lists the unfinished instances of the workflow, oldest first. */
  async #unfinished(workflow: string): Promise<InstanceSummary[]> {
    const all: InstanceSummary[] = [];
    for (let before: InstanceSummary | undefined; ;) {
      const page = await this.#store.listInstances({
        workflow,
        status: ["Ready", "Running", "Paused"],
        ...(before !== undefined && { before }),
        limit: pageSize,
      });
      all.push(...page);
      const last = page.at(-1);
      if (last === undefined || page.length < pageSize) return all.sort((a, b) => a.createdAt - b.createdAt);
      before = last;
    }
  }
}

function enter(gate: Gate, instanceId: string, { max, policy }: MaxInstances): GateAnswer | undefined {
  // The instance asks again, because it may have missed the answer.
  if (gate.inside.has(instanceId)) return admit(instanceId);
  if (gate.waiting.has(instanceId)) return undefined;
  const count = gate.inside.size + gate.waiting.size;
  if (policy === "queue" || count < max) {
    gate.waiting.add(instanceId);
    return undefined;
  }
  return { ...admit(instanceId), refusal: { refuse: policy, reason: `too many instances(${count + 1}>${max})` } };
}

function fill(gate: Gate): GateAnswer[] {
  const admitted: GateAnswer[] = [];
  for (const instanceId of gate.waiting) {
    if (gate.inside.size >= gate.max) break;
    gate.waiting.delete(instanceId);
    gate.inside.add(instanceId);
    admitted.push(admit(instanceId));
  }
  return admitted;
}

function admit(to: string): GateAnswer {
  return { kind: "admit", from: 0, to };
}

interface Gate {
  max: number;
  readonly inside: Set<string>;
  /** Instances that wait for a place, in order of arrival. */
  readonly waiting: Set<string>;
}
