import type { MaxInstances } from "../kernel/dag/dag-spec.ts";
import type { StartInstance } from "../kernel/input.ts";

/**
 * Enforces the maximum of concurrent instances of workflows, for one member alone. Its state is derived from the durable
 * statuses of instances, also after a restart: an instance that is `Ready` waits, any other unfinished one counts. While
 * more run than the maximum, because some were reopened, nobody is admitted.
 */
export class WorkflowGates {
  readonly #gates = new Map<string, Gate>();
  readonly #unfinished: (workflow: string) => Iterable<UnfinishedInstance>;
  readonly #admit: (workflow: string, instanceId: string) => void;

  /** `admit` is called when a waiting instance may start. */
  constructor(options: {
    unfinished: (workflow: string) => Iterable<UnfinishedInstance>;
    admit: (workflow: string, instanceId: string) => void;
  }) {
    this.#unfinished = options.unfinished;
    this.#admit = options.admit;
  }

  /** The maximum that counts is that of the definition started last. Only workflows that have one pay for it. */
  enter(workflow: string, instanceId: string, limit: MaxInstances | undefined): StartInstance["admission"] {
    const isLimited = limit !== undefined && limit.max > 0;
    if (!isLimited && !this.#gates.has(workflow)) return "run";
    const gate = this.#limit(workflow, limit);
    const count = gate.running.size + gate.waiting.size;
    if (!isLimited || count < limit.max) {
      gate.running.add(instanceId);
      return "run";
    }
    if (limit.policy === "queue") {
      gate.waiting.add(instanceId);
      return "queue";
    }
    return { refuse: limit.policy, reason: `too many instances(${count + 1}>${limit.max})` };
  }

  /** Admits waiting instances after a restart, as far as there are places. */
  restore(workflow: string, limit: MaxInstances | undefined): void {
    this.#fill(workflow, this.#limit(workflow, limit));
  }

  /** Queues an instance again that was quarantined while it waited. */
  rejoin(workflow: string, instanceId: string, limit: MaxInstances | undefined): void {
    const gate = this.#limit(workflow, limit);
    if (!gate.running.has(instanceId)) gate.waiting.add(instanceId);
    this.#fill(workflow, gate);
  }

  /** Counts a reopened instance, which the maximum does not hold up: more may run than the maximum until some end. */
  reenter(workflow: string, instanceId: string): void {
    this.#gates.get(workflow)?.running.add(instanceId);
  }

  /** Frees the place of an instance that has ended, or whose start was refused. */
  leave(workflow: string, instanceId: string): void {
    const gate = this.#gates.get(workflow);
    if (gate === undefined) return;
    gate.running.delete(instanceId);
    gate.waiting.delete(instanceId);
    this.#fill(workflow, gate);
    if (gate.running.size === 0 && gate.waiting.size === 0) this.#gates.delete(workflow);
  }

  #fill(workflow: string, gate: Gate): void {
    for (const instanceId of gate.waiting) {
      if (gate.running.size >= gate.max) return;
      gate.waiting.delete(instanceId);
      gate.running.add(instanceId);
      this.#admit(workflow, instanceId);
    }
  }

  #limit(workflow: string, limit: MaxInstances | undefined): Gate {
    let gate = this.#gates.get(workflow);
    if (gate === undefined) {
      gate = { max: Infinity, running: new Set(), waiting: new Set() };
      for (const { id, isWaiting } of this.#unfinished(workflow)) (isWaiting ? gate.waiting : gate.running).add(id);
      this.#gates.set(workflow, gate);
    }
    gate.max = limit !== undefined && limit.max > 0 ? limit.max : Infinity;
    return gate;
  }
}

/** An unfinished instance; they are listed in order of creation. */
export interface UnfinishedInstance {
  readonly id: string;
  /** True if the instance is `Ready`: created above the maximum and not yet started. */
  readonly isWaiting: boolean;
}

interface Gate {
  max: number;
  readonly running: Set<string>;
  /** Instances that wait for a place, in order of arrival. */
  readonly waiting: Set<string>;
}
