import { parseStored } from "../base/stored-json.ts";
import type { MaxInstances } from "../kernel/dag/dag-spec.ts";
import type { InstanceSummary, Store } from "../stores/store.ts";
import type { Definitions } from "./definitions.ts";
import type { Admit, EnterGate, LeaveGate, OutboxMessage } from "./outbox.ts";

/** Where the gate of a workflow is: like an instance, it lives on the shard of its name. */
export function gateAddress(workflow: string): string {
  return `workflow:${workflow}`;
}

const pageSize = 1000;

/**
 * The gates of workflows with a maximum of concurrent instances, for members that share the instances among them. A gate
 * lives on one shard and is spoken to in messages: an instance is created waiting, asks to be let in with the turn that
 * creates it, and says with its last turn that it has left. An answer is written in the same commit that consumes the
 * question.
 *
 * - S1 Nothing of its own is on disk: an instance that is `Ready` waits, any other unfinished one is in, and so is one
 *   to which a message that lets it in is under way.
 * - S2 While any wait, one that is in will leave: the commit that consumed the last leaving has let the next one in. So
 *   a gate that is made anew, because its shard moved, need not be made before a message comes.
 */
export class SharedGates {
  readonly #shard: number;
  readonly #shardCount: number;
  readonly #store: Store;
  readonly #definitions: Definitions;
  readonly #gates = new Map<string, Gate>();

  constructor(options: { shard: number; shardCount: number; store: Store; definitions: Definitions }) {
    this.#shard = options.shard;
    this.#shardCount = options.shardCount;
    this.#store = options.store;
    this.#definitions = options.definitions;
  }

  /** What is to be answered to whom. Messages are handed over one at a time. */
  async read(message: EnterGate | LeaveGate): Promise<Admit[]> {
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
    if (gate.inside.size + gate.waiting.size === 0) this.#gates.delete(message.workflow);
    return fill(gate);
  }

  async #gateOf(workflow: string): Promise<Gate> {
    const known = this.#gates.get(workflow);
    if (known !== undefined) return known;
    const gate: Gate = { max: Infinity, inside: new Set(), waiting: new Set() };
    // In this order: one that is let in while the instances are read has been counted by its message.
    const answered = await this.#answersUnderWay();
    for (const { id, version, status, quarantined } of await this.#unfinished(workflow)) {
      const limit = (await this.#definitions.load(workflow, version)).spec.maxInstances;
      // One without a maximum neither asks to be let in nor says that it leaves.
      if (limit === undefined || limit.max <= 0) continue;
      // The maximum that counts is that of the definition started last.
      gate.max = limit.max;
      const isWaiting = status === "Ready" && answered.get(id) !== "admitted";
      if (!isWaiting) gate.inside.add(id);
      // Where nobody waits for a place, the instance has yet to ask.
      else if (limit.policy === "queue" && quarantined === null && !answered.has(id)) gate.waiting.add(id);
    }
    this.#gates.set(workflow, gate);
    return gate;
  }

  /** By instance: what an earlier owner of this shard has answered, where that has not been read yet. */
  async #answersUnderWay(): Promise<Map<string, "admitted" | "refused">> {
    const shards = Array.from({ length: this.#shardCount }, (_, shard) => shard);
    const answers = new Map<string, "admitted" | "refused">();
    for (const { source, body } of await this.#store.loadOutbox(shards)) {
      const message =
        source === this.#shard ? (parseStored(body, `a message of shard ${source}`) as OutboxMessage) : undefined;
      if (message?.kind === "admit") answers.set(message.to, message.refusal === undefined ? "admitted" : "refused");
    }
    return answers;
  }

  /** The oldest first. */
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

function enter(gate: Gate, instanceId: string, { max, policy }: MaxInstances): Admit | undefined {
  // It asks again, because it may have missed the answer.
  if (gate.inside.has(instanceId)) return admit(instanceId);
  if (gate.waiting.has(instanceId)) return undefined;
  const count = gate.inside.size + gate.waiting.size;
  if (policy === "queue" || count < max) {
    gate.waiting.add(instanceId);
    return undefined;
  }
  return { ...admit(instanceId), refusal: { refuse: policy, reason: `too many instances(${count + 1}>${max})` } };
}

function fill(gate: Gate): Admit[] {
  const admitted: Admit[] = [];
  for (const instanceId of gate.waiting) {
    if (gate.inside.size >= gate.max) break;
    gate.waiting.delete(instanceId);
    gate.inside.add(instanceId);
    admitted.push(admit(instanceId));
  }
  return admitted;
}

function admit(to: string): Admit {
  return { kind: "admit", from: 0, to };
}

interface Gate {
  max: number;
  readonly inside: Set<string>;
  /** In order of arrival. */
  readonly waiting: Set<string>;
}
