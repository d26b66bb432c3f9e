import type { Clock } from "../../src/base/clock.ts";
import { hasCode } from "../../src/base/error.ts";
import { Mulberry } from "../../src/base/mulberry.ts";
import type { Bus } from "../../src/cluster/bus.ts";
import { CodeRun } from "../../src/code/code-run.ts";
import { RaisedEvents } from "../../src/code/raised-events.ts";
import { RunContext } from "../../src/code/run-context.ts";
import { DeterministicRandom } from "../../src/code/deterministic-random.ts";
import { UndoScope } from "../../src/code/undo-scope.ts";
import type { ClusterTimings } from "../../src/cluster/timings.ts";
import type { Moment } from "../../src/base/moment.ts";
import { Lease } from "../../src/cluster/lease.ts";
import type { StartCare } from "../../src/dispatch/attempt.ts";
import { Dispatcher } from "../../src/dispatch/dispatcher.ts";
import { DomainPool } from "../../src/dispatch/domain-pool.ts";
import { DomainPools } from "../../src/dispatch/domain-pools.ts";
import { WorkerSession } from "../../src/dispatch/worker-session.ts";
import { DueQueue } from "../../src/kernel/due-queue.ts";
import { RemoteAttempts } from "../../src/runtime/remote-attempts.ts";
import { ForeignAttempts } from "../../src/runtime/foreign-attempts.ts";
import { InstanceActor } from "../../src/runtime/instance-actor.ts";
import { Shard } from "../../src/runtime/shard.ts";
import type { ScheduleState } from "../../src/schedules/schedule-workflow.ts";
import { TimeZone } from "../../src/schedules/time-zone.ts";
import type { Batch, Store } from "../../src/stores/store.ts";
import { GrantWindow } from "../../src/worker/grant-window.ts";
import { GrantedRuns } from "../../src/worker/granted-runs.ts";
import { epochMs } from "./clock.ts";
import type { FaultProfileName } from "./fault-profile.ts";
import type { CodeKind } from "./code-shapes.ts";
import { redefine } from "./redefine.ts";
import type { Kind } from "./shapes.ts";
import { sourceMutations } from "./source-mutations.ts";

/**
 * A bug put in on purpose, to see whether the simulator finds it. It changes what an engine is given, or, while it is
 * installed, a class of the engine itself.
 */
export interface Mutation {
  readonly name: string;
  /** What is wrong, in a sentence. */
  readonly about: string;
  /** It makes no difference to a process alone. */
  readonly needsCluster?: true;
  /** It makes no difference where members run all jobs themselves. */
  readonly needsWorkers?: true;
  /** Where it shows sooner than elsewhere. */
  readonly profile?: FaultProfileName;
  /** Of DAGs and of code: the workloads in which it shows sooner than in others. */
  readonly kinds?: readonly Kind[];
  readonly codeKinds?: readonly CodeKind[];
  readonly store?: (store: Store) => Store;
  readonly bus?: (bus: Bus) => Bus;
  readonly clock?: (clock: Clock) => Clock;
  /** As members have them, and as workers do. */
  readonly memberTimings?: (timings: ClusterTimings) => ClusterTimings;
  readonly workerTimings?: (timings: ClusterTimings) => ClusterTimings;
  /** Gives back how to take it out again. */
  readonly install?: () => () => void;
  /** Only in a process of its own, which loads the changed source. */
  readonly source?: SourceChange;
}

/** The text stands in the file once. */
export interface SourceChange {
  /** From the root of the repository. */
  readonly file: string;
  readonly find: string;
  readonly replace: string;
}

