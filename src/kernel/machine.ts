import type { InstanceAddress, ParentAddress } from "./address.ts";
import type { TellParent } from "./command.ts";
import type { Event } from "./event.ts";
import type { AnyInput, SharedInput } from "./input.ts";
import type { InstanceState } from "./instance-state.ts";
import type { EndStatus, InstanceStatus } from "./status.ts";
import type { Turn } from "./turn.ts";

/**
 * A deterministic instance: DAGs are one kind, code workflows another. It has no clock, no I/O and no source of
 * randomness of its own; given the same events it is in the same state.
 */
export interface Machine {
  readonly kind: "dag" | "code";
  readonly address: InstanceAddress;
  readonly status: InstanceStatus;
  readonly state: InstanceState;
  /** Called before the events of a turn are applied, by those who ask later in which turn something ended. */
  beginTurn(turn: number): void;
  /** Applies an event of this turn, or one read from the history. */
  apply(event: Event, at: number): void;
  /**
   * Decides about one message. A request that the state does not allow, or that is for the other kind of machine, is
   * refused with an `EngineError` and changes nothing; a report that comes too late is dropped. Each machine declares the
   * inputs it takes, so that whoever knows its kind is checked by the compiler.
   */
  handle(input: SharedInput | AnyInput, turn: Turn): void;
  /** Time at which the instance must get a `TimerDue` even if no other message arrives; undefined for none. */
  nextWake(): number | undefined;
  /** Tasks that the dispatcher should know of; after a restart they are handed to it again. */
  jobsInFlight(): number[];
  /** Command that reports its end to its parent. */
  tellParent(parent: ParentAddress, status: EndStatus): TellParent;
}

export interface MachineIdentity {
  readonly id: string;
  readonly key: number;
  readonly limits: MachineLimits;
  /** Flags of the engine, which an instance records when it starts. */
  readonly flags: readonly number[];
}

export interface MachineLimits {
  /** Sub-tasks that one task may generate. */
  readonly subTasksMax: number;
  /** Number of times an attempt may be lost with its process before it fails. */
  readonly interruptionsMax: number;
  /** Steps that the code of one generation may take. */
  readonly stepsMax: number;
  /** Limit of concurrent tasks of one DAG instance, unless something else sets one. */
  readonly concurrentTasks: number;
  /** Limit of concurrent activities of one code instance, unless its workflow sets one; 0 for no limit. */
  readonly concurrentActivities: number;
  /** Timeout of an attempt whose task sets none; undefined for the task's own default. */
  readonly timeoutMs: number | undefined;
}

/** Upper bound of `subTasksMax`: sub-tasks come in one message, and are checked together. */
export const subTasksCeiling = 10_000;

export const defaultLimits: MachineLimits = {
  subTasksMax: 1000,
  interruptionsMax: 3,
  stepsMax: 250_000,
  concurrentTasks: 5,
  concurrentActivities: 0,
  timeoutMs: undefined,
};
