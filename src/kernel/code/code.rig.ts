/** Steps, messages and a machine, for the tests of the code machine. */
import { EngineError, type ErrorCode } from "../../base/error.ts";
import type { Command } from "../command.ts";
import type { Event } from "../event.ts";
import type { Failure } from "../failure.ts";
import type { AnyInput, Outcome, StartInstance } from "../input.ts";
import { defaultLimits, type Machine, type MachineLimits } from "../machine.ts";
import type { NodeSpec } from "../node-spec.ts";
import { causeOf, statusOf } from "../task-state.ts";
import { Turn } from "../turn.ts";
import type { CodeInput } from "./code-input.ts";
import { CodeMachine } from "./code-machine.ts";
import type { Step } from "./step.ts";

export function failureOf(message: string, options: Partial<Failure> = {}): Failure {
  return { type: "Error", message, retryable: true, ...options };
}

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

const startOfW: StartInstance = {
  type: "StartInstance",
  workflow: "w",
  version: "1",
  generation: 1,
  context: {},
  trigger: "api",
  admission: "run",
};

export interface RigOptions {
  readonly limits?: Partial<MachineLimits>;
  readonly timeoutMs?: number;
}

/** One instance of code, told things by task number; time stands still unless it is moved. */
export class CodeRig {
  readonly machine: CodeMachine;
  at = 1000;
  random = 0;
  /** Of the last message. */
  events: readonly Event[] = [];
  commands: readonly Command[] = [];
  dropped = 0;
  readonly history: { readonly at: number; readonly event: Event }[] = [];
  readonly #options: RigOptions;

  constructor(options: RigOptions = {}) {
    this.#options = options;
    const limits = { ...defaultLimits, ...options.limits };
    this.machine = new CodeMachine({ id: "i", key: 7, limits, timeoutMs: options.timeoutMs });
  }

  /** Started, and its code has taken these steps. */
  static started(steps: readonly Step[] = [], options?: RigOptions): CodeRig {
    const rig = new CodeRig(options).start();
    return steps.length === 0 ? rig : rig.take(...steps);
  }

  tell(input: CodeInput): this {
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
  refusal(input: CodeInput | AnyInput): { code: ErrorCode; message: string } {
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

  take(...steps: readonly Step[]): this {
    return this.tell({ type: "StepsTaken", steps });
  }

  /** What a report about the task's current attempt begins with. */
  report(task: number): { task: number; attempt: number; generation: number } {
    const { state } = this.machine;
    return { task, attempt: state.attempt(task), generation: state.generation };
  }

  begin(task: number, worker = "w1"): this {
    return this.tell({ type: "AttemptStarted", ...this.report(task), worker, startedAt: this.at });
  }

  succeed(task: number, result: Omit<Outcome & { kind: "success" }, "kind"> = {}): this {
    return this.complete(task, { kind: "success", ...result });
  }

  fail(task: number, failure: Failure = failureOf("no")): this {
    return this.complete(task, { kind: "failure", failure });
  }

  lose(task: number): this {
    return this.complete(task, { kind: "lost" });
  }

  complete(task: number, outcome: Outcome): this {
    return this.tell({ type: "AttemptEnded", ...this.report(task), outcome });
  }

  withdraw(...tasks: readonly number[]): this {
    return this.tell({ type: "AttemptsWithdrawn", runs: tasks.map((task) => this.report(task)) });
  }

  /** Time passes, and the instance is woken. */
  pass(ms: number): this {
    this.at += ms;
    return this.tell({ type: "TimerDue" });
  }

  get eventTypes(): string[] {
    return this.events.map(({ type }) => type);
  }

  get status(): string {
    return this.machine.status;
  }

  /** `a Success, b Canceled (instance-ended)`, in the order of the tasks. */
  get tasks(): string {
    const { state } = this.machine;
    const words: string[] = [];
    for (let task = 0; task < state.size; task++) {
      const phase = state.phase(task);
      const cause = causeOf(phase);
      words.push(`${state.definition(task).name} ${statusOf(phase)}${cause === undefined ? "" : ` (${cause})`}`);
    }
    return words.join(", ");
  }

  /** The same instance in another life: a new machine that has only read the history. */
  replayed(): CodeRig {
    const rig = new CodeRig(this.#options);
    for (const { at, event } of this.history) rig.machine.apply(event, at);
    rig.at = this.at;
    rig.history.push(...this.history);
    return rig;
  }
}
