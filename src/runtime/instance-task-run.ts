import { defaultDomain, qualifyDomain } from "../dispatch/domain-pools.ts";
import type { GrantFence } from "../dispatch/grant-fence.ts";
import type { TaskInputs, AttemptListener, TaskRun } from "../dispatch/task-run.ts";
import { type PlacementConstraints, placementOf } from "../dispatch/worker-selector.ts";
import { firstItemNumber } from "../kernel/dag/map-items.ts";
import { attemptId } from "../kernel/address.ts";
import type { Execution } from "../kernel/event.ts";
import type { Machine, MachineLimits } from "../kernel/machine.ts";
import { type TaskDefinition, timeoutMsOf } from "../kernel/task-definition.ts";
import type { CompletionTokens } from "./completion-tokens.ts";
import type { FencingToken } from "./fencing-token.ts";
import { namespaceOf } from "../base/namespace.ts";

/** The actor whose task it is. */
export interface TaskRunActor extends AttemptListener {
  readonly id: string;
  readonly machine: Machine;
  readonly shard: TaskRunShard;
  /** The task's last attempt was lost with its process, before this claim of the shard. */
  wasLostWithProcess(task: number): boolean;
  /** Resolves when the start, which was reported to the actor just before, is durable. */
  confirmStart(): Promise<void>;
  inputsOf(task: number): TaskInputs | Promise<TaskInputs>;
  paramsOf(task: number): string;
  /** The attempt was lost with the process that ran it. */
  onLost(run: InstanceTaskRun): void;
}

export interface TaskRunShard {
  readonly token: FencingToken;
  readonly limits: MachineLimits;
  readonly completionTokens: Pick<CompletionTokens, "issue">;
  /**
   * True if the shard is closing or closed, or the engine stops: turns that cannot be opened, and attempts that a worker
   * does not take, are left to the next owner.
   */
  readonly isStopping: boolean;
  /** The qualified id of the job that a task of the instance runs. */
  resolveJob(instanceId: string, definition: TaskDefinition, params: string | undefined): string;
  /** The attempt has left this member's dispatcher with its worker. */
  trackDelegated(run: InstanceTaskRun, worker: string): void;
}

/** An attempt of an instance's task on its way to a worker. */
export class InstanceTaskRun implements TaskRun {
  readonly attemptId: string;
  readonly workflowName: string;
  readonly taskName: string;
  readonly attempt: number;
  readonly generation: number;
  readonly job: string;
  readonly domain: string;
  readonly placement: PlacementConstraints | undefined;
  readonly rank: number;
  readonly successors: number;
  readonly timeoutMs: number;
  readonly traceparent: string | undefined;
  readonly interruptions: number;
  readonly isLastTry: boolean;
  readonly isCautious: boolean;
  readonly task: number;
  readonly actor: TaskRunActor;
  /** Set when it has started, until a turn of its instance has recorded the start. */
  started: Required<Execution> | undefined;
  /**
   * The parameters of a task of code, which never change. The state forgets them with the task's end, and an attempt
   * may start before that is durable.
   */
  readonly #fixedParams: string | undefined;
  #heartbeat: RunHeartbeat | undefined;

  constructor(actor: TaskRunActor, task: number, cautious: boolean) {
    const { machine } = actor;
    const { state } = machine;
    const definition = state.definition(task);
    const record = state.record(task);
    this.actor = actor;
    this.task = task;
    // An item of a map that was ended by the same turn has no record any more, and its abort names this attempt.
    this.attempt = state.attempt(task);
    this.generation = state.generation;
    this.attemptId = attemptId(machine.address, task, this.attempt);
    this.workflowName = state.workflow;
    this.taskName = definition.name;
    this.#fixedParams = machine.kind === "code" ? (state.params(task) ?? "") : undefined;
    this.job = actor.shard.resolveJob(actor.id, definition, state.params(task));
    this.domain = qualifyDomain(namespaceOf(actor.id), definition.domain ?? state.domain ?? defaultDomain);
    this.placement = placementOf(definition);
    this.rank = state.rank(task);
    this.successors = state.successors(task);
    this.timeoutMs = timeoutMsOf(definition, actor.shard.limits);
    this.#heartbeat = heartbeatOf(definition, record?.heartbeat);
    this.traceparent = state.traceparent;
    this.interruptions = record?.interruptions ?? 0;
    const wasLost = cautious || actor.wasLostWithProcess(task);
    this.isLastTry = wasLost && this.interruptions > 0 && this.interruptions >= actor.shard.limits.interruptionsMax;
    this.isCautious = cautious || this.interruptions > 0;
  }

  get instanceId(): string {
    return this.actor.id;
  }

  get listener(): AttemptListener {
    return this.actor;
  }

  /** The present epoch of the shard: a worker refuses late grants of an earlier owner. */
  get fence(): GrantFence {
    const { incarnation, shard, epoch } = this.actor.shard.token;
    return { incarnation, shard, epoch };
  }

  /** The parameters of a DAG's task are read when the attempt starts: a user may change them until then. */
  get params(): string {
    return this.#fixedParams ?? this.actor.paramsOf(this.task);
  }

  /** Any member may run it. */
  get travels(): boolean {
    return true;
  }

  get isHandedOver(): boolean {
    return this.actor.shard.isStopping;
  }

  /** False in a failing instance: it starts nothing new, but what was running finishes. */
  get isPaused(): boolean {
    const { status, pausing, failing } = this.actor.machine.state;
    return !failing && (pausing || status === "Paused");
  }

  /** Made on demand: few jobs ask for it. Undefined for an item of a map. */
  get completionToken(): string | undefined {
    if (this.task >= firstItemNumber) return undefined;
    const { instanceId: id, generation, task, attempt } = this;
    const { createdAt } = this.actor.machine.state;
    return this.actor.shard.completionTokens.issue({ id, createdAt, generation, task, attempt });
  }

  get heartbeatTimeoutMs(): number | undefined {
    return this.#heartbeat?.timeoutMs;
  }

  /** The details of the last heartbeat of this run that its host has reported to this member. */
  get ownHeartbeat(): string | undefined {
    return this.#heartbeat?.own;
  }

  /** Called with the details of the last heartbeat, if it had some, of a run that another member hosts. */
  onHeartbeat(details: string | undefined): void {
    if (details !== undefined) this.#heartbeat = { ...this.#heartbeat, own: details };
  }

  confirmStart(): Promise<void> {
    return this.actor.confirmStart();
  }

  inputs(): TaskInputs | Promise<TaskInputs> {
    const inputs = this.actor.inputsOf(this.task);
    const heartbeat = this.#heartbeat?.left;
    if (heartbeat === undefined) return inputs;
    return "then" in inputs ? inputs.then((read) => ({ ...read, heartbeat })) : { ...inputs, heartbeat };
  }
}

/** What a run knows of heartbeats: details are JSON texts. */
interface RunHeartbeat {
  readonly timeoutMs?: number | undefined;
  /** The details that an earlier run of the task has left. */
  readonly left?: string | undefined;
  readonly own?: string;
}

/** Undefined for most tasks, which have nothing to do with heartbeats. */
function heartbeatOf({ heartbeatTimeoutMs: timeoutMs }: TaskDefinition, left: string | undefined) {
  return timeoutMs === undefined && left === undefined ? undefined : { timeoutMs, left };
}
