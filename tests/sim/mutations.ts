import { Tables } from "../../src/stores/memory/tables.ts";
import type { Clock } from "../../src/base/clock.ts";
import { hasCode } from "../../src/base/error.ts";
import { Mulberry } from "../../src/base/mulberry.ts";
import type { Bus } from "../../src/cluster/bus.ts";
import { Compensation } from "../../src/code/compensation.ts";
import { RaisedEvents } from "../../src/code/raised-events.ts";
import { RunContext } from "../../src/code/run-context.ts";
import { DeterministicRandom } from "../../src/code/deterministic-random.ts";
import { UndoScope } from "../../src/code/undo-scope.ts";
import { Waiting } from "../../src/code/waiting.ts";
import type { ClusterTimings } from "../../src/cluster/timings.ts";
import type { Moment } from "../../src/base/moment.ts";
import { Lease } from "../../src/cluster/lease.ts";
import type { StartCare } from "../../src/dispatch/attempt.ts";
import { Dispatcher } from "../../src/dispatch/dispatcher.ts";
import { RunningAttempts } from "../../src/dispatch/running-attempts.ts";
import { WorkerRecords } from "../../src/member/worker-records.ts";
import { DomainPool } from "../../src/dispatch/domain-pool.ts";
import { DomainPools } from "../../src/dispatch/domain-pools.ts";
import { WorkerRing } from "../../src/dispatch/worker-ring.ts";
import { WorkerSession } from "../../src/dispatch/worker-session.ts";
import { DueQueue } from "../../src/kernel/due-queue.ts";
import { DelegatedAttempts } from "../../src/runtime/delegated-attempts.ts";
import { HostedAttempts } from "../../src/runtime/hosted-attempts.ts";
import { InstanceActor } from "../../src/runtime/instance-actor.ts";
import { InstanceTaskRun } from "../../src/runtime/instance-task-run.ts";
import type { ScheduleState } from "../../src/schedules/schedule-workflow.ts";
import { TimeZone } from "../../src/schedules/time-zone.ts";
import { shardOfKey } from "../../src/stores/instance-key.ts";
import type { Batch, HistoryRow, InstanceRow, Store } from "../../src/stores/store.ts";
import { GrantWindow } from "../../src/worker/grant-window.ts";
import { GrantedRuns } from "../../src/worker/granted-runs.ts";
import { epochMs } from "./clock.ts";
import type { FaultProfileName } from "./fault-profile.ts";
import type { CodeKind } from "./code-shapes.ts";
import { redefine } from "./redefine.ts";
import type { Kind } from "./shapes.ts";
import { sourceMutations } from "./source-mutations.ts";

/**
 * A deliberate bug, to prove that the simulator finds it. It wraps a dependency of the engine, or changes a class of
 * the engine while it is installed.
 */
export interface Mutation {
  readonly name: string;
  /** Describes the bug in one sentence. */
  readonly about: string;
  /** Has no effect on a single engine. */
  readonly needsCluster?: true;
  /** Has no effect if members run all jobs themselves. */
  readonly needsWorkers?: true;
  /** Has no effect but on a single engine with remote workers. */
  readonly needsLoneWorkers?: true;
  /** Has no effect unless a backup is restored. */
  readonly restores?: true;
  /** The fault profile under which it is found sooner. */
  readonly profile?: FaultProfileName;
  /** The workloads of DAGs and of code with which it is found sooner. */
  readonly kinds?: readonly Kind[];
  readonly codeKinds?: readonly CodeKind[];
  readonly store?: (store: Store) => Store;
  readonly bus?: (bus: Bus) => Bus;
  readonly clock?: (clock: Clock) => Clock;
  /** Changes the timings of members, which tell them to their workers. */
  readonly memberTimings?: (timings: ClusterTimings) => ClusterTimings;
  /** Installs the bug and returns a function that removes it. */
  readonly install?: () => () => void;
  /** A change of the source, which needs a process of its own to load it. */
  readonly source?: SourceChange;
}

/** A replacement of text that occurs once in the file. */
export interface SourceChange {
  /** The path from the root of the repository. */
  readonly file: string;
  readonly find: string;
  readonly replace: string;
}

