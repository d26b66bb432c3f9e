import type { ContextPatch } from "../kernel/event.ts";
import { mapPayloads, type WithoutPayloads } from "../kernel/event-payloads.ts";
import type { StepsTaken } from "../kernel/code/code-input.ts";
import type { Step } from "../kernel/code/step.ts";
import type { DecisionEvaluated, ItemsListed } from "../kernel/dag/dag-input.ts";
import type { Fork, Outcome } from "../kernel/input.ts";
import type { Input } from "./input.ts";
import { type Payload, payloadBytes, payloadInlineBytesMax } from "../kernel/payload.ts";
import type { PayloadRow } from "../stores/store.ts";

/** References are turn number and place within the turn, so they need no counter of their own. */
const refsPerTurn = 2 ** 16;

const none: readonly never[] = [];

/** Takes large values out of a message and makes rows of them, so that history and memory hold only references. */
export class PayloadRows {
  /** Created with the first row: most turns have none. */
  #rows: PayloadRow[] | undefined;
  readonly #instance: number;
  readonly #turn: number;
  #next = 0;

  constructor(instance: number, turn: number) {
    this.#instance = instance;
    this.#turn = turn;
  }

  get rows(): readonly PayloadRow[] {
    return this.#rows ?? none;
  }

  /** Drops rows beyond that count: nothing refers to them. */
  cutTo(count: number): void {
    if (this.#rows !== undefined) this.#rows.length = count;
  }

  /** The first reference of this turn; lower ones belong to earlier turns. */
  get firstRef(): number {
    return this.#turn * refsPerTurn;
  }

  /** Replaces large values of the input by references. Most inputs have none and are returned as they are. */
  extract(input: StepsTaken): StepsTaken;
  extract(input: DecisionEvaluated | ItemsListed): DecisionEvaluated | ItemsListed;
  extract(input: Input): Input;
  extract(input: Input): Input {
    switch (input.type) {
      case "AttemptEnded": {
        const outcome = input.outcome.kind === "success" ? this.#outcome(input.outcome) : input.outcome;
        return outcome === input.outcome ? input : { ...input, outcome };
      }
      case "StartInstance": {
        const context = this.#patch(input.context) as Readonly<Record<string, Payload>>;
        const start = this.#with(context === input.context ? input : { ...input, context }, "input");
        return start.fork === undefined ? start : { ...start, fork: this.#fork(start.fork) };
      }
      case "CompleteTask":
        return input.result.kind === "failure" ? input : { ...input, result: this.#with(input.result, "output") };
      case "UpdateContext":
        return { ...input, patch: this.#patch(input.patch) };
      case "SucceedTask":
        return input.output === undefined ? input : { ...input, output: this.#payload(input.output) };
      case "ChildEnded":
        return {
          ...input,
          ...(input.output !== undefined && { output: this.#payload(input.output) }),
          ...(input.patch !== undefined && { patch: this.#patch(input.patch) }),
        };
      case "ItemsListed":
      case "AddItems":
        return { ...input, pages: input.pages.map((page) => this.#with(page, "items")) };
      case "RaiseEvent":
      case "RequestUpdate":
        return this.#with(input, "data");
      case "StepsTaken":
        return input.steps.some(mayBeLarge) ? { ...input, steps: input.steps.map((step) => this.#step(step)) } : input;
      default:
        return input satisfies WithoutPayloads<typeof input>;
    }
  }

  #fork(fork: Fork): Fork {
    return { ...fork, events: fork.events.map((event) => mapPayloads(event, (payload) => this.#payload(payload))) };
  }

  #step(step: Step): Step {
    switch (step.type) {
      case "answer":
      case "complete":
        return this.#with(step, "output");
      case "continue":
        return {
          ...this.#with(step, "input"),
          events: step.events.map((event) => this.#with(event, "data")),
          ...(step.updates && { updates: step.updates.map((update) => this.#with(update, "data")) }),
        };
      default:
        return step satisfies WithoutPayloads<typeof step>;
    }
  }

  #with<K extends string, T extends { readonly [P in K]?: Payload | undefined }>(holder: T, key: K): T {
    const given: Payload | undefined = holder[key];
    if (given === undefined) return holder;
    const payload = this.#payload(given);
    return payload === given ? holder : { ...holder, [key]: payload };
  }

  #outcome(outcome: Outcome & { kind: "success" }): Outcome {
    const { output, patch } = outcome;
    const small = output === undefined || (typeof output === "string" && output.length * 3 <= payloadInlineBytesMax);
    if (small && patch === undefined) return outcome;
    return {
      ...outcome,
      ...(output !== undefined && { output: this.#payload(output) }),
      ...(patch !== undefined && { patch: this.#patch(patch) }),
    };
  }

  #patch(patch: ContextPatch): ContextPatch {
    if (!hasLarge(patch)) return patch;
    return Object.fromEntries(
      Object.entries(patch).map(([key, value]) => [key, value === null ? null : this.#payload(value)]),
    );
  }

  #payload(payload: Payload): Payload {
    if (typeof payload !== "string") return payload;
    const bytes = payloadBytes(payload);
    if (bytes <= payloadInlineBytesMax) return payload;
    const ref = this.#turn * refsPerTurn + this.#next++;
    (this.#rows ??= []).push({ instance: this.#instance, ref, body: payload });
    return { ref, bytes };
  }
}

function hasLarge(patch: ContextPatch): boolean {
  for (const key in patch) {
    const value = patch[key];
    if (typeof value === "string" && value.length * 3 > payloadInlineBytesMax) return true;
  }
  return false;
}

/** Most steps have no value that may be large. */
function mayBeLarge(step: Step): boolean {
  if (step.type !== "answer" && step.type !== "complete") return step.type === "continue";
  return typeof step.output === "string" && step.output.length * 3 > payloadInlineBytesMax;
}
