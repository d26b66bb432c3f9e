import type { CodeWorkflow } from "../../src/authoring/code-workflow.ts";
import type { Workflow } from "../../src/authoring/workflow.ts";
import type { OverflowPolicy } from "../../src/kernel/dag/dag-spec.ts";
import type { EndStatus } from "../../src/kernel/status.ts";
import type { SimRandom } from "./sim-random.ts";
import type { CodeClientScript } from "./code-shapes.ts";
import { drawShape, type ClientScript, type Kind, kinds } from "./shapes.ts";

/** What clients do to an instance while it runs, beyond what it needs. */
export type Act =
  | { readonly what: "look" | "list" | "history" | "breakpoint" | "await"; readonly afterMs: number }
  /** Puts a key into the context that nobody else uses. */
  | { readonly what: "patch"; readonly afterMs: number }
  /** An event that the code never waits for. */
  | { readonly what: "raise"; readonly afterMs: number }
  | { readonly what: "pause"; readonly afterMs: number; readonly forMs: number }
  | { readonly what: "terminate" | "cancel"; readonly afterMs: number }
  /** Submits the same id at about the same time. */
  | { readonly what: "double"; readonly afterMs: number };

/** One instance to submit, what is done to it, and how it may end whatever happens to the machines. */
export interface AnyScenario {
  readonly number: number;
  readonly workflow: Workflow | CodeWorkflow;
  /** Undefined: the engine makes one. */
  readonly instanceId: string | undefined;
  /** It is started by whoever sends it its first event. */
  readonly isSignaled?: boolean;
  /** The context of a DAG, the input of code. */
  readonly params: Readonly<Record<string, unknown>>;
  readonly maxConcurrentTasks: number | undefined;
  readonly submitAt: number;
  readonly acts: readonly Act[];
  readonly script: ClientScript | CodeClientScript | undefined;
  readonly ends: readonly EndStatus[];
  /** How it ends if its workflow's maximum of instances refuses it; undefined if that never does. */
  readonly refusedAs?: EndStatus;
  /** Of one that ends in Success: by task name, or what code gives back. Undefined where that depends on clients. */
  readonly outputs: unknown;
  /**
   * What becomes of it when it has ended. Reused: another one is submitted under the same id. Forked: another one goes on
   * from its first step.
   */
  readonly afterlife: "none" | "reused" | "rerun" | "purged" | "forked";
}

/** Of a DAG. */
export interface Scenario extends AnyScenario {
  readonly kind: Kind;
  readonly workflow: Workflow;
}

/** Somebody changes the size of a domain. */
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
  /** By name, the size it has at first. */
  readonly domains: Readonly<Record<string, number>>;
  /** Everything is submitted within this time. */
  readonly spanMs: number;
  readonly kinds?: readonly Kind[];
}

/** What all instances of a run have in common. */
interface ScenarioOptions extends WorkloadOptions {
  readonly overflow: OverflowPolicy;
}

/** The same for the same random. */
export function drawWorkload(random: SimRandom, options: WorkloadOptions): Workload {
  const count = random.whole(10, 25);
  const crowd = drawCrowd(random.fork("crowd"), options);
  const overflow = random.fork("overflow").pick(["queue", "queue", "skip", "fail"] as const);
  // Those that would be refused come one after the other, so that some of them find a place.
  const spreadMs = crowd.kind === "limited" && overflow !== "queue" ? 1500 : 300;
  const scenarios = Array.from({ length: count }, (_, number) => {
    const own = random.fork(`scenario ${number}`);
    const kinds = number < crowd.size ? { kinds: [crowd.kind] } : {};
    const scenario = drawScenario(own, number, { ...options, ...kinds, overflow });
    return number < crowd.size ? { ...scenario, submitAt: crowd.at + own.waitMs(spreadMs) } : scenario;
  });
  return { scenarios, resizes: drawResizes(random.fork("resizes"), options) };
}

/** Now and then many instances come at once that share a limit: a maximum of instances, or the slots of a domain. */
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
  const shape = drawShape(kind, { random, domains: Object.keys(options.domains), overflow: options.overflow });
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
    afterlife: plainKinds.includes(kind) && !isTerminated ? drawAfterlife(random) : "none",
  };
}

/** Of one instance each, that needs nobody to come to its end and gives the same when it runs again. */
const plainKinds: readonly Kind[] = ["chain", "fan", "diamond", "layered", "decision", "bulky", "flaky", "spread"];

function drawAfterlife(random: SimRandom): Scenario["afterlife"] {
  return random.weighted({ none: 0.7, reused: 0.1, rerun: 0.1, purged: 0.1 }) ?? "none";
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
