import { EngineError } from "../../base/error.ts";
import { localName } from "../../base/namespace.ts";
import { knownFlags } from "../flags.ts";
import type { MachineLimits } from "../machine.ts";
import { MachineBase } from "../machine-base.ts";
import { refuseUnlessStarted } from "../refusals.ts";
import { Transition } from "../transition.ts";
import type { Turn } from "../turn.ts";
import type { CodeInput } from "./code-input.ts";
import { CodeState } from "./code-state.ts";
import type { CodeTransition } from "./code-transition.ts";
import { admit, nextWake, pause, resume, retryInstance, start, terminate, wake } from "./life-cycle.ts";
import { onAttemptEnded, onAttemptsWithdrawn, onChildEnded, onCompletion } from "./reports.ts";
import { cancel, raiseEvent, requestUpdate, stop } from "./requests.ts";
import { takeSteps } from "./take-steps.ts";

export interface CodeMachineOptions {
  readonly id: string;
  readonly key: number;
  readonly limits: MachineLimits;
  readonly timeoutMs: number | undefined;
  /** Default: that of the limits; 0 for none. */
  readonly maxConcurrentActivities?: number | undefined;
  /** Default: all that the engine knows. */
  readonly flags?: readonly number[];
}

/**
 * Decides what an instance of code does about each message. The reaction of its code is not decided here: the runtime
 * delivers each arrival to the code, in order, and reports the steps that it took with `StepsTaken`.
 */
export class CodeMachine extends MachineBase<CodeState> {
  readonly kind = "code";

  constructor(options: CodeMachineOptions) {
    const { id, key, limits, timeoutMs, flags = knownFlags } = options;
    const { maxConcurrentActivities = limits.concurrentActivities } = options;
    const maxConcurrentTasks = maxConcurrentActivities === 0 ? Infinity : maxConcurrentActivities;
    super({ id, key, limits, flags }, new CodeState({ maxConcurrentTasks, timeoutMs }));
  }

  nextWake(): number | undefined {
    return nextWake(this.state);
  }

  handle(input: CodeInput, turn: Turn): void {
    const transition = new Transition(this.identity, this.state, turn);
    if (input.type === "StartInstance") return start(transition, input);
    refuseUnlessStarted(this.state, this.identity.id);
    switch (input.type) {
      case "AdmitInstance":
        return admit(transition, input.refusal);
      case "StepsTaken":
        return takeSteps(transition, input.steps);
      case "StartReaction":
        return transition.emit({ type: "ReactionStarted", losses: input.losses });
      case "EndReaction":
        return transition.emit({ type: "ReactionEnded", losses: input.losses });
      case "AttemptStarted":
        return transition.noteStart(input);
      case "AttemptEnded":
        return onAttemptEnded(transition, input);
      case "CompleteTask":
        return onCompletion(transition, input);
      case "AttemptsWithdrawn":
        return onAttemptsWithdrawn(transition, input);
      case "ChildEnded":
        return onChildEnded(transition, input);
      case "TimerDue":
        return wake(transition, input);
      default:
        return request(transition, input);
    }
  }
}

/** Carries out a user's request, or refuses it when the state does not allow it. */
function request(transition: CodeTransition, input: UserRequest): void {
  switch (input.type) {
    case "PauseInstance":
      return pause(transition, input);
    case "ResumeInstance":
      return resume(transition);
    case "TerminateInstance":
      return terminate(transition, input.reason);
    case "CancelInstance":
      return cancel(transition, input);
    case "RetryInstance":
      return retryInstance(transition, input);
    case "RaiseEvent":
      return raiseEvent(transition, input);
    case "RequestUpdate":
      return requestUpdate(transition, input);
    case "StopTask":
      return stop(transition, input);
    default:
      throw notForCode(transition, input);
  }
}

type UserRequest = Extract<
  CodeInput,
  {
    type:
      | "PauseInstance"
      | "ResumeInstance"
      | "TerminateInstance"
      | "CancelInstance"
      | "RetryInstance"
      | "RaiseEvent"
      | "RequestUpdate"
      | "StopTask";
  }
>;

/** The types leave no input over; an input that arrives here is one of a DAG. */
function notForCode({ identity }: CodeTransition, _input: never): EngineError {
  return new EngineError(
    "INSTANCE_STATE",
    `instance "${localName(identity.id)}" is a code workflow: its tasks and data are its code's own; fork it to run it again from one of its steps`,
  );
}
