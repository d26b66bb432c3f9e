import type { CodeWorkflow } from "../../src/authoring/code-workflow.ts";
import type { Workflow } from "../../src/authoring/workflow.ts";
import type { OverflowPolicy } from "../../src/kernel/dag/dag-spec.ts";
import type { EndStatus } from "../../src/kernel/status.ts";
import type { SimRandom } from "./sim-random.ts";
import type { CodeClientScript } from "./code-shapes.ts";
import { drawShape, type ClientScript, type Kind, kinds } from "./shapes.ts";

/** Operations of clients on a running instance, beyond those it needs. */
export type Act =
  | { readonly what: "look" | "list" | "history" | "breakpoint" | "await"; readonly afterMs: number }
  /** Adds a key to the context that is used nowhere else. */
  | { readonly what: "patch"; readonly afterMs: number }
  /** Raises an event that the code never waits for. */
  | { readonly what: "raise"; readonly afterMs: number }
  | { readonly what: "pause"; readonly afterMs: number; readonly forMs: number }
  | { readonly what: "terminate" | "cancel"; readonly afterMs: number }
  /** Submits the same id at about the same time. */
  | { readonly what: "double"; readonly afterMs: number };

/** One instance to submit, the operations on it, and its possible ends whatever faults occur. */
export interface AnyScenario {
  readonly number: number;
  readonly workflow: Workflow | CodeWorkflow;
  /** The namespace of the instance. Default `default`. */
  readonly namespace?: string;
  /** Undefined if the engine generates one. */
  readonly instanceId: string | undefined;
  /** Whether its first event starts it. */
  readonly isSignaled?: boolean;
  /** The context of a DAG, or the input of code. */
  readonly params: Readonly<Record<string, unknown>>;
  readonly maxConcurrentTasks: number | undefined;
  readonly submitAt: number;
  readonly acts: readonly Act[];
  readonly script: ClientScript | CodeClientScript | undefined;
  readonly ends: readonly EndStatus[];
  /** How it ends if the limit of its workflow refuses it; undefined if that cannot happen. */
  readonly refusedAs?: EndStatus;
  /** The outputs by task name, or the output of code, if it ends in Success. Undefined if that depends on clients. */
  readonly outputs: unknown;
  /**
   * Its afterlife. Reused: another instance is submitted under the same id. Contested: one client purges it
   * while another reopens it. Forked: another instance continues from its first step.
   */
  readonly afterlife: "none" | "reused" | "rerun" | "purged" | "contested" | "forked";
}

/** A scenario of a DAG. */
export interface Scenario extends AnyScenario {
  readonly kind: Kind;
  readonly workflow: Workflow;
}

/** A resize of a domain. */
export interface Resize {
  readonly at: number;
  readonly domain: string;
  readonly size: number;
}

export interface Workload {
  readonly scenarios: readonly Scenario[];
  readonly resizes: readonly Resize[];
}

export interface WorkloadOptions {
  /** The initial sizes by name. */
  readonly domains: Readonly<Record<string, number>>;
  /** Tags that tasks may require. Default none. */
  readonly tags?: readonly string[];
  /** All submits happen within this time. */
  readonly spanMs: number;
  readonly kinds?: readonly Kind[];
}

/** Values that all instances of a run share. */
interface ScenarioOptions extends WorkloadOptions {
  readonly overflow: OverflowPolicy;
}

/** Draws a workload; deterministic for a random source. */
export function drawWorkload(random: SimRandom, options: WorkloadOptions): Workload {
  const count = random.whole(10, 25);
  const crowd = drawCrowd(random.fork("crowd"), options);
  const overflow = random.fork("overflow").pick(["queue", "queue", "skip", "fail"] as const);
  // Instances that the limit would refuse come one after the other, so that some of them are admitted.
  const spreadMs = crowd.kind === "limited" && overflow !== "queue" ? 1500 : 300;
  const scenarios = Array.from({ length: count }, (_, number) => {
    const own = random.fork(`scenario ${number}`);
    const kinds = number < crowd.size ? { kinds: [crowd.kind] } : {};
    const scenario = drawScenario(own, number, { ...options, ...kinds, overflow });
    return number < crowd.size ? { ...scenario, submitAt: crowd.at + own.waitMs(spreadMs) } : scenario;
  });
  return { scenarios, resizes: drawResizes(random.fork("resizes"), options) };
}

/** The second namespace of a run. */
export const twinNamespace = "twin";

/** The first number of scenarios in the second namespace. */
const firstTwin = 2000;

/**
 * Draws scenarios for the second namespace, under ids that scenarios of the first one have too: whoever mistakes one
 * namespace for the other meets an instance of another workflow.
 */
