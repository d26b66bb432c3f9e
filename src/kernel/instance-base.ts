import { Bug } from "../base/assert.ts";
import type { ParentAddress } from "./address.ts";
import type { TellParent } from "./command.ts";
import type { Context } from "./context.ts";
import { DueQueue } from "./due-queue.ts";
import type { Event, InstanceContinued, InstanceCreated, PausedBy, Trigger } from "./event.ts";
import type { InstanceState, Pause } from "./instance-state.ts";
import type { EndStatus, InstanceStatus } from "./status.ts";
import { TaskTable } from "./task-table.ts";

const none: readonly never[] = [];

/** An event that the state of a DAG, or of code, applies itself. */
export type OwnEvent = Exclude<
  Event,
  { readonly type: "PauseRequested" | "InstancePaused" | "InstanceResumed" | "ParentChanged" }
>;

/**
 * Ends the fold of one kind of machine. `event satisfies CodeEvent`, or `DagEvent`, states that only events of the other
 * kind are left, which no history of this machine has; any other event fails to compile there.
 */
export function foreignEvent({ type }: Event, machine: string): Bug {
  return new Bug(`invariant broken: the history of ${machine} has events of its own kind, got ${type}`);
}

/** The part of an instance's state that is the same for DAGs and code workflows, and the events that change only it. */
export abstract class InstanceBase extends TaskTable implements InstanceState {
  workflow = "";
  version = "";
  trigger: Trigger = "api";
  traceparent: string | undefined;
  app: string | undefined;
  parent: ParentAddress | undefined;
  status: InstanceStatus = "Ready";
  generation = 0;
  /** Flags recorded at the start of the generation; see `kernel/flags.ts`. */
  flags: readonly number[] = none;
  pausing = false;
  pause: Pause | undefined;
  reason: string | undefined;
  deadline: number | undefined;
  createdAt = 0;
  startedAt: number | undefined;
  endedAt: number | undefined;
  updatedAt = 0;
  readonly retryWaits = new DueQueue();

  abstract readonly failing: boolean;
  abstract readonly context: Context;
  abstract readonly domain: string | undefined;
  abstract readonly maxConcurrentTasks: number;
  abstract readonly waitingCount: number;
  abstract waitingTasks(): number[];
  abstract params(task: number): string | undefined;
  abstract find(name: string): number | undefined;
  abstract parentOf(task: number): number | undefined;
  abstract rank(task: number): number;
  abstract successors(task: number): number;

  /** Result for the parent of an instance that ended in this status. */
  abstract resultFor(status: EndStatus): Pick<TellParent, "output" | "failure" | "patch">;

  /** Applies an event that only one kind of machine has, or that changes more than the fields above. */
  abstract applyOwn(event: OwnEvent, at: number): void;

  apply(event: Event, at: number): void {
    this.updatedAt = at;
    switch (event.type) {
      case "PauseRequested":
        this.pausing = true;
        this.pause = pauseOf(event, at);
        return;
      case "InstancePaused":
        if (!this.pausing) this.pause = pauseOf(event, at);
        this.pausing = false;
        this.status = "Paused";
        return;
      case "InstanceResumed":
        this.pausing = false;
        this.pause = undefined;
        if (this.status === "Paused") this.status = "Running";
        return;
      case "ParentChanged":
        this.parent = event.parent;
        return;
      default:
        return this.applyOwn(event, at);
    }
  }

  /** True if this generation began with the flag, and so takes the newer branch. */
  hasFlag(flag: number): boolean {
    return this.flags.includes(flag);
  }

  /** Takes over the fields with which every generation of an instance begins. */
  identify(event: InstanceCreated | InstanceContinued): void {
    this.workflow = event.workflow;
    this.version = event.version;
    this.generation = event.generation;
    this.parent = event.parent;
    this.trigger = event.trigger;
    this.traceparent = event.traceparent;
    this.app = event.app;
    this.flags = event.flags ?? none;
  }

  begin(deadline: number | undefined, at: number): void {
    this.status = "Running";
    this.startedAt = at;
    this.deadline = deadline;
  }
}

function pauseOf({ by, reason }: PausedBy, at: number): Pause {
  return { at, ...(by !== undefined && { by }), ...(reason !== undefined && { reason }) };
}
