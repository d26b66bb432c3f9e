import { EngineError } from "../../base/error.ts";
import { momentAfter } from "../../base/time-limits.ts";
import { attemptIds, type InstanceAddress, type ParentAddress } from "../address.ts";
import type { TellParent } from "../command.ts";
import type { Event } from "../event.ts";
import type { CancelInstance, Refusal, RetryInstance, StartInstance, TimerDue } from "../input.ts";
import type { Machine, MachineIdentity, MachineLimits } from "../machine.ts";
import { refuseDeep } from "../size-limits.ts";
import { type EndStatus, hasEnded, type InstanceStatus } from "../status.ts";
import { refuseIfEnded, stateRefusal, stopTask } from "../task-reports.ts";
import { Phase } from "../task-state.ts";
import type { Turn } from "../turn.ts";
import type { CodeInput } from "./code-input.ts";
import { childEnded, completed, withdrawn } from "./code-reports.ts";
import { CodeState } from "./code-state.ts";
import { CodeTransition, tellParent } from "./code-transition.ts";
import { schedule, scheduleAnew, takeSteps } from "./take-steps.ts";

export interface CodeMachineOptions {
  readonly id: string;
  readonly key: number;
  readonly limits: MachineLimits;
  readonly timeoutMs: number | undefined;
  /** Default: that of the limits; 0 for none. */
  readonly maxConcurrentActivities?: number | undefined;
}

/**
 * Decides what an instance of code does about each message. What its code makes of an arrival is not decided here: the
 * runtime lets the code see each one, in order, and says so with `StepsTaken`.
 */
export class CodeMachine implements Machine {
  readonly kind = "code";
  readonly state: CodeState;
  readonly #identity: MachineIdentity;
  readonly #timeoutMs: number | undefined;

  constructor(options: CodeMachineOptions) {
    const { id, key, limits, timeoutMs, maxConcurrentActivities = limits.concurrentActivities } = options;
    this.#identity = { id, key, limits };
    this.#timeoutMs = timeoutMs;
    this.state = new CodeState(maxConcurrentActivities === 0 ? Infinity : maxConcurrentActivities);
  }

  get address(): InstanceAddress {
    const { id, key } = this.#identity;
    return { id, key, generation: this.state.generation };
  }

  get status(): InstanceStatus {
    return this.state.status;
  }

  apply(event: Event, at: number): void {
    this.state.apply(event, at);
  }

  jobsInFlight(): number[] {
    const { state } = this;
    return state.tasksInFlight().filter((task) => state.definition(task).kind === "job");
  }

  tellParent(parent: ParentAddress, status: EndStatus): TellParent {
    return tellParent(this.state, parent, status);
  }

  nextWake(): number | undefined {
    const { status, deadline, timersDue, retryWaits } = this.state;
    if (hasEnded(status)) return undefined;
    if (status !== "Running") return deadline;
    return earlier(deadline, earlier(timersDue.earliest(), retryWaits.earliest()));
  }

  handle(input: CodeInput, turn: Turn): void {
    const step = new CodeTransition(this.#identity, this.state, turn);
    if (input.type === "StartInstance") return this.#start(step, input);
    if (this.state.generation === 0) {
      throw new EngineError("INSTANCE_UNKNOWN", `instance "${this.#identity.id}" was never started`);
    }
    switch (input.type) {
      case "StepsTaken":
        return takeSteps(step, input.steps);
      case "StartReaction":
        return step.emit({ type: "ReactionStarted", losses: input.losses });
      case "EndReaction":
        return step.emit({ type: "ReactionEnded", losses: input.losses });
      case "AttemptStarted":
        return step.noteStart(input);
      case "AttemptEnded":
        return completed(step, input);
      case "AttemptsWithdrawn":
        return withdrawn(step, input);
      case "ChildEnded":
        return childEnded(step, input);
      case "TimerDue":
        return this.#wake(step, input);
      case "AdmitInstance":
        return this.#admit(step, input.refusal);
      default:
        return this.#request(step, input);
    }
  }

  /** What users ask for: refused when the state does not allow it, or where it makes sense for a DAG only. */
  #request(step: CodeTransition, input: Exclude<CodeInput, { type: Heard }>): void {
    switch (input.type) {
      case "PauseInstance":
        return this.#pause(step);
      case "ResumeInstance":
        return this.#resume(step);
      case "TerminateInstance":
        refuseIfEnded(step.state, step.identity.id, "terminate");
        return step.end("Terminated", { reason: input.reason });
      case "RetryInstance":
        return this.#retry(step, input);
      case "RaiseEvent":
        refuseIfEnded(step.state, step.identity.id, "raise an event for");
        return step.emit({ ...input, type: "EventRaised" });
      case "RequestUpdate":
        // Of one that was let in before, the answer is the same.
        if (step.state.hasUpdate(input.update)) return;
        refuseIfEnded(step.state, step.identity.id, "update");
        return step.emit({ ...input, type: "UpdateRequested" });
      case "CancelInstance":
        return this.#cancel(step, input);
      case "StopTask":
        stopTask(step, input);
        return schedule(step);
      default:
        throw notForCode(step, input);
    }
  }