const classMutations: readonly Mutation[] = [
  {
    name: "early-commit-answers",
    about: "A commit is acknowledged when it is sent, not when it is durable.",
    store: (store) => changed(store, { commit: (batch) => hasten(store, batch) }),
  },
  {
    name: "lost-messages",
    about: "Outbox messages that were not delivered before a restart are not delivered after it.",
    store: (store) => changed(store, { loadOutbox: async () => [] }),
  },
  {
    name: "second-look",
    about:
      "A history is looked for among finished instances first, and then among unfinished ones: it moves in between.",
    store: (store) => changed(store, { listHistory: (key, page) => lookTwice(store, key, page) }),
  },
  {
    name: "fast-clock",
    about: "Timers fire after half their delay.",
    clock: (clock) => ({
      now: () => clock.now(),
      monotonic: () => clock.monotonic(),
      soon: (callback) => clock.soon(callback),
      after: (delayMs, callback) => clock.after(delayMs / 2, callback),
    }),
  },
  {
    name: "unlimited-domains",
    about: "A domain is never full.",
    install: withoutQuota,
  },
  {
    name: "ignored-aborts",
    about: "An aborted attempt keeps running.",
    install: () => redefine(Dispatcher.prototype, "abort", { value: () => undefined }),
  },
  {
    name: "unlimited-lease",
    about: "A member considers its lease valid for ever.",
    needsCluster: true,
    install: () => redefine(Lease.prototype, "isValid", { get: () => true }),
  },
  {
    name: "no-deduplication",
    about: "Requests that were carried out before are not recognised.",
    needsCluster: true,
    store: (store) => changed(store, { findRequest: async () => undefined }),
  },
  {
    name: "no-fencing",
    about: "The store accepts writes of an earlier owner.",
    needsCluster: true,
    store: withoutFence,
    install: () => {
      standings.clear();
      return () => standings.clear();
    },
  },
  {
    name: "ignored-tags",
    about: "A task goes to the next worker with its job, whatever tags it requires.",
    needsWorkers: true,
    install: ignoreTags,
  },
  {
    name: "leaking-slots",
    about: "One time in three, the slot of an attempt that has ended is not released.",
    install: leakSlots,
  },
  {
    name: "double-dispatch",
    about: "A shard's new owner runs attempts again that still run elsewhere.",
    needsCluster: true,
    install: () => redefine(DelegatedAttempts.prototype, "classify", { value: () => "lost" }),
  },
  {
    name: "unreported-results",
    about: "The host of an attempt does not report its end to the shard's new owner.",
    needsCluster: true,
    install: () => redefine(HostedAttempts.prototype, "report", { value: () => undefined }),
  },
  {
    name: "unreported-at-stop",
    about: "A member that is stopped does not wait until the ends that it reports are delivered.",
    needsCluster: true,
    profile: "churn",
    install: () => redefine(HostedAttempts.prototype, "whenReported", { value: () => undefined }),
  },
  {
    name: "forgotten-wake-ups",
    about: "Wake-ups that were pending when a shard was opened are forgotten.",
    store: (store) => changed(store, { listUnfinished: (shard, page) => withoutWakeUps(store, shard, page) }),
  },
  {
    name: "reset-sequence-numbers",
    about: "Outbox messages are numbered from 1 again when a shard is opened.",
    store: (store) => changed(store, { loadSent: async () => [] }),
  },
  {
    name: "forgotten-tasks",
    about: "Tasks that were scheduled when a shard was opened are not run.",
    install: () => redefine(InstanceActor.prototype, "resumeTasks", { value: () => [] }),
  },
  {
    name: "late-lease",
    about: "A lease counts from the answer to its renewal, and lasts as long as the timeout of the others.",
    needsCluster: true,
    profile: "freezes",
    install: countLeaseLate,
  },
  {
    name: "repeated-grants",
    about: "A worker accepts a grant each time it arrives.",
    needsWorkers: true,
    profile: "network",
    install: () => redefine(GrantWindow.prototype, "take", { value: () => true }),
  },
  {
    name: "long-worker-leases",
    about: "A worker keeps an attempt without lease renewals three times as long as it may.",
    needsWorkers: true,
    install: () => extendWorkerLeases(),
  },
  {
    name: "short-worker-timeout",
    about: "A member declares a worker and its attempts lost after a third of the time.",
    needsWorkers: true,
    memberTimings: (timings) => ({ ...timings, workerLostMs: timings.workerLostMs / 3 }),
    install: () => extendWorkerLeases(),
  },
  {
    name: "restarts-in-pauses",
    about: "An attempt that its worker returned starts again although its instance is paused.",
    needsWorkers: true,
    profile: "churn",
    install: () => redefine(InstanceTaskRun.prototype, "isPaused", { get: () => false }),
  },
  {
    name: "unheld-slots",
    about:
      "A single engine does not count attempts that its workers kept while it was down among the slots of their domain.",
    needsLoneWorkers: true,
    install: () => redefine(RunningAttempts.prototype, "holdSlot", { value: () => () => undefined }),
  },
  {
    name: "unrestored-workers",
    about:
      "A single engine that starts does not count the slots of workers that may still run what was aborted before a crash.",
    needsLoneWorkers: true,
    profile: "crashes",
    install: () => redefine(WorkerRecords.prototype, "restore", { value: () => Promise.resolve() }),
  },
  {
    name: "early-acknowledgements",
    about: "A result is acknowledged to a worker before it is durable.",
    needsWorkers: true,
    profile: "crashes",
    install: acknowledgeEarly,
  },
  {
    name: "unannounced-results",
    about: "A worker that connects to another member does not announce its results.",
    needsWorkers: true,
    install: withoutResults,
  },
  {
    name: "early-slot-release",
    about: "The slot of an attempt that is aborted on a worker is free before the worker has stopped it.",
    needsWorkers: true,
    profile: "network",
    install: () => redefine(WorkerSession.prototype, "whenStopped", { value: () => undefined }),
  },
  {
    name: "nondeterministic-random",
    about: "Replayed code draws other random numbers than before.",
    install: withoutSteadiness,
  },
  {
    name: "lost-events",
    about: "Events that code has not waited for are lost when it continues as new.",
    install: () => redefine(RaisedEvents.prototype, "untaken", { value: () => [] }),
  },
  {
    name: "silent-waits",
    about: "Code does not say for which events and timers it waits.",
    install: () => redefine(Waiting.prototype, "list", { value: () => [] }),
  },
  {
    name: "missing-compensations",
    about: "One step of three is not compensated.",
    install: forgetUndoing,
  },
  {
    name: "interrupted-compensations",
    about: "A cancel interrupts the compensations of a saga.",
    install: () => redefine(Compensation.prototype, "isUndoingSaga", { get: () => false }),
  },
  {
    name: "early-timers",
    about: "Timers of code fire up to a second early, when something else wakes it.",
    install: fireEarly,
  },
  {
    name: "restarted-rates",
    about: "A schedule that continues as new counts its rate from then.",
    install: () => changeBeginnings((state, now) => ({ ...state, anchor: now })),
  },
  {
    name: "forgotten-decisions",
    about: "A schedule that continues as new forgets which due times it has decided about.",
    install: () => changeBeginnings((state) => ({ ...state, decidedUntil: state.anchor })),
  },
  {
    name: "runs-by-start",
    about: "The id of a schedule's run is derived from its start, not from its due time.",
    install: nameRunsByStart,
  },
  {
    name: "no-dst-changes",
    about: "Schedules ignore DST changes.",
    install: ignoreClockChanges,
  },
  {
    name: "reused-message-numbers",
    about: "A restored store gives out numbers of messages again that were given out after the backup.",
    needsCluster: true,
    restores: true,
    install: () => redefine(Tables.prototype, "renumber", { value: () => undefined }),
  },
];

