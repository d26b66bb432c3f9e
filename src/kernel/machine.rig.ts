/** One instance and what it is told, for the tests of both machines. */
import { EngineError, type ErrorCode } from "../base/error.ts";
import type { Command } from "./command.ts";
import type { Event } from "./event.ts";
import type { Failure } from "./failure.ts";
import type { AnyInput, Outcome, SharedInput, StartInstance } from "./input.ts";
import type { Machine } from "./machine.ts";
import { causeOf, statusOf } from "./task-state.ts";
import { Turn } from "./turn.ts";

export function failureOf(message: string, options: Partial<Failure> = {}): Failure {
  return { type: "Error", message, retryable: true, ...options };
}

const startOfW: StartInstance = {
  type: "StartInstance",
  workflow: "w",
  version: "1",
  generation: 1,
  context: {},
  trigger: "api",
  admission: "run",
};

/** Time stands still unless it is moved. `TaskId` is a task's name or number, whichever the tests of the machine use. */
export abstract class MachineRig<Input extends AnyInput, TaskId> {
  abstract readonly machine: Machine;
  at = 1000;
  random = 0;
  /** The events that the last message led to. */
  events: readonly Event[] = [];
  commands: readonly Command[] = [];
  dropped = 0;
  readonly history: { readonly at: number; readonly event: Event }[] = [];

  abstract task(id: TaskId): number;

  tell(input: Input | SharedInput): this {
    return this.#handle(input);
  }

  /** Also takes inputs of the other kind, as a sender that does not know the kind may send. */
  #handle(input: AnyInput): this {
    const turn = new Turn(this.at, this.random);
    this.machine.handle(input, turn);
    this.events = turn.events;
    this.commands = turn.commands;
    this.dropped = turn.dropped;
    this.history.push(...turn.events.map((event) => ({ at: this.at, event })));
    return this;
  }

  /** The code and message with which it is refused. */
  refusal(input: Input | AnyInput): { code: ErrorCode; message: string } {
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

  /** The fields with which a report about the task's current attempt begins. */
  report(id: TaskId): { task: number; attempt: number; generation: number } {
    const task = this.task(id);
    const { state } = this.machine;
    return { task, attempt: state.attempt(task), generation: state.generation };
  }

  begin(id: TaskId, worker = "w1"): this {
    return this.tell({ type: "AttemptStarted", ...this.report(id), worker, startedAt: this.at });
  }

  succeed(id: TaskId, result: Omit<Outcome & { kind: "success" }, "kind"> = {}): this {
    return this.complete(id, { kind: "success", ...result });
  }

  fail(id: TaskId, failure: Failure = failureOf("no")): this {
    return this.complete(id, { kind: "failure", failure });
  }

  lose(id: TaskId): this {
    return this.complete(id, { kind: "lost" });
  }

  complete(id: TaskId, outcome: Outcome): this {
    return this.tell({ type: "AttemptEnded", ...this.report(id), outcome });
  }

  withdraw(...ids: readonly TaskId[]): this {
    return this.tell({ type: "AttemptsWithdrawn", runs: ids.map((id) => this.report(id)) });
  }

  /** Time passes, and the instance is woken. */
  pass(ms: number): this {
    this.at += ms;
    return this.tell({ type: "TimerDue" });
  }

  nameOf(task: number): string {
    return this.machine.state.definition(task).name;
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

  /** Reads the history of another rig, as a new machine in another life does. */
  read({ at, history }: MachineRig<Input, TaskId>): this {
    for (const past of history) this.machine.apply(past.event, past.at);
    this.at = at;
    this.history.push(...history);
    return this;
  }
}
