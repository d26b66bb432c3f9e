import type { InstanceAddress } from "../address.ts";
import type { Command } from "../command.ts";
import type { Event } from "../event.ts";
import type { MachineIdentity } from "../machine.ts";
import type { Turn } from "../turn.ts";
import type { DagState } from "./dag-state.ts";

/** One message on its way through an instance: what is decided about it goes through here, into the turn and the state. */
export class DagStep {
  readonly identity: MachineIdentity;
  readonly state: DagState;
  readonly turn: Turn;

  constructor(identity: MachineIdentity, state: DagState, turn: Turn) {
    this.identity = identity;
    this.state = state;
    this.turn = turn;
  }

  get address(): InstanceAddress {
    const { id, key } = this.identity;
    return { id, key, generation: this.state.generation };
  }

  /** The task, as messages call it. */
  nameOf(task: number): string {
    return `task "${this.state.definition(task).name}" of instance "${this.identity.id}"`;
  }

  /** It happened: written down, and the state follows at once. */
  emit(event: Event): void {
    this.turn.events.push(event);
    this.state.apply(event, this.turn.at);
  }

  /** It is to be done, once what was emitted is durable. */
  command(command: Command): void {
    this.turn.commands.push(command);
  }

  /** A report that comes too late, or twice. */
  drop(reports = 1): void {
    this.turn.dropped += reports;
  }
}
