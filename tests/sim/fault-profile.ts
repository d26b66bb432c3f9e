import { type ClusterTimings, defaultTimings } from "../../src/cluster/timings.ts";
import type { SimRandom } from "./sim-random.ts";
import { calmNetwork, type NetworkConditions } from "./network.ts";
import { calmStore, type StoreConditions } from "./store.ts";

/** The kinds of faults. */
export type FaultKind =
  | "crash"
  /** Crashes in the middle of a call to the store, or between two promises. */
  | "crash-at-call"
  | "crash-at-event"
  /** Crashes some time after a commit that was sent and never arrives. */
  | "lose-commit"
  /** Leaves the cluster and comes back later. */
  | "leave"
  /** The same, while most answers of the store are lost. */
  | "leave-unheard"
  /** The process stalls and continues: before the others remove it, or after. */
  | "freeze"
  | "long-freeze"
  /** A freeze during which the monotonic clock stands still too. */
  | "suspend"
  /** The event loop is blocked while the process's other thread runs: for less than `stallMs`, or for more. */
  | "stall"
  | "long-stall"
  /** Cuts one machine off from the store. */
  | "cut-store"
  | "slow-store"
  | "failing-store"
  /** The store carries out requests, and most of its answers are lost. */
  | "unheard-store"
  /** Affects all members at once: cuts them off from the store, or freezes them. */
  | "store-outage"
  | "freeze-all"
  /** Partitions machines, in both directions or one. */
  | "partition"
  | "one-way"
  | "lossy-network"
  /** The server of the bus is away, for one member or for all, and they know it. */
  | "bus-away"
  /** Breaks the connection of a worker to its member. */
  | "break-link"
  | "clock-jump";

/** The fault profile of a run: the kinds and frequency of faults, and the machines. */
export interface FaultProfile {
  /** The kind of faults that is frequent. */
  readonly name: string;
  readonly memberCount: number;
  /** The number of machines that run jobs for the members. */
  readonly workerCount: number;
  readonly storeKind: "memory" | "sqlite";
  readonly hasBus: boolean;
  readonly timings: ClusterTimings;
  /** The duration of the phase with faults. */
  readonly spanMs: number;
  readonly faultEveryMs: number;
  readonly faults: Readonly<Partial<Record<FaultKind, number>>>;
  readonly store: StoreConditions;
  readonly network: NetworkConditions;
  /** The mean time until a crashed process is started again. */
  readonly downMs: number;
  /** The maximum offset of wall clocks, and of their jumps. */
  readonly wallSkewMs: number;
  readonly wallJumpMs: number;
  /** The maximum deviation of the rate of monotonic clocks. */
  readonly drift: number;
}

export type FaultProfileName = "mild" | "crashes" | "freezes" | "store" | "network" | "clocks" | "churn" | "everything";

/** The basic frequency of faults in every profile. */
const everywhere: Readonly<Partial<Record<FaultKind, number>>> = {
  crash: 1,
  "crash-at-call": 1,
  "crash-at-event": 1,
  "lose-commit": 1,
  leave: 1,
  freeze: 1,
  "slow-store": 1,
  "failing-store": 1,
};

const betweenMembers: Readonly<Partial<Record<FaultKind, number>>> = {
  "long-freeze": 0.5,
  stall: 0.5,
  "long-stall": 0.3,
  suspend: 0.3,
  "cut-store": 0.5,
  partition: 0.5,
  "one-way": 0.5,
  "lossy-network": 0.5,
  "bus-away": 0.5,
  "store-outage": 0.3,
  "freeze-all": 0.3,
};

/** How often connections of workers break. */
const linkBreaks: Readonly<Partial<Record<FaultProfileName, number>>> = { network: 8, everything: 3 };

const worse: Readonly<Record<FaultProfileName, Readonly<Partial<Record<FaultKind, number>>>>> = {
  mild: {},
  crashes: { crash: 10, "crash-at-call": 10, "crash-at-event": 10, "lose-commit": 10 },
  freezes: { freeze: 10, "long-freeze": 10, stall: 8, "long-stall": 5, suspend: 6, "freeze-all": 6 },
  store: { "cut-store": 8, "slow-store": 8, "failing-store": 8, "crash-at-call": 3, "store-outage": 5 },
  network: { partition: 8, "one-way": 8, "lossy-network": 8, "bus-away": 8, "cut-store": 3 },
  clocks: { "clock-jump": 12, suspend: 4 },
  churn: { leave: 12, "leave-unheard": 4, crash: 3 },
  everything: {
    crash: 3,
    "crash-at-call": 3,
    "crash-at-event": 3,
    "lose-commit": 3,
    leave: 3,
    "leave-unheard": 1,
    freeze: 3,
    "long-freeze": 3,
    stall: 3,
    "long-stall": 2,
    suspend: 2,
    "cut-store": 3,
    "slow-store": 3,
    "failing-store": 3,
    partition: 3,
    "one-way": 3,
    "lossy-network": 3,
    "bus-away": 3,
    "store-outage": 2,
    "freeze-all": 2,
    "clock-jump": 3,
  },
};