export function drawTwins(random: SimRandom, scenarios: readonly Scenario[], spanMs: number): Scenario[] {
  const named = scenarios.filter(({ instanceId }) => instanceId !== undefined && random.isLucky(0.3));
  return named.map(({ instanceId }, place) => {
    const own = random.fork(`twin ${place}`);
    const kind = own.pick(["chain", "fan", "diamond"] as const);
    const drawn = drawScenario(own, firstTwin + place, {
      domains: {},
      tags: ["member"],
      spanMs,
      kinds: [kind],
      overflow: "queue",
    });
    return { ...drawn, namespace: twinNamespace, instanceId, afterlife: "none" };
  });
}

/** Sometimes many instances that share a limit come at once: of concurrent instances, or of slots of a domain. */
function drawCrowd(
  random: SimRandom,
  { spanMs, kinds: allowed }: WorkloadOptions,
): { kind: Kind; size: number; at: number } {
  const kind = random.pick(["limited", "crowded"] as const);
  const size = allowed === undefined && random.isLucky(0.3) ? random.whole(4, 8) : 0;
  return { kind, size, at: random.within(0, spanMs) };
}

function drawScenario(random: SimRandom, number: number, options: ScenarioOptions): Scenario {
  const kind = options.kinds === undefined && random.isLucky(0.15) ? "layered" : random.pick(options.kinds ?? kinds);
  const { tags = [], overflow } = options;
  const shape = drawShape(kind, { random, domains: Object.keys(options.domains), tags, overflow });
  const acts = drawActs(random);
  const isTerminated = acts.some(({ what }) => what === "terminate");
  return {
    number,
    kind,
    workflow: shape.workflow,
    instanceId: random.isLucky(0.7) ? `w${number}-${kind}` : undefined,
    params: { ...shape.params, origin: number },
    maxConcurrentTasks: random.isLucky(0.2) ? random.whole(1, 3) : undefined,
    submitAt: random.within(0, options.spanMs),
    acts,
    script: shape.script,
    ends: isTerminated ? [shape.status, "Terminated"] : [shape.status],
    ...(shape.refusedAs !== undefined && { refusedAs: shape.refusedAs }),
    outputs: shape.outputs,
    afterlife: isTerminated ? "none" : drawAfterlife(random, kind),
  };
}

/** Kinds with one instance each, which ends without clients and has the same result when it runs again. */
const plainKinds: readonly Kind[] = ["chain", "fan", "diamond", "layered", "decision", "bulky", "flaky", "spread"];

/** Instances with a maximum are run again often, so that more run than the maximum and others wait for them. */
function drawAfterlife(random: SimRandom, kind: Kind): Scenario["afterlife"] {
  if (kind === "limited") return random.fork("afterlife").isLucky(0.4) ? "rerun" : "none";
  if (!plainKinds.includes(kind)) return "none";
  const drawn = random.weighted({ none: 0.7, reused: 0.1, rerun: 0.1, purged: 0.1 }) ?? "none";
  return drawn === "purged" && random.fork("contest").isLucky(0.7) ? "contested" : drawn;
}

function drawActs(random: SimRandom): Act[] {
  const acts = drawLooks(random);
  const afterMs = (): number => random.waitMs(1500);
  for (let patches = random.whole(0, 3); patches > 0; patches--) acts.push({ what: "patch", afterMs: afterMs() });
  return [...acts, ...drawInterference(random)];
}

export function drawLooks(random: SimRandom): Act[] {
  return Array.from({ length: random.whole(0, 4) }, () => ({
    what: random.pick(["look", "look", "list", "history", "breakpoint", "await"] as const),
    afterMs: random.waitMs(1500),
  }));
}

export function drawInterference(random: SimRandom): Act[] {
  const acts: Act[] = [];
  const afterMs = (): number => random.waitMs(1500);
  if (random.isLucky(0.25)) acts.push({ what: "pause", afterMs: afterMs(), forMs: random.waitMs(2000) });
  if (random.isLucky(0.1)) acts.push({ what: "terminate", afterMs: afterMs() });
  if (random.isLucky(0.15)) acts.push({ what: "double", afterMs: random.waitMs(100) });
  return acts;
}

function drawResizes(random: SimRandom, { domains, spanMs }: WorkloadOptions): Resize[] {
  const names = Object.keys(domains);
  if (names.length === 0 || random.isLucky(0.4)) return [];
  return Array.from({ length: random.whole(1, 5) }, () => ({
    at: random.within(0, spanMs),
    domain: random.pick(names),
    size: random.whole(1, 3),
  }));
}
