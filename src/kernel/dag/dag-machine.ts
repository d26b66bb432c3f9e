import { EngineError } from "../../base/error.ts";
import { localName } from "../../base/namespace.ts";
import { knownFlags } from "../flags.ts";
import type { MachineLimits } from "../machine.ts";
import { MachineBase } from "../machine-base.ts";
import { refuseUnlessStarted } from "../refusals.ts";
import { Transition } from "../transition.ts";
import type { Turn } from "../turn.ts";
import type { DagInput } from "./dag-input.ts";
import { DagState } from "./dag-state.ts";
import type { DagTransition } from "./dag-transition.ts";
import type { Graph } from "./graph.ts";
import { admit, nextWake, pause, reopen, resume, retryInstance, start, terminate, wake } from "./life-cycle.ts";
import { addItems } from "./added-items.ts";
import { feedMaps } from "./maps.ts";
import { rerun, settle } from "./reopening.ts";
import {
  onAttemptEnded,
  onAttemptsWithdrawn,
  onChildEnded,
  onCompletion,
  onDecisionEvaluated,
  onItemsListed,
  onWorkersGone,
} from "./reports.ts";
import { addSubTask, stop, updateContext, updateParams } from "./requests.ts";

/**
 * Decides what a DAG instance does about each message: a message becomes events, events become state, and what the state
 * now allows (`advance`) becomes more events and commands.
 */
export class DagMachine extends MachineBase<DagState> {
  readonly kind = "dag";

  constructor(graph: Graph, id: string, key: number, limits: MachineLimits, flags = knownFlags) {
    super({ id, key, limits, flags }, new DagState(graph));
  }

  nextWake(): number | undefined {
    return nextWake(this.state);
  }

  /** Decisions that were being evaluated; after a restart nobody else remembers them. */
  decisionsInFlight(): number[] {
    const { state } = this;
    if (state.decisionsInFlight === 0) return [];
    return state.tasksInFlight().filter((task) => state.definition(task).kind === "decision");
  }

  /** Maps whose items were being evaluated; after a restart nobody else remembers them. */
  mapsToList(): number[] {
    const { state } = this;
    if (state.mapsInFlight === 0) return [];
    return state
      .tasksInFlight()
      .filter((task) => state.definition(task).kind === "map" && !state.items.isRunning(task));
  }

  override beginTurn(turn: number): void {
    this.state.turn = turn;
  }

  /** Called after the last message of a turn: starts the items of maps that there is room for. */
  feedMaps(turn: Turn): void {
    if (this.state.items.running.size > 0) feedMaps(new Transition(this.identity, this.state, turn));
  }

  handle(input: DagInput, turn: Turn): void {
    const transition = new Transition(this.identity, this.state, turn);
    if (input.type === "StartInstance") return start(transition, input);
    refuseUnlessStarted(this.state, this.identity.id);
    switch (input.type) {
      case "AdmitInstance":
        return admit(transition, input.refusal);
      case "AttemptStarted":
        return transition.noteStart(input);
      case "AttemptEnded":
        return onAttemptEnded(transition, input);
      case "CompleteTask":
        return onCompletion(transition, input);
      case "AttemptsWithdrawn":
        return onAttemptsWithdrawn(transition, input);
      case "DecisionEvaluated":
        return onDecisionEvaluated(transition, input);
      case "ItemsListed":
        return onItemsListed(transition, input);
      case "AddItems":
        return addItems(transition, input);
      case "WorkersGone":
        return onWorkersGone(transition, input);
      case "ChildEnded":
        return onChildEnded(transition, input);
      case "TimerDue":
        return wake(transition);
      default:
        return request(transition, input);
    }
  }
}

/** Handles users' requests: refused when the state does not allow it. */
function request(transition: DagTransition, input: UserRequest): void {
  switch (input.type) {
    case "PauseInstance":
      return pause(transition, input);
    case "ResumeInstance":
      return resume(transition);
    case "TerminateInstance":
    case "CancelInstance":
      return terminate(transition, input.reason);
    case "RetryInstance":
      return retryInstance(transition, input.parent);
    case "RerunInstance":
      return reopen(transition, rerun(transition, input.task, input.params));
    case "SucceedTask":
      return reopen(transition, settle(transition, { status: "Success", task: input.task, output: input.output }));
    case "SkipTask":
      return reopen(transition, settle(transition, { status: "Skipped", task: input.task, output: undefined }));
    case "StopTask":
      return stop(transition, input);
    case "UpdateContext":
      return updateContext(transition, input.patch);
    case "UpdateParams":
      return updateParams(transition, input.task, input.params);
    case "AddSubTask":
      return addSubTask(transition, input.parent, input.node);
    default:
      throw notForDags(transition, input);
  }
}

/** The types leave no input over; what arrives here is one of a code workflow. */
function notForDags({ identity }: DagTransition, _input: never): EngineError {
  return new EngineError(
    "INSTANCE_STATE",
    `instance "${localName(identity.id)}" is a DAG: events and updates are for code workflows`,
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