export const mutations: readonly Mutation[] = [...classMutations, ...sourceMutations];

export function findMutation(name: string): Mutation {
  const found = mutations.find((mutation) => mutation.name === name);
  if (found !== undefined) return found;
  throw new Error(`no mutation is called ${name}; there are: ${mutations.map(({ name }) => name).join(", ")}`);
}

/** Replaces some methods of the store. */
function changed(store: Store, methods: Partial<Store>): Store {
  return new Proxy(store, {
    get(target, name) {
      const own: unknown = Reflect.get(methods, name);
      if (own !== undefined) return own;
      const value: unknown = Reflect.get(target, name);
      return typeof value === "function" ? (value.bind(target) as unknown) : value;
    },
  });
}

/** Finds nothing if the instance ends between the looks and takes its turns along: this is the bug. */
async function lookTwice(store: Store, key: number, page: { afterTurn: number; limit: number }): Promise<HistoryRow[]> {
  const look = async (): Promise<InstanceRow | undefined> => {
    const [row] = await store.listUnfinished(shardOfKey(key), { after: key - 1, limit: 1 });
    return row?.key === key ? row : undefined;
  };
  const before = await look();
  const found = await store.listHistory(key, page);
  if (before === undefined || (await look()) !== undefined) return found;
  const finished = await store.findFinished(before.id);
  return finished?.key === key && finished.history !== null ? [] : found;
}

