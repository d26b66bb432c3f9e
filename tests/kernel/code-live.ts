/** Code and machine together, as an actor has them: what comes in becomes an event, the code sees it, its steps go back. */
import { defineWorkflow } from "../../src/authoring/code-workflow.ts";
import type { WorkflowContext } from "../../src/authoring/workflow-context.ts";
import { messageOf } from "../../src/base/error.ts";
import { silentLogger } from "../../src/base/logger.ts";
import type { Arrival } from "../../src/code/arrival.ts";
import { CodeRun } from "../../src/code/code-run.ts";
import { deliverAndWait } from "../../src/code/deliver-and-wait.ts";
import { CodeMachine } from "../../src/kernel/code/code-machine.ts";
import type { Step } from "../../src/kernel/code/step.ts";
import type { Event } from "../../src/kernel/event.ts";
import type { CodeInput } from "../../src/kernel/code/code-input.ts";
import { defaultLimits } from "../../src/kernel/machine.ts";
import { Turn } from "../../src/kernel/turn.ts";
import { arrivalOf } from "../../src/code/code-arrival.ts";
import { identityOfRun, type PastEvent } from "../../src/code/code-replay.ts";
import { whenDrained } from "../../src/code/code-run.rig.ts";

export type WorkflowCode = (ctx: WorkflowContext) => Promise<unknown>;

/** What the code saw at that place of the history, and what it did about it. */
export interface Reaction {
  readonly event: number;
  readonly steps: readonly Step[];
}

export class CodeLive {
  readonly machine = newMachine();
  at = 1000;
  readonly history: PastEvent[] = [];
  readonly reactions: Reaction[] = [];
  readonly #run: CodeRun;
  #turns = 0;

  constructor(code: WorkflowCode) {
    this.#run = newRun(code, this.machine);
  }

  get isOver(): boolean {
    return this.#run.isOver;
  }

  get isUndoingSaga(): boolean {
    return this.#run.compensation.isUndoingSaga;
  }

  async start(): Promise<void> {
    await this.tell({
      type: "StartInstance",
      workflow: "w",
      version: "1",
      generation: 1,
      context: {},
      trigger: "api",
      admission: "run",
    });
  }

  async tell(input: CodeInput): Promise<void> {
    const turn = new Turn(this.at, 0);
    this.machine.handle(input, turn);
    const first = this.history.length;
    for (let place = 0; place < turn.events.length; place++) {
      const arrival = await seenAs(turn.events[place]!);
      if (arrival === undefined || this.#run.isOver) continue;
      const steps: Step[] = [];
      await deliverAndWait(this.#run, arrival, turn.at, (taken) => {
        steps.push(...taken);
        if (taken.length > 0) this.machine.handle({ type: "StepsTaken", steps: taken }, turn);
      });
      this.reactions.push({ event: first + place, steps });
    }
    this.history.push(...turn.events.map((event) => ({ event, turn: this.#turns, at: this.at })));
    this.#turns++;
  }
}

export function newMachine(): CodeMachine {
  return new CodeMachine({ id: "i", key: 7, limits: defaultLimits, timeoutMs: undefined });
}

/** Where the machine stands after so much of a history. */
export function restored(past: readonly PastEvent[]): CodeMachine {
  const machine = newMachine();
  for (const { event, at } of past) machine.apply(event, at);
  return machine;
}

export function newRun(code: WorkflowCode, machine: CodeMachine): CodeRun {
  return new CodeRun({
    ...identityOfRun("i", machine.state),
    // A machine that was not started yet is in its first generation.
    generation: 1,
    randomOf: { id: "i", generation: 1 },
    workflow: defineWorkflow("w", code),
    logger: silentLogger,
    services: {
      whenDrained,
      failureFrom: (error) => ({ type: "Error", message: messageOf(error), retryable: true }),
      versionOf: () => "1",
      hasDomain: () => true,
      within: (call) => call(),
    },
    owner: {
      onStray: (_, error) => {
        throw error;
      },
    },
  });
}

export function seenAs(event: Event): Arrival | Promise<Arrival> | undefined {
  return arrivalOf(event, undefined, { read: () => Promise.reject(new Error("all values are small here")) });
}
