import type { Arrival } from "../code/arrival.ts";
import { arrivalOf, type PayloadReader } from "../code/code-arrival.ts";
import type { RunListener } from "../code/code-run.ts";
import type { CodeMachine } from "../kernel/code/code-machine.ts";
import type { Step } from "../kernel/code/step.ts";
import type { Event } from "../kernel/event.ts";
import type { AttachedCode } from "./attached-code.ts";
import type { ActorTurn, InstanceActor } from "./instance-actor.ts";

/** The preparation of turns, as far as their events are concerned. */
export interface ArrivalsListener extends PayloadReader {
  /** The turn that is being prepared. */
  readonly open: ActorTurn | undefined;
  /** The turn has begun a new generation with this event, which is its first one from now on. */
  onContinued(open: ActorTurn, event: Event): void;
  /** The code has reacted to an arrival that it was awaited for. */
  onReacted(): void;
  onFailed(error: unknown): void;
}

/** Lets the code of one instance see the events of the turn that is being prepared, and adds its steps to that turn. */
export class TurnArrivals implements RunListener {
  readonly #actor: InstanceActor<CodeMachine>;
  readonly #machine: CodeMachine;
  readonly #code: AttachedCode;
  readonly #listener: ArrivalsListener;
  /** Number of events of the open turn seen by the code. */
  #seen = 0;

  constructor(actor: InstanceActor<CodeMachine>, code: AttachedCode, listener: ArrivalsListener) {
    this.#actor = actor;
    this.#machine = actor.machine;
    this.#code = code;
    this.#listener = listener;
  }

  /** A turn has been opened, of which the code has seen nothing. */
  begin(): void {
    this.#seen = 0;
  }

  /** Lets the code see what has happened in this turn, event by event. False once it has seen all of it. */
  isReacting(open: ActorTurn): boolean {
    do {
      for (let arrival = this.#nextArrival(open); arrival !== undefined; arrival = this.#nextArrival(open)) {
        if (arrival instanceof Promise) {
          arrival
            .then((read) => this.#code.run?.deliver(read, open.at, this) === true || this.#listener.onReacted())
            .catch((error: unknown) => this.#listener.onFailed(error));
          return true;
        }
        if (this.#code.run?.deliver(arrival, open.at, this) === true) return true;
      }
    } while (this.#deliverHeldCancel(open));
    return false;
  }

  /** Brings the code to where it was; the steps it takes beyond that become part of the turn. */
  attach(open: ActorTurn): Promise<void> {
    this.#seen = open.turn.events.length;
    return this.#code.attach(open, (steps) => this.takeSteps(open, steps));
  }

  takeSteps(open: ActorTurn, steps: readonly Step[]): void {
    if (steps.length === 0 || this.#actor.hasEnded) return;
    this.#machine.handle(open.payloads.extract({ type: "StepsTaken", steps }), open.turn);
    this.#actor.collectCommands(open);
  }

  onSteps(steps: readonly Step[]): void {
    const { open } = this.#listener;
    if (open !== undefined) this.takeSteps(open, steps);
  }

  onDelivered(error?: unknown): void {
    try {
      if (error !== undefined) this.#code.stop(error, this.#code.run);
    } catch (problem) {
      return this.#listener.onFailed(problem);
    }
    this.#listener.onReacted();
  }

  /** The next event of the turn that the code has to see, if it is there to do so. */
  #nextArrival(open: ActorTurn): Arrival | Promise<Arrival> | undefined {
    const { events } = open.turn;
    for (let event = events[this.#seen]; event !== undefined; event = events[this.#seen]) {
      this.#seen++;
      if (event.type === "InstanceCreated") this.#code.start();
      else if (event.type === "InstanceContinued") {
        this.#listener.onContinued(open, event);
        this.#seen = 1;
      }
      if (this.#actor.hasEnded) this.#code.end();
      if (this.#code.run === undefined || this.#code.run.isOver) continue;
      const arrival = arrivalOf(event, this.#machine.state.input, this.#listener);
      if (arrival !== undefined) return arrival;
    }
    return undefined;
  }

  /**
   * A cancel that was recorded while the code was absent takes effect once the code has seen everything recorded after it:
   * a step that succeeded in between is then known to the code, and compensated. False if there is none to deliver.
   */
  #deliverHeldCancel(open: ActorTurn): boolean {
    const { status, isCancelHeld, cancelReason } = this.#machine.state;
    if (!isCancelHeld || cancelReason === undefined || status !== "Running") return false;
    if (this.#code.run?.canCancel !== true) return false;
    this.#machine.handle({ type: "CancelInstance", reason: cancelReason }, open.turn);
    this.#actor.collectCommands(open);
    return true;
  }
}
