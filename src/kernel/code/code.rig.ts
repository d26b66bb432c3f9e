/** Steps, messages and a machine, for the tests of the code machine. */
import { MachineRig } from "../machine.rig.ts";
import { defaultLimits, type MachineLimits } from "../machine.ts";
import type { NodeSpec } from "../node-spec.ts";
import type { CodeInput } from "./code-input.ts";
import { CodeMachine } from "./code-machine.ts";
import type { Step } from "./step.ts";

export function activity(name: string, extra: Partial<NodeSpec> = {}): Step {
  return { type: "activity", node: { nodeId: 0, nodeName: name, jobName: name, ...extra } };
}

export function child(
  name: string,
  { node, ...extra }: { node?: Partial<NodeSpec>; childId?: string; isDetached?: boolean } = {},
): Step {
  const spec = { nodeId: 0, nodeName: name, nodeType: 3 as const, workflowName: name, workflowVersion: "1", ...node };
  return { type: "child", node: spec, isDetached: false, ...extra };
}

export const timer = (dueAt: number): Step => ({ type: "timer", dueAt });

export interface RigOptions {
  readonly limits?: Partial<MachineLimits>;
  readonly timeoutMs?: number;
}

/** One instance of code, told things by task number. */
export class CodeRig extends MachineRig<CodeInput, number> {
  readonly machine: CodeMachine;
  readonly #options: RigOptions;

  constructor(options: RigOptions = {}) {
    super();
    this.#options = options;
    const limits = { ...defaultLimits, ...options.limits };
    this.machine = new CodeMachine({ id: "i", key: 7, limits, timeoutMs: options.timeoutMs });
  }

  /** Started, and its code has taken these steps. */
  static started(steps: readonly Step[] = [], options?: RigOptions): CodeRig {
    const rig = new CodeRig(options).start();
    return steps.length === 0 ? rig : rig.take(...steps);
  }

  override task(number: number): number {
    return number;
  }

  take(...steps: readonly Step[]): this {
    return this.tell({ type: "StepsTaken", steps });
  }

  get eventTypes(): string[] {
    return this.events.map(({ type }) => type);
  }

  get status(): string {
    return this.machine.status;
  }

  /** The same instance in another life: a new machine that has only read the history. */
  replayed(): CodeRig {
    return new CodeRig(this.#options).read(this);
  }
}
