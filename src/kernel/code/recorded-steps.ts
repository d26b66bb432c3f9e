import { EngineError } from "../../base/error.ts";
import type { Event } from "../event.ts";
import type { Failure } from "../failure.ts";
import { describeStep, identityOf, isLast, recordedIdentity, type Step, type StepIdentity } from "./step.ts";

/**
 * The recorded steps of the code, in order. In a replay over the same history the code has to take the same steps; the
 * first that differs proves that the code has changed.
 */
export class RecordedSteps {
  readonly #recorded: (StepIdentity & { readonly isCopied: boolean })[] = [];
  #matched = 0;
  /** Number of custom statuses on record. They change nothing: setting more or fewer of them is no different step. */
  #statuses = 0;

  /**
   * Records the step of an event. A step that was copied from another instance may have had another input there: ids
   * differ.
   */
  add(event: Event, { isCopied }: { isCopied: boolean }): void {
    const identity = recordedIdentity(event);
    if (identity?.kind === "custom-status") this.#statuses++;
    else if (identity !== undefined) this.#recorded.push({ ...identity, isCopied });
  }

  /** True for a step that is on record, false for one that is new. `WORKFLOW_CHANGED`, with what the code has thrown, if it has. */
  match(step: Step, thrown?: Failure): boolean {
    if (step.type === "custom-status") return this.#statuses-- > 0;
    const recorded = this.#recorded[this.#matched];
    if (recorded === undefined) return false;
    const actual = identityOf(step);
    if (isLast(step) || !isSame(recorded, actual))
      throw changed(this.#matched, describeStep(recorded), describeActual(actual, thrown));
    this.#matched++;
    return true;
  }

  /** Called when the replay is complete. `WORKFLOW_CHANGED` if the code took fewer steps than are on record. */
  refuseMissing(): void {
    const recorded = this.#recorded[this.#matched];
    if (recorded !== undefined) throw changed(this.#matched, describeStep(recorded), "asks for nothing");
  }
}

/** Names the thrown error first: code that throws takes compensating steps before its step `fail`. */
function describeActual(actual: StepIdentity, thrown: Failure | undefined): string {
  if (thrown === undefined) return `asks for ${describeStep(actual)}`;
  const error = `throws ${thrown.type}: ${thrown.message}`;
  return actual.kind === "fail" ? error : `${error} and asks for ${describeStep(actual)}`;
}

function isSame(recorded: StepIdentity & { readonly isCopied: boolean }, actual: StepIdentity): boolean {
  if (recorded.kind !== actual.kind || recorded.name !== actual.name) return false;
  return recorded.isCopied || recorded.input === actual.input;
}

function changed(index: number, recorded: string, actual: string): EngineError {
  return new EngineError(
    "WORKFLOW_CHANGED",
    `the code does not do what it did before: step ${index} is on record as ${recorded}, but the code now ${actual}; ` +
      `deploy the code that it began with, or branch with ctx.patched(), and resume it; ` +
      `code that was not changed depends on something that is not on record, such as the clock, chance or the environment`,
  );
}