const classMutations: readonly Mutation[] = [
  {
    name: "hasty-store",
    about: "A commit is answered when it is sent, not when it is durable.",
    store: (store) => changed(store, { commit: (batch) => hasten(store, batch) }),
  },
  {
    name: "lost-messages",
    about: "Messages that were not read before a restart are not read after it.",
    store: (store) => changed(store, { loadOutbox: async () => [] }),
  },
  {
    name: "fast-clock",
    about: "Timers fire after half their time.",
    clock: (clock) => ({
      now: () => clock.now(),
      monotonic: () => clock.monotonic(),
      soon: (callback) => clock.soon(callback),
      after: (delayMs, callback) => clock.after(delayMs / 2, callback),
    }),
  },
  {
    name: "endless-domains",
    about: "A domain is never full.",
    install: withoutQuota,
  },
  {
    name: "deaf-dispatcher",
    about: "What is told to stop goes on.",
    install: () => redefine(Dispatcher.prototype, "abort", { value: () => undefined }),
  },
  {
    name: "endless-lease",
    about: "A member trusts its lease for ever.",
    needsCluster: true,
    install: () => redefine(Lease.prototype, "isValid", { get: () => true }),
  },
  {
    name: "forgotten-requests",
    about: "Nobody knows what was carried out before.",
    needsCluster: true,
    store: (store) => changed(store, { findRequest: async () => undefined }),
  },
  {
    name: "open-fence",
    about: "The store takes what an earlier owner writes.",
    needsCluster: true,
    store: withoutFence,
    install: () => {
      standings.clear();
      return () => standings.clear();
    },
  },
  {
    name: "leaking-slots",
    about: "The slot of an attempt that ends is not given back, one time in three.",
    install: leakSlots,
  },
  {
    name: "double-dispatch",
    about: "A shard's new owner runs again what is still running elsewhere.",
    needsCluster: true,
    install: () => redefine(RemoteAttempts.prototype, "classify", { value: () => "lost" }),
  },
  {
    name: "silent-holder",
    about: "What came of an attempt is not told to the shard's new owner.",
    needsCluster: true,
    install: () => redefine(ForeignAttempts.prototype, "report", { value: () => undefined }),
  },
  {
    name: "stale-answers",
    about: "A member answers from what it knew of a shard before it was lost.",
    needsCluster: true,
    profile: "freezes",
    install: () => redefine(Shard.prototype, "isLost", { get: () => false }),
  },
  {
    name: "forgotten-wake-ups",
    about: "Waits that were under way when a shard was opened are forgotten.",
    store: (store) => changed(store, { loadInstances: (shard, page) => withoutWakeUps(store, shard, page) }),
  },
  {
    name: "forgotten-numbers",
    about: "Messages are numbered from 1 again when a shard is opened.",
    store: (store) => changed(store, { loadSent: async () => [] }),
  },
  {
    name: "forgotten-tasks",
    about: "Tasks that were scheduled when a shard was opened are not run.",
    install: () => redefine(InstanceActor.prototype, "resumeTasks", { value: () => [] }),
  },
  {
    name: "late-lease",
    about: "A lease counts from when its renewal was answered, and for as long as others are patient.",
    needsCluster: true,
    profile: "freezes",
    install: countLeaseLate,
  },
  {
    name: "repeated-grants",
    about: "A worker takes a grant up as often as it comes.",
    needsWorkers: true,
    profile: "network",
    install: () => redefine(GrantWindow.prototype, "take", { value: () => true }),
  },
  {
    name: "patient-worker",
    about: "A worker that nobody workerRenewals for goes on for three times as long as it may.",
    needsWorkers: true,
    workerTimings: (timings) => ({ ...timings, workerLostMs: 3 * timings.workerLostMs }),
  },
  {
    name: "impatient-member",
    about: "A member takes a worker, and what it runs, for lost after a third of the time.",
    needsWorkers: true,
    memberTimings: (timings) => ({ ...timings, workerLostMs: timings.workerLostMs / 3 }),
  },
  {
    name: "hasty-acknowledgement",
    about: "A worker is told that its result is durable when it is not yet.",
    needsWorkers: true,
    profile: "crashes",
    install: acknowledgeEarly,
  },
  {
    name: "forgotten-results",
    about: "A worker that connects to another member does not tell it of its results.",
    needsWorkers: true,
    install: withoutResults,
  },
  {
    name: "hasty-slots",
    about: "The slot of an attempt that a worker is told to stop is free before it has.",
    needsWorkers: true,
    profile: "network",
    install: () => redefine(WorkerSession.prototype, "whenStopped", { value: () => undefined }),
  },
  {
    name: "unsteady-random",
    about: "Code that is brought back has another random than before.",
    install: withoutSteadiness,
  },
  {
    name: "lost-events",
    about: "Events that code has not waited for are gone when it begins anew.",
    install: () => redefine(RaisedEvents.prototype, "untaken", { value: () => [] }),
  },
  {
    name: "forgotten-undoing",
    about: "One step of three is not undone.",
    install: forgetUndoing,
  },
  {
    name: "hasty-cancels",
    about: "A cancel cuts short what a saga undoes.",
    install: () => redefine(CodeRun.prototype, "isUndoingSaga", { get: () => false }),
  },
  {
    name: "early-timers",
    about: "Timers of code fire up to a second early, when something else wakes it.",
    install: fireEarly,
  },
  {
    name: "restarted-rates",
    about: "A schedule that begins anew counts its rate from then.",
    install: () => changeBeginnings((state, now) => ({ ...state, anchor: now })),
  },
  {
    name: "forgotten-decisions",
    about: "A schedule that begins anew does not know what it has decided about.",
    install: () => changeBeginnings((state) => ({ ...state, decidedUntil: state.anchor })),
  },
  {
    name: "runs-by-start",
    about: "The id of a schedule's run is made of when it starts, not of when it was due.",
    install: nameRunsByStart,
  },
  {
    name: "unchanged-clocks",
    about: "Schedules do not know that clocks are put forward and back.",
    install: ignoreClockChanges,
  },
];

export const mutations: readonly Mutation[] = [...classMutations, ...sourceMutations];

export function findMutation(name: string): Mutation {
  const found = mutations.find((mutation) => mutation.name === name);
  if (found !== undefined) return found;
  throw new Error(`no mutation is called ${name}; there are: ${mutations.map(({ name }) => name).join(", ")}`);
}

/** The store, with some of its methods replaced. */
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

/** That it fails is told to nobody: this is the bug. */
async function hasten(store: Store, batch: Batch): Promise<void> {
  store.commit(batch).catch(() => undefined);
}

/** Asks the pool as if it had slots without end. */
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

/** By shard: under which epoch and number the store was written last. */
const standings = new Map<number, { epoch: number; number: number }>();

/** Whatever is refused is written under the name of the present owner. */
function withoutFence(store: Store): Store {
  const note = ({ fences }: Batch): void => {
    for (const { shard, epoch, number } of fences) standings.set(shard, { epoch, number });
  };
  return changed(store, {
    async claimShard(shard, owner) {
      const claim = await store.claimShard(shard, owner);
      if (claim !== undefined) standings.set(shard, { epoch: claim.epoch, number: claim.batch });
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
  ...args: Parameters<Store["loadInstances"]>
): ReturnType<Store["loadInstances"]> {
  return (await store.loadInstances(...args)).map((row) => ({ ...row, wake: null }));
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
  type Ended = InstanceActor["ended"];
  const end = Object.getOwnPropertyDescriptor(InstanceActor.prototype, "ended")?.value as Ended;
  const value: Ended = function (this: InstanceActor, run, outcome, execution, acknowledge) {
    acknowledge?.();
    end.call(this, run, outcome, execution);
  };
  return redefine(InstanceActor.prototype, "ended", { value });
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
    // A tenth of the others' patience is what the member keeps back: 0.8 s of 8.
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

/** Of schedules, which are the only ones to carry that along. */
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