/** Ignores the failure of the commit: this is the bug. */
async function hasten(store: Store, batch: Batch): Promise<void> {
  store.commit(batch).catch(() => undefined);
}

/** Asks the pool as if its slots were unlimited. */
function withoutQuota(): () => void {
  const asked = Object.getOwnPropertyDescriptor(DomainPool.prototype, "hasNext")?.value as (care: StartCare) => boolean;
  const value = function (this: DomainPool, care: StartCare): boolean {
    const { quota, size } = this;
    this.quota = Infinity;
    this.size = Infinity;
    try {
      return asked.call(this, care);
    } finally {
      this.quota = quota;
      this.size = size;
    }
  };
  return redefine(DomainPool.prototype, "hasNext", { value });
}

/** The epoch and number of the last write, by shard. */
const standings = new Map<number, { epoch: number; number: number }>();

/** Retries a fenced commit under the epoch of the present owner. */
function withoutFence(store: Store): Store {
  const note = ({ fences }: Batch): void => {
    for (const { shard, epoch, number } of fences) standings.set(shard, { epoch, number });
  };
  return changed(store, {
    async claimShard(shard, owner) {
      const claim = await store.claimShard(shard, owner);
      if (claim !== undefined) standings.set(shard, { epoch: claim.epoch, number: claim.lastBatch });
      return claim;
    },
    async commit(batch) {
      try {
        await store.commit(batch);
        note(batch);
      } catch (error) {
        if (!hasCode(error, "STORE_FENCED")) throw error;
        const fences = batch.fences.map((fence) => {
          const { epoch, number } = standings.get(fence.shard) ?? fence;
          return { ...fence, epoch, number: number + 1 };
        });
        await store.commit({ ...batch, fences });
        note({ ...batch, fences });
      }
    },
  });
}

async function withoutWakeUps(
  store: Store,
  ...args: Parameters<Store["listUnfinished"]>
): ReturnType<Store["listUnfinished"]> {
  return (await store.listUnfinished(...args)).map((row) => ({ ...row, wakeAt: null }) satisfies InstanceRow);
}

/** Workers take a lease to be three times as long as the member's. */
function extendWorkerLeases(): () => void {
  const setLease = Object.getOwnPropertyDescriptor(GrantedRuns.prototype, "setLease")?.value as (ms: number) => void;
  return redefine(GrantedRuns.prototype, "setLease", {
    value(this: GrantedRuns, leaseMs: number) {
      setLease.call(this, 3 * leaseMs);
    },
  });
}

function ignoreTags(): () => void {
  const choose = Object.getOwnPropertyDescriptor(WorkerRing.prototype, "choose")?.value as WorkerRing["choose"];
  const value: WorkerRing["choose"] = function (this: WorkerRing, { job }, embeddedSlots) {
    return choose.call(this, { job }, embeddedSlots);
  };
  return redefine(WorkerRing.prototype, "choose", { value });
}

function leakSlots(): () => void {
  const find = Object.getOwnPropertyDescriptor(DomainPools.prototype, "of")?.value as (name: string) => DomainPool;
  let given = 0;
  const leaky = new WeakSet<DomainPool>();
  const value = function (this: DomainPools, name: string): DomainPool {
    const pool = find.call(this, name);
    if (leaky.has(pool)) return pool;
    leaky.add(pool);
    const giveBack = pool.slots.delete.bind(pool.slots);
    pool.slots.delete = (id) => ++given % 3 !== 0 && giveBack(id);
    return pool;
  };
  return redefine(DomainPools.prototype, "of", { value });
}

