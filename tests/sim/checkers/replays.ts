import { silentLogger } from "../../../src/base/logger.ts";
import { messageOf } from "../../../src/base/error.ts";
import { CodeRun } from "../../../src/code/code-run.ts";
import { whenDrained } from "../../../src/code/code-run.rig.ts";
import { deliverAndWait } from "../../../src/code/deliver-and-wait.ts";
import type { CodeState } from "../../../src/kernel/code/code-state.ts";
import { CodeMachine } from "../../../src/kernel/code/code-machine.ts";
import { isLast, type LastStep, type Step } from "../../../src/kernel/code/step.ts";
import type { Event } from "../../../src/kernel/event.ts";
import { arrivalOf } from "../../../src/code/code-arrival.ts";
import { identityOfRun } from "../../../src/code/code-replay.ts";
import { scheduleWorkflow } from "../../../src/schedules/schedule-workflow.ts";
import type { PayloadRef } from "../../../src/kernel/payload.ts";
import { failureFrom } from "../../../src/worker/failure-from.ts";
import { codeWorkflows } from "../code-workflows.ts";
import type { Evidence } from "../evidence.ts";
import type { AsyncChecker } from "./checker.ts";
import {
  beginsGeneration,
  type CommitHistory,
  commitHistoryOf,
  type DurableEvent,
  eventsOf,
  type InstanceCommits,
} from "./commit-history.ts";
import { newMachine } from "./replay.ts";
import { isSameEnd, isSameStep, isStepRecord, shownStep } from "./step-records.ts";

/**
 * Replayed code takes the recorded steps, from the start of each of its generations: the same ones, in the same order,
 * with the same values, none before its cause; and it ends in the same way.
 */
export const checkReplays: AsyncChecker = async (evidence) => {
  const wrong: string[] = [];
  for (const instance of commitHistoryOf(evidence).instances.values()) {
    const machine = newMachine(evidence.finalState, instance);
    if (!(machine instanceof CodeMachine)) continue;
    wrong.push(...(await new Rerun(evidence, instance, machine).follow()));
  }
  return wrong;
};

class Rerun {
  readonly #instance: InstanceCommits;
  readonly #commitHistory: CommitHistory;
  readonly #machine: CodeMachine;
  /** The reasons of clients that terminated it. */
  readonly #terminations: ReadonlySet<string | undefined>;
  readonly #wrong: string[] = [];
  #run: CodeRun | undefined;
  /** The records of this generation, in the order of its history. */
  #place = 0;
  /** Steps that the code has taken now, and that were not found in the history yet. */
  #taken: Step[] = [];

  constructor(evidence: Evidence, instance: InstanceCommits, machine: CodeMachine) {
    this.#instance = instance;
    this.#machine = machine;
    this.#commitHistory = commitHistoryOf(evidence);
    const calls = evidence.calls.filter(({ operation }) => operation === "terminate");
    this.#terminations = new Set(calls.map(({ marker }) => marker));
  }

  async follow(): Promise<string[]> {
    const events = eventsOf(this.#instance);
    for (const [place, durable] of events.entries()) {
      const { event, turnAt } = durable;
      if (beginsGeneration(event)) this.#begin(events.slice(place), durable);
      else this.#machine.apply(event, turnAt);
      this.#compare(event);
      await this.#see(durable);
      this.#place++;
      if (this.#wrong.length > 0) break;
    }
    return this.#wrong;
  }

  /** Starts the code, or starts it again after `continueAsNew`. */
  #begin(rest: readonly DurableEvent[], { event, turnAt, generation }: DurableEvent): void {
    this.#machine.apply(event, turnAt);
    this.#place = 0;
    this.#taken = [];
    const { workflow: name, version, id } = this.#instance;
    const workflow = [...codeWorkflows, scheduleWorkflow].find(
      (each) => each.name === name && each.version === version,
    );
    if (workflow === undefined) return this.#say(`nobody knows the code of ${name}`);
    const marked = rest.filter((each) => each.generation === generation).map((each) => each.event);
    this.#run = new CodeRun({
      ...identityOfRun(id, this.#machine.state),
      workflow,
      logger: silentLogger,
      services,
      owner: { onStray: (_, error) => this.#say(messageOf(error)) },
    });
    this.#run.isReplaying = true;
    this.#run.markedPatches = new Set(marked.flatMap((each) => (each.type === "PatchMarked" ? each.patch : [])));
  }

  async #see({ event, turnAt }: DurableEvent): Promise<void> {
    const { state } = this.#machine;
    const reader = { read: async (payload: PayloadRef): Promise<string> => this.#text(payload) };
    const arrival = await arrivalOf(event, state.input, reader);
    if (arrival === undefined || this.#run === undefined) return;
    const at = this.#copied(state)?.[this.#place] ?? turnAt;
    try {
      await deliverAndWait(this.#run, arrival, at, (steps) => this.#taken.push(...steps));
    } catch (error) {
      this.#say(messageOf(error));
    }
  }

  #text(payload: Parameters<CommitHistory["textOf"]>[1]): string {
    return this.#commitHistory.textOf(this.#instance.key, payload);
  }

  /** The times of events that were copied from another instance. */
  #copied({ forkedFrom }: CodeState): readonly number[] | undefined {
    return forkedFrom?.times;
  }

  #compare(event: Event): void {
    if (event.type === "InstanceEnded") return this.#compareEnd(event);
    if (!isStepRecord(event)) return;
    const step = this.#taken.shift();
    const isCopied = (this.#copied(this.#machine.state)?.length ?? 0) > this.#place;
    if (step !== undefined && isSameStep(event, step, { isCopied, text: (payload) => this.#text(payload) })) return;
    const instead = step === undefined ? "nothing" : shownStep(step);
    this.#say(`${JSON.stringify(event).slice(0, 200)} is on record, and its code now asks for ${instead}`);
  }

  /** Whether it was ended from outside, without its code, perhaps after the code had ended elsewhere. */
  #compareEnd(event: Extract<Event, { type: "InstanceEnded" }>): void {
    const isFromOutside =
      this.#terminations.has(event.reason) ||
      event.reason?.includes("its timeout of") === true ||
      // A schedule whose code is stopped cannot end itself.
      event.reason === "the schedule was deleted";
    const last = this.#taken.find((step): step is LastStep => isLast(step));
    if (isFromOutside || this.#isOrdered(event)) return;
    if (last !== undefined && isSameEnd(event, last, (payload) => this.#text(payload))) return;
    const instead = last === undefined ? "does not end" : `ends with ${shownStep(last)}`;
    this.#say(`it ended with ${JSON.stringify(event).slice(0, 200)}, and its code now ${instead}`);
  }

  /** Whether its parent ended it, which had ended or continued as new. */
  #isOrdered({ status }: Extract<Event, { type: "InstanceEnded" }>): boolean {
    return status === "Terminated" && this.#machine.state.parent !== undefined;
  }

  #say(what: string): void {
    this.#wrong.push(
      `${this.#instance.id}, event ${this.#place} of generation ${this.#machine.state.generation}: ${what}`,
    );
  }
}

const services = {
  whenDrained,
  failureFrom,
  versionOf: (): string => "any",
  hasDomain: (): boolean => true,
  within: <T>(call: () => T): T => call(),
};