  #start(step: CodeTransition, start: StartInstance): void {
    const { workflow, version, generation, parent, trigger, traceparent, input, fork, admission } = start;
    const { state, identity } = step;
    if (state.generation > 0) {
      throw new EngineError(
        "INSTANCE_EXISTS",
        `instance "${identity.id}" has been started already; it is ${state.status}`,
      );
    }
    refuseDeep(workflow, parent);
    step.emit({
      type: "InstanceCreated",
      workflow,
      version,
      generation,
      context: {},
      maxConcurrentTasks: 0,
      trigger,
      ...(parent && { parent }),
      ...(traceparent !== undefined && { traceparent }),
      ...(input !== undefined && { input }),
      ...(fork !== undefined && { forkedFrom: fork.from }),
    });
    if (typeof admission === "object") return this.#refuse(step, admission);
    // What it takes over from another instance has no place to wait in, so it does not.
    if (admission === "queue" && fork === undefined) return;
    step.emit({ type: "InstanceStarted", ...this.#newDeadline(step) });
    if (fork !== undefined) this.#takeOver(step, fork.events);
  }

  #refuse(step: CodeTransition, { refuse: policy, reason }: Refusal): void {
    step.end(policy === "fail" ? "Failed" : "Terminated", { reason });
  }

  #admit(step: CodeTransition, refusal: Refusal | undefined): void {
    const { status, pausing } = step.state;
    if (status !== "Ready") return step.drop();
    if (refusal !== undefined) return this.#refuse(step, refusal);
    step.emit({ type: "InstanceStarted", ...this.#newDeadline(step) });
    if (pausing) step.emit({ type: "InstancePaused" });
  }

  /** What was under way in the other instance is begun anew in this one; so is a child that waited for another attempt, for it is the other's. */
  #takeOver(step: CodeTransition, events: readonly Event[]): void {
    const { state } = step;
    for (const event of events) step.emit(event);
    if (state.status === "Paused") step.emit({ type: "InstanceResumed" });
    const tasks = state.tasksInFlight();
    if (tasks.length > 0) step.emit({ type: "TasksWithdrawn", tasks });
    const children = [...state.retryWaits.numbers].filter((task) => state.definition(task).kind === "nested");
    if (children.length > 0) step.emit({ type: "RetriesDue", tasks: children });
    scheduleAnew(step);
  }

