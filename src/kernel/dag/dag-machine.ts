import { EngineError } from "../../base/error.ts";
import type { InstanceAddress, ParentAddress } from "../address.ts";
import type { TellParent } from "../command.ts";
import type { Event } from "../event.ts";
import type { Machine, MachineIdentity, MachineLimits } from "../machine.ts";
import type { EndStatus, InstanceStatus } from "../status.ts";
import type { Turn } from "../turn.ts";
import { jobsInFlight } from "./advance.ts";
import type { DagInput } from "./dag-input.ts";
import { DagState } from "./dag-state.ts";
import { DagTransition } from "./dag-transition.ts";
import { tellParent } from "./ending.ts";
import type { Graph } from "./graph.ts";
import { admit, nextWake, pause, reopen, resume, retryWorkflow, start, terminate, wake } from "./life-cycle.ts";
import { rerun, settle } from "./reopening.ts";
import { childEnded, completed, decided, withdrawn } from "./reports.ts";
import { addSubTask, stopNode, updateContext, updateParams } from "./requests.ts";

/**
 * Decides what a DAG instance does about each message: a message becomes events, events become state, and what the state
 * now allows (`advance`) becomes more events and commands.
 */
export class DagMachine implements Machine {
  readonly kind = "dag";
  readonly state: DagState;
  readonly #identity: MachineIdentity;

  constructor(graph: Graph, id: string, key: number, limits: MachineLimits) {
    this.state = new DagState(graph);
    this.#identity = { id, key, limits };
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

  nextWake(): number | undefined {
    return nextWake(this.state);
  }

  tellParent(parent: ParentAddress, status: EndStatus): TellParent {
    return tellParent(this.state, parent, status);
  }

  jobsInFlight(): number[] {
    return jobsInFlight(this.state);
  }

  /** Decisions that were being evaluated; after a restart nobody else remembers them. */
  decisionsInFlight(): number[] {
    const { state } = this;
    if (state.decisionsInFlight === 0) return [];
    return state.tasksInFlight().filter((task) => state.definition(task).kind === "decision");
  }

  handle(input: DagInput, turn: Turn): void {
    const step = new DagTransition(this.#identity, this.state, turn);
    if (input.type === "StartInstance") return start(step, input);
    if (this.state.generation === 0) {
      throw new EngineError("INSTANCE_UNKNOWN", `instance "${this.#identity.id}" was never started`);
    }
    switch (input.type) {
      case "AdmitInstance":
        return admit(step, input.refusal);
      case "AttemptStarted":
        return step.noteStart(input);
      case "AttemptEnded":
        return completed(step, input);
      case "AttemptsWithdrawn":
        return withdrawn(step, input);
      case "DecisionEvaluated":
        return decided(step, input);
      case "ChildEnded":
        return childEnded(step, input);
      case "TimerDue":
        return wake(step);
      default:
        return request(step, input);
    }
  }
}

/** What users ask for: refused when the state does not allow it. */
function request(step: DagTransition, input: UserRequest): void {
  switch (input.type) {
    case "PauseInstance":
      return pause(step);
    case "ResumeInstance":
      return resume(step);
    case "TerminateInstance":
    case "CancelInstance":
      return terminate(step, input.reason);
    case "RetryInstance":
      return retryWorkflow(step, input.parent);
    case "RerunInstance":
      return reopen(step, rerun(step, input.task, input.params));
    case "SucceedTask":
      return reopen(step, settle(step, { status: "Success", task: input.task, output: input.output }));
    case "SkipTask":
      return reopen(step, settle(step, { status: "Skipped", task: input.task, output: undefined }));
    case "StopTask":
      return stopNode(step, input);
    case "UpdateContext":
      return updateContext(step, input.patch);
    case "UpdateParams":
      return updateParams(step, input.task, input.params);
    case "AddSubTask":
      return addSubTask(step, input.parent, input.node);
    default:
      throw notForDags(step, input);
  }
}

/** The types leave no input over; what arrives here is one of a code workflow. */
function notForDags({ identity }: DagTransition, _input: never): EngineError {
  return new EngineError(
    "INSTANCE_STATE",
    `instance "${identity.id}" is a DAG: events and updates are for code workflows`,
  );
}

type UserRequest = Extract<
  DagInput,
  {
    type:
      | "PauseInstance"
      | "ResumeInstance"
      | "TerminateInstance"
      | "CancelInstance"
      | "RetryInstance"
      | "RerunInstance"
      | "SucceedTask"
      | "SkipTask"
      | "StopTask"
      | "UpdateContext"
      | "UpdateParams"
      | "AddSubTask";
  }
>;
