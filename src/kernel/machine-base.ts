import { addressOf, type InstanceAddress, type ParentAddress } from "./address.ts";
import type { TellParent } from "./command.ts";
import { jobsInFlight } from "./dispatched-jobs.ts";
import type { Event } from "./event.ts";
import { refuseUnknownFlags } from "./flags.ts";
import type { AnyInput, SharedInput } from "./input.ts";
import type { InstanceBase } from "./instance-base.ts";
import type { Machine, MachineIdentity } from "./machine.ts";
import { tellParent } from "./parent.ts";
import type { EndStatus, InstanceStatus } from "./status.ts";
import type { Turn } from "./turn.ts";

const none: readonly never[] = [];

/** The part of a machine that is the same for DAGs and code workflows. */
export abstract class MachineBase<State extends InstanceBase> implements Machine {
  abstract readonly kind: "dag" | "code";
  readonly identity: MachineIdentity;
  readonly state: State;

  constructor(identity: MachineIdentity, state: State) {
    this.identity = identity;
    this.state = state;
  }

  abstract handle(input: SharedInput | AnyInput, turn: Turn): void;
  abstract nextWake(): number | undefined;

  get address(): InstanceAddress {
    return addressOf(this.identity, this.state);
  }

  get status(): InstanceStatus {
    return this.state.status;
  }

  beginTurn(_turn: number): void {}

  apply(event: Event, at: number): void {
    if (event.type === "InstanceCreated" || event.type === "InstanceContinued")
      refuseUnknownFlags(event.flags ?? none, this.identity.flags, this.identity.id);
    this.state.apply(event, at);
  }

  jobsInFlight(): number[] {
    return jobsInFlight(this.state);
  }

  tellParent(parent: ParentAddress, status: EndStatus): TellParent {
    return tellParent(this.state, parent, status);
  }
}
