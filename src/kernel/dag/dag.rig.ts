/** Definitions, messages and a machine, for the tests of the DAG machine. */
import type { Outcome } from "../input.ts";
import { failureOf, MachineRig } from "../machine.rig.ts";
import { defaultLimits, type MachineLimits } from "../machine.ts";
import type { NodeSpec } from "../node-spec.ts";
import type { TaskStatus } from "../status.ts";
import { statusOf } from "../task-state.ts";
import type { DagInput } from "./dag-input.ts";
import { DagMachine } from "./dag-machine.ts";
import type { DagSpec, EdgeSpec } from "./dag-spec.ts";
import { Graph } from "./graph.ts";

export interface SpecOptions extends Omit<DagSpec, "nodes" | "edges"> {
  /** What a node of that name has beyond it. */
  readonly nodes?: Readonly<Record<string, Partial<NodeSpec>>>;
}

/**
 * A definition from a line of text: `a b>c b>d:true x` has four edges' ends by name; a lone word is a node without edges.
 * `>!` is an edge that is disabled. Nodes are numbered from 1 in the order in which they are first named.
 */
export function specOf(text: string, { nodes: extras = {}, ...settings }: SpecOptions = {}): DagSpec {
  const ids = new Map<string, number>();
  const idOf = (name: string): number => ids.get(name) ?? ids.set(name, ids.size + 1).size;
  const edges: EdgeSpec[] = [];
  for (const word of text.split(/\s+/)) {
    const [path = "", property] = word.split(":");
    const names = path.split(">");
    names.forEach((name) => idOf(name.replace("!", "")));
    for (let place = 1; place < names.length; place++) {
      const to = names[place] as string;
      edges.push({
        from: idOf((names[place - 1] as string).replace("!", "")),
        to: idOf(to.replace("!", "")),
        ...(property !== undefined && { property }),
        ...(to.startsWith("!") && { enable: false }),
      });
    }
  }
  const nodes = Array.from(ids, ([nodeName, nodeId]) => ({ nodeId, nodeName, ...extras[nodeName] }));
  return { nodes, edges, ...settings };
}

export const decision = { nodeType: 2, nodeParams: "?" } as const;
export const nested = { nodeType: 3, workflowName: "inner" } as const;

export const failed: Outcome = { kind: "failure", failure: failureOf("no") };

/** One instance, told things by task name. */
export class DagRig extends MachineRig<DagInput, string> {
  readonly machine: DagMachine;
  constructor(spec: DagSpec | Graph, limits: Partial<MachineLimits> = {}) {
    super();
    const graph = spec instanceof Graph ? spec : new Graph(spec);
    this.machine = new DagMachine(graph, "i", 7, { ...defaultLimits, ...limits });
  }

  static started(text: string, options?: SpecOptions, limits?: Partial<MachineLimits>): DagRig {
    const rig = new DagRig(specOf(text, options), limits);
    rig.start();
    return rig;
  }

  override task(name: string): number {
    const task = this.machine.state.find(name);
    if (task === undefined) throw new Error(`no task ${name}`);
    return task;
  }

  decide(name: string, ok: unknown): this {
    return this.tell({ type: "DecisionEvaluated", ...this.report(name), value: { ok } });
  }

  pause(): this {
    return this.tell({ type: "PauseInstance" });
  }

  resume(): this {
    return this.tell({ type: "ResumeInstance" });
  }

  terminate(reason = "enough"): this {
    return this.tell({ type: "TerminateInstance", reason });
  }

  retry(): this {
    return this.tell({ type: "RetryInstance" });
  }

  /** Names of the jobs and children that the last step handed out. */
  get handedOut(): string[] {
    return this.commands.flatMap((command) => {
      if (command.type === "RunTasks") return command.tasks.map((task) => this.nameOf(task));
      if (command.type === "StartChild") return [this.nameOf(command.task)];
      return command.type === "TellChild" && command.tell.type === "RetryInstance"
        ? [this.nameOf(command.tell.parent.task)]
        : [];
    });
  }

  get status(): string {
    const { status, pausing } = this.machine.state;
    return pausing ? `${status}, pausing` : status;
  }

  statusOf(name: string): TaskStatus {
    return statusOf(this.machine.state.phase(this.task(name)));
  }

  /** The same instance in another life: a new machine that has only read the history. */
  replayed(): DagRig {
    return new DagRig(this.machine.state.graph).read(this);
  }
}