export const faultProfileNames = Object.keys(worse) as readonly FaultProfileName[];

/** The faults of a single engine; the others need several members. */
const forOne: readonly FaultKind[] = [
  "crash",
  "crash-at-call",
  "crash-at-event",
  "lose-commit",
  "leave",
  "leave-unheard",
  "freeze",
  "suspend",
  "cut-store",
  "slow-store",
  "failing-store",
  "clock-jump",
];

/** Timings five times shorter than the defaults, for most runs. */
const quickTimings: ClusterTimings = {
  beatMs: 500,
  suspectMs: 2000,
  lostMs: 6000,
  stallMs: 12_000,
  pollMs: 1000,
  pollWithoutBusMs: 200,
  callMs: 12_000,
  workerBeatMs: 2000,
  workerLostMs: 12_000,
  rebalanceMs: 300,
};

export interface FaultProfileOptions {
  /** Undefined for a single engine. */
  readonly memberCount: number | undefined;
  readonly workerCount: number;
  readonly name?: FaultProfileName;
}

export function drawFaultProfile(random: SimRandom, options: FaultProfileOptions): FaultProfile {
  const { workerCount } = options;
  const name = options.name ?? random.pick(faultProfileNames);
  const isCluster = options.memberCount !== undefined;
  const isIntense = random.isLucky(0.3);
  const isBadAt = (part: FaultProfileName): boolean => name === part || name === "everything";
  return {
    name: isIntense ? `${name}, intense` : name,
    memberCount: options.memberCount ?? 1,
    workerCount,
    storeKind: random.isLucky(0.5) ? "memory" : "sqlite",
    hasBus: isCluster && random.isLucky(0.8),
    timings: random.isLucky(0.1) ? defaultTimings : quickTimings,
    spanMs: random.within(10_000, isCluster ? 60_000 : 40_000),
    faultEveryMs: name === "mild" ? 12_000 : isIntense ? random.within(300, 1000) : random.within(1000, 6000),
    faults: faultsOf(name, { isCluster, hasWorkers: workerCount > 0, withSuspends: random.isLucky(0.5) }),
    store: isBadAt("store") ? roughStore(random, isCluster) : { ...calmStore, delayMs: random.within(0.2, 4) },
    network: isBadAt("network") ? roughNetwork(random) : { ...calmNetwork, delayMs: random.within(0.2, 3) },
    downMs: random.pick([100, 800, 5000]),
    wallSkewMs: isBadAt("clocks") ? random.pick([50, 2000, 60_000]) : random.pick([0, 20]),
    wallJumpMs: isBadAt("clocks") ? random.pick([500, 30_000, 120_000]) : 200,
    drift: isBadAt("clocks") || random.isLucky(0.3) ? 0.05 : 0,
  };
}

/**
 * A machine whose clock is set back while it is suspended cannot notice that time has passed, so a run has suspends or
 * clocks that are set back, not both.
 */
function faultsOf(
  name: FaultProfileName,
  { isCluster, hasWorkers, withSuspends }: { isCluster: boolean; hasWorkers: boolean; withSuspends: boolean },
): Partial<Record<FaultKind, number>> {
  const between = isCluster && name !== "mild" ? betweenMembers : {};
  const faults: Partial<Record<FaultKind, number>> = { ...everywhere, ...between, ...worse[name] };
  if (hasWorkers) faults["break-link"] = linkBreaks[name] ?? 1;
  if (!withSuspends) delete faults.suspend;
  if (isCluster) return faults;
  return Object.fromEntries(
    Object.entries(faults).filter(([kind]) => kind === "break-link" || forOne.includes(kind as FaultKind)),
  );
}

/** Single calls fail at random, in addition to longer outages. */
function roughStore(random: SimRandom, isServer: boolean): StoreConditions {
  return {
    delayMs: random.within(0.5, 15),
    slowness: random.within(0, 0.1),
    failing: random.within(0, 0.08),
    lying: random.within(0, 0.08),
    lagging: isServer ? random.within(0, 0.05) : 0,
  };
}

function roughNetwork(random: SimRandom): NetworkConditions {
  return {
    delayMs: random.within(0.5, 20),
    loss: random.within(0, 0.2),
    doubling: random.within(0, 0.2),
    straying: random.within(0, 0.2),
  };
}