function acknowledgeEarly(): () => void {
  type Ended = InstanceActor["onEnded"];
  const end = Object.getOwnPropertyDescriptor(InstanceActor.prototype, "onEnded")?.value as Ended;
  const value: Ended = function (this: InstanceActor, run, outcome, execution, acknowledge) {
    acknowledge?.();
    end.call(this, run, outcome, execution);
  };
  return redefine(InstanceActor.prototype, "onEnded", { value });
}

function withoutResults(): () => void {
  const all = Object.getOwnPropertyDescriptor(GrantedRuns.prototype, "all");
  const get = function (this: GrantedRuns): GrantedRuns["all"] {
    return { ...(all?.get?.call(this) as GrantedRuns["all"]), results: [] };
  };
  return redefine(GrantedRuns.prototype, "all", { get });
}

function countLeaseLate(): () => void {
  const renew = Object.getOwnPropertyDescriptor(Lease.prototype, "renew")?.value as (sent: Moment) => void;
  const value = function (this: Lease): void {
    const { monotonic, wall } = this.moment();
    // The member's own lease is a tenth shorter than the timeout of the others: 0.8 s of 8.
    renew.call(this, { monotonic: monotonic + 800, wall: wall + 800 });
  };
  return redefine(Lease.prototype, "renew", { value });
}

function withoutSteadiness(): () => void {
  const next = Object.getOwnPropertyDescriptor(Mulberry.prototype, "next")?.value as DeterministicRandom["next"];
  let asked = 0;
  const value = function (this: DeterministicRandom): number {
    return (next.call(this) + ++asked / 1000) % 1;
  };
  return redefine(DeterministicRandom.prototype, "next", { value });
}

function forgetUndoing(): () => void {
  const add = Object.getOwnPropertyDescriptor(UndoScope.prototype, "add")?.value as UndoScope["add"];
  let added = 0;
  const value: UndoScope["add"] = function (this: UndoScope, handler) {
    if (++added % 3 !== 0) add.call(this, handler);
  };
  return redefine(UndoScope.prototype, "add", { value });
}

function fireEarly(): () => void {
  const takeDue = Object.getOwnPropertyDescriptor(DueQueue.prototype, "takeDue")?.value as DueQueue["takeDue"];
  const value: DueQueue["takeDue"] = function (this: DueQueue, at) {
    return takeDue.call(this, at + 1000);
  };
  return redefine(DueQueue.prototype, "takeDue", { value });
}

/** Changes the state that schedules pass to `continueAsNew`. */
function changeBeginnings(change: (state: ScheduleState, now: number) => ScheduleState): () => void {
  type Continue = RunContext["continueAsNew"];
  const begin = Object.getOwnPropertyDescriptor(RunContext.prototype, "continueAsNew")?.value as Continue;
  const value: Continue = function (this: RunContext, input, options) {
    const state = input as ScheduleState | undefined;
    const isSchedule = state?.decidedUntil !== undefined;
    return begin.call(this, isSchedule ? change(state, this.now()) : input, options);
  };
  return redefine(RunContext.prototype, "continueAsNew", { value });
}

function nameRunsByStart(): () => void {
  type Call = RunContext["callChild"];
  const call = Object.getOwnPropertyDescriptor(RunContext.prototype, "callChild")?.value as Call;
  const value: Call = function (this: RunContext, workflow, input, options = {}) {
    const now = new Date(this.now()).toISOString();
    const instanceId = options.instanceId?.replace(/\d{4}-.*Z$/, now);
    return call.call(this, workflow, input, { ...options, ...(instanceId !== undefined && { instanceId }) });
  };
  return redefine(RunContext.prototype, "callChild", { value });
}

function ignoreClockChanges(): () => void {
  const offset = Object.getOwnPropertyDescriptor(TimeZone.prototype, "offset")?.value as TimeZone["offset"];
  const value: TimeZone["offset"] = function (this: TimeZone) {
    return offset.call(this, epochMs);
  };
  return redefine(TimeZone.prototype, "offset", { value });
}
