/** Definitions, messages and a machine, for the tests of the DAG machine. */
import { EngineError, type ErrorCode } from "../../base/error.ts";
import type { Command } from "../command.ts";
import type { Event } from "../event.ts";
import type { Failure } from "../failure.ts";
import type { AnyInput, Outcome, StartInstance } from "../input.ts";
import { defaultLimits, type Machine, type MachineLimits } from "../machine.ts";
import type { TaskStatus } from "../status.ts";
import { Turn } from "../turn.ts";
import type { DagInput } from "./dag-input.ts";
import { DagMachine } from "./dag-machine.ts";
import type { DagSpec, EdgeSpec } from "./dag-spec.ts";
import type { NodeSpec } from "../node-spec.ts";
import { Graph } from "./graph.ts";
import { causeOf, statusOf } from "../task-state.ts";

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

export function failureOf(message: string, options: Partial<Failure> = {}): Failure {
  return { type: "Error", message, retryable: true, ...options };
}

export const failed: Outcome = { kind: "failure", failure: failureOf("no") };

const startOfW: StartInstance = {
  type: "StartInstance",
  workflow: "w",
  version: "1",
  generation: 1,
  context: {},
  trigger: "api",
  admission: "run",
};

/** One instance, told things by task name; time stands still unless it is moved. */
export class DagRig {
  readonly machine: DagMachine;
  at = 1000;
  random = 0;
  /** Of the last step. */
  events: readonly Event[] = [];
  commands: readonly Command[] = [];
  dropped = 0;
  readonly history: { readonly at: number; readonly event: Event }[] = [];

  constructor(spec: DagSpec | Graph, limits: Partial<MachineLimits> = {}) {
    const graph = spec instanceof Graph ? spec : new Graph(spec);
    this.machine = new DagMachine(graph, "i", 7, { ...defaultLimits, ...limits });
  }

  static started(text: string, options?: SpecOptions, limits?: Partial<MachineLimits>): DagRig {
    const rig = new DagRig(specOf(text, options), limits);
    rig.start();
    return rig;
  }

  tell(input: DagInput): this {
    return this.#handle(input);
  }

  /** Also takes inputs of the other kind, as a sender that does not know the kind may send. */
  #handle(input: AnyInput): this {
    const turn = new Turn(this.at, this.random);
    const machine: Machine = this.machine;
    machine.handle(input, turn);
    this.events = turn.events;
    this.commands = turn.commands;
    this.dropped = turn.dropped;
    this.history.push(...turn.events.map((event) => ({ at: this.at, event })));
    return this;
  }

  /** The code and message with which it is refused. */
  refusal(input: DagInput | AnyInput): { code: ErrorCode; message: string } {
    const before = this.history.length;
    try {
      this.#handle(input);
    } catch (error) {
      if (error instanceof EngineError && this.history.length === before) {
        return { code: error.code, message: error.message };
      }
      throw error;
    }
    throw new Error(`${input.type} was not refused`);
  }

  start(options: Partial<StartInstance> = {}): this {
    return this.tell({ ...startOfW, ...options });
  }

  task(name: string): number {
    const task = this.machine.state.find(name);
    if (task === undefined) throw new Error(`no task ${name}`);
    return task;
  }

  /** What a report about the task's current attempt begins with. */
  report(name: string): { task: number; attempt: number; generation: number } {
    const task = this.task(name);
    const { state } = this.machine;
    return { task, attempt: state.attempt(task), generation: state.generation };
  }

  begin(name: string, worker = "w1"): this {
    return this.tell({ type: "AttemptStarted", ...this.report(name), worker, startedAt: this.at });
  }

  succeed(name: string, result: Omit<Outcome & { kind: "success" }, "kind"> = {}): this {
    return this.complete(name, { kind: "success", ...result });
  }

  fail(name: string, failure: Failure = failureOf("no")): this {
    return this.complete(name, { kind: "failure", failure });
  }

  lose(name: string): this {
    return this.complete(name, { kind: "lost" });
  }

  complete(name: string, outcome: Outcome): this {
    return this.tell({ type: "AttemptEnded", ...this.report(name), outcome });
  }

  decide(name: string, ok: unknown): this {
    return this.tell({ type: "DecisionEvaluated", ...this.report(name), value: { ok } });
  }

  withdraw(...names: readonly string[]): this {
    return this.tell({ type: "AttemptsWithdrawn", runs: names.map((name) => this.report(name)) });
  }

  /** Time passes, and the instance is woken. */
  pass(ms: number): this {
    this.at += ms;
    return this.tell({ type: "TimerDue" });
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

  nameOf(task: number): string {
    return this.machine.state.definition(task).name;
  }

  get status(): string {
    const { status, pausing } = this.machine.state;
    return pausing ? `${status}, pausing` : status;
  }

  statusOf(name: string): TaskStatus {
    return statusOf(this.machine.state.phase(this.task(name)));
  }

  /** `a Success, b Canceled (branch)`, in the order of the tasks. */
  get tasks(): string {
    const { state } = this.machine;
    const words: string[] = [];
    for (let task = 0; task < state.size; task++) {
      const cause = causeOf(state.phase(task));
      words.push(`${this.nameOf(task)} ${statusOf(state.phase(task))}${cause === undefined ? "" : ` (${cause})`}`);
    }
    return words.join(", ");
  }

  /** The same instance in another life: a new machine that has only read the history. */
  replayed(): DagRig {
    const rig = new DagRig(this.machine.state.graph);
    for (const { at, event } of this.history) rig.machine.apply(event, at);
    rig.at = this.at;
    rig.history.push(...this.history);
    return rig;
  }
}