  #newDeadline({ turn }: CodeTransition): { deadline?: number } {
    return this.#timeoutMs === undefined ? {} : { deadline: momentAfter(turn.at, this.#timeoutMs) };
  }

  /** At once, or as soon as it has started: the code sees nothing more. What is with the dispatcher and has not started is taken back. */
  #pause(step: CodeTransition): void {
    const { state } = step;
    if (state.status === "Ready" && !state.pausing) return step.emit({ type: "PauseRequested" });
    if (state.status !== "Running") throw stateRefusal(state, step.identity.id, "pause");
    step.emit({ type: "InstancePaused" });
    const scheduled = this.jobsInFlight().filter((task) => state.phase(task) === Phase.scheduled);
    if (scheduled.length > 0)
      step.command({ type: "WithdrawTasks", attemptIds: attemptIds(step.address, scheduled, state) });
    step.tellChildren({ type: "PauseInstance" });
  }

  #resume(step: CodeTransition): void {
    const { status, pausing } = step.state;
    if (status !== "Paused" && !pausing) throw stateRefusal(step.state, step.identity.id, "resume");
    step.emit({ type: "InstanceResumed" });
    step.tellChildren({ type: "ResumeInstance" });
    // A deadline that has passed meanwhile is due at once, by its own message.
    this.#wakeTasks(step);
  }

  /** What the code waits for is called off; asked once is enough. One that was held may take effect later. */
  #cancel(step: CodeTransition, { reason, isHeld }: CancelInstance): void {
    const { state } = step;
    refuseIfEnded(state, step.identity.id, "cancel");
    // It has done nothing yet that could be undone.
    if (state.status === "Ready") return step.end("Terminated", { reason });
    if (state.cancelReason !== undefined && (isHeld || !state.isCancelHeld)) return;
    if (isHeld) return step.emit({ type: "CancelRequested", reason, isHeld });
    step.cancel(reason, { type: "CancelRequested", reason });
  }

  /**
   * From the beginning, with the same input. A parent that retries its child wants to hear of this end too; of a child
   * that has not ended, or ended well after all, it hears without a second run.
   */
  #retry(step: CodeTransition, { parent = step.state.parent, parent: byParent }: RetryInstance): void {
    const { state, identity } = step;
    if (byParent !== undefined && (state.status === "Success" || !hasEnded(state.status))) {
      step.emit({ type: "ParentChanged", parent: byParent });
      if (state.status === "Success") step.command(tellParent(state, byParent, "Success"));
      return;
    }
    if (!hasEnded(state.status) || state.status === "Success") throw stateRefusal(state, identity.id, "retry");
    const { workflow, version, trigger, traceparent, input } = state;
    step.emit({
      type: "InstanceContinued",
      workflow,
      version,
      generation: state.generation + 1,
      createdAt: state.createdAt,
      trigger,
      ...(traceparent !== undefined && { traceparent }),
      ...(input !== undefined && { input }),
      ...(parent !== undefined && { parent }),
      ...this.#newDeadline(step),
    });
  }

  /** Something may have come due: the instance's deadline, its timers, its tasks' retries. */
  #wake(step: CodeTransition, due: TimerDue): void {
    const { state, turn } = step;
    if (hasEnded(state.status)) return;
    if (state.deadline !== undefined && turn.at >= state.deadline) this.#timeOut(step, due);
    else this.#wakeTasks(step);
  }

  /**
   * A timeout is a cancel that is held: the runtime delivers it to the code as it does any other, so that a compensation
   * that is under way is not cut short, and absent code compensates when it is back.
   */
  #timeOut(step: CodeTransition, { isCodeAbsent }: TimerDue): void {
    const { state, turn } = step;
    const timeoutMs = this.#timeoutMs ?? 0;
    const reason = `the instance did not end within its timeout of ${timeoutMs / 1000} s`;
    if (state.compensationMs !== undefined) {
      const bound = `and its compensation not within a further ${state.compensationMs / 1000} s`;
      return step.end("Failed", { reason: `${reason}, ${bound}` });
    }
    if (state.status === "Paused") {
      step.emit({ type: "InstanceResumed" });
      step.tellChildren({ type: "ResumeInstance" });
    }
    const compensationMs = Math.max(timeoutMs, compensationMsMin);
    const deadline = isCodeAbsent ? {} : { deadline: momentAfter(turn.at, compensationMs) };
    step.emit({ type: "InstanceTimedOut", compensationMs, ...deadline });
    step.emit({ type: "CancelRequested", reason, isHeld: true });
    schedule(step);
  }

  #wakeTasks(step: CodeTransition): void {
    const { state, turn } = step;
    if (state.status !== "Running") return;
    for (const timer of state.timersDue.takeDue(turn.at)) step.emit({ type: "TimerFired", timer });
    const due = state.retryWaits.takeDue(turn.at);
    if (due.length > 0) step.emit({ type: "RetriesDue", tasks: due });
    schedule(step);
  }
}

/** The types leave no input over; what arrives here is one of a DAG. */
function notForCode({ identity }: CodeTransition, _input: never): EngineError {
  return new EngineError(
    "INSTANCE_STATE",
    `instance "${identity.id}" is a code workflow: its tasks and data are its code's own; fork it to run it again from one of its steps`,
  );
}

/** An activity may take an hour by default, and so may the one that compensates it. */
const compensationMsMin = 3_600_000;

function earlier(one: number | undefined, other: number | undefined): number | undefined {
  if (one === undefined || other === undefined) return one ?? other;
  return Math.min(one, other);
}

type Heard =
  | "StartInstance"
  | "StepsTaken"
  | "StartReaction"
  | "EndReaction"
  | "AttemptStarted"
  | "AttemptEnded"
  | "AttemptsWithdrawn"
  | "ChildEnded"
  | "TimerDue"
  | "AdmitInstance";
