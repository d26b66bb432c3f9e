import { TaskBuilder } from "../../src/authoring/task-builder.ts";
import type { Workflow } from "../../src/authoring/workflow.ts";
import { WorkflowBuilder } from "../../src/authoring/workflow-builder.ts";
import type { OverflowPolicy } from "../../src/kernel/dag/dag-spec.ts";
import type { EndStatus } from "../../src/kernel/status.ts";
import { scheduleWorkflowName } from "../../src/kernel/event.ts";
import type { SimRandom } from "./sim-random.ts";
import { codeNeedsScript } from "./code-shapes.ts";
import { type Beating, bulkyLength, type Flaky, type Spread, type Step } from "./jobs.ts";

/** What clients have to do so that an instance ends. */
export type ClientScript = "retry" | "mend" | "patch-external" | "add";

/** A workflow, and how its instances end without interference. */
export interface Shape {
  readonly workflow: Workflow;
  readonly status: EndStatus;
  /** How it ends if the limit of concurrent instances refuses it. */
  readonly refusedAs?: EndStatus;
  /** The outputs of succeeding tasks, by name. */
  readonly outputs: Readonly<Record<string, unknown>>;
  readonly params?: Readonly<Record<string, unknown>>;
  readonly script?: ClientScript;
}

/** The parameters for drawing a shape. */
export interface Brush {
  readonly random: SimRandom;
  /** Declared domains for tasks. */
  readonly domains: readonly string[];
  /** Tags for tasks to require: at any time, some worker that every member reaches has them. */
  readonly tags: readonly string[];
  /** The domain of tasks that set none. */
  readonly workflowDomain?: string;
  /** What happens to instances above the limit of their workflow. */
  readonly overflow?: OverflowPolicy;
}

/** Longer than any run. */
const daySeconds = 24 * 3600;
const hourMs = 3_600_000;

/** The limit of concurrent instances of the shape `limited`. */
export const limitedMax = 2;

const shapes = {
  chain(brush: Brush): Shape {
    const length = brush.random.whole(2, 6);
    const names = Array.from({ length }, (_, i) => `t${i}`);
    const workflow = named("chain").withTimeout(daySeconds);
    for (const [i, name] of names.entries()) {
      workflow.withTask(task(brush, name, "step", { value: i }, { after: names.slice(Math.max(0, i - 1), i) }));
    }
    const outputs = names.map((name, i) => [name, sum((i * (i + 1)) / 2)] as const);
    return success(workflow, Object.fromEntries(outputs));
  },

  fan(brush: Brush): Shape {
    const width = brush.random.whole(3, 9);
    const arms = Array.from({ length: width }, (_, i) => `arm${i}`);
    const workflow = named("fan").withMaxConcurrentTasks(brush.random.whole(2, 5));
    workflow.withTask(task(brush, "root", "step", { value: 1 }));
    for (const arm of arms) workflow.withTask(task(brush, arm, "patch", { value: 2 }, { after: ["root"] }));
    workflow.withTask(task(brush, "join", "step", { value: 4 }, { after: arms }));
    const outputs = { root: sum(1), ...Object.fromEntries(arms.map((arm) => [arm, sum(3)])), join: sum(3 * width + 4) };
    return success(workflow, outputs);
  },

  diamond(brush: Brush): Shape {
    const workflow = named("diamond")
      .withTask(task(brush, "top", "step", { value: 1 }))
      .withTask(task(brush, "left", "step", { value: 2 }, { after: ["top"] }))
      .withTask(task(brush, "right", "bulky", { value: 3 }, { after: ["top"] }))
      .withTask(task(brush, "bottom", "step", { value: 4 }, { after: ["left", "right", "top"] }));
    return success(workflow, { top: sum(1), left: sum(3), right: bulky(4), bottom: sum(12) });
  },

  layered,

  bulky(brush: Brush): Shape {
    const workflow = named("bulky")
      .withTask(task(brush, "a", "bulky", { value: 1 }))
      .withTask(task(brush, "b", "bulky", { value: 2 }, { after: ["a"] }))
      .withTask(new TaskBuilder("size").withDecision("size(context.text) > 100").withDependency("b"))
      .withTask(task(brush, "c", "step", { value: 3 }, { after: ["a", "b"] }).withDependency("size", { when: true }));
    const outputs = { a: bulky(1), b: bulky(3), size: true, c: sum(7) };
    return { ...success(workflow, outputs), params: { text: "y".repeat(bulkyLength) } };
  },

  flaky(brush: Brush): Shape {
    const failures = brush.random.whole(1, 3);
    const initialMs = brush.random.isLucky(0.3) ? brush.random.whole(2000, 9000) : brush.random.whole(0, 400);
    const retry = { count: failures, initialMs, factor: 2, jitter: 0.5 };
    const flaky = task<Flaky>(brush, "flaky", "flaky", { value: 5, failures }, { retry });
    const workflow = named("flaky")
      .withTask(flaky)
      .withTask(task(brush, "after", "step", { value: 1 }, { after: ["flaky"] }));
    return success(workflow, { flaky: sum(5), after: sum(6) });
  },

  "timed-task"(brush: Brush): Shape {
    const timeoutMs = brush.random.whole(400, 3000);
    const params = { value: 2, failures: 1, ms: 5, timeoutMs };
    const hang = task<Flaky>(brush, "hang", "hang", params, { retry: { count: 9, initialMs: 50 } });
    hang.withTimeout(timeoutMs / 1000);
    return success(named("timed-task").withTask(hang), { hang: sum(2) });
  },

  /** Sends heartbeats; its first attempts fail, or fall silent and time out. */
  beating(brush: Brush): Shape {
    const { random } = brush;
    const failures = random.whole(0, 2);
    const timeoutMs = random.whole(400, 6000);
    const params = {
      value: 2,
      ms: 0,
      failures,
      timeoutMs,
      beats: random.whole(0, 8),
      fallsSilent: random.isLucky(0.5),
    };
    const beat = task<Beating>(brush, "beat", "beat", params, { retry: { count: 9, initialMs: 50 } });
    return success(named("beating").withTask(beat.withHeartbeatTimeout(timeoutMs / 1000)), { beat: sum(2) });
  },

  /** Ends by its own timeout, while a task runs and another waits for a retry that would come too late. */
  "timed-instance"(brush: Brush): Shape {
    const workflow = named("timed-instance")
      .withTimeout(brush.random.whole(4, 60) / 10)
      .withTask(task<Flaky>(brush, "hang", "hang", { value: 1, failures: 1_000_000 }))
      .withTask(
        task<Flaky>(brush, "late", "flaky", { value: 1, failures: 1 }, { retry: { count: 1, initialMs: hourMs } }),
      );
    return { workflow: workflow.build(), status: "Failed", outputs: {} };
  },

  spread(brush: Brush): Shape {
    const subTasks = brush.random.whole(1, 4);
    const names = Array.from({ length: subTasks }, (_, i) => `spread.${i}`);
    const workflow = named("spread")
      .withTask(task<Spread>(brush, "spread", "spread", { value: 1, subTasks }))
      .withTask(task(brush, "join", "step", { value: 1 }, { after: ["spread"] }));
    const outputs = { spread: sum(1), ...Object.fromEntries(names.map((name) => [name, sum(2)])) };
    return success(workflow, { ...outputs, join: sum(2 + 2 * subTasks) });
  },

  /** Sub-tasks of sub-tasks: 1 + 2 + 4 tasks, each with the sum of those above it. */
  "spread-deeper"(brush: Brush): Shape {
    const children = ["spread.0", "spread.1"];
    const grandchildren = children.flatMap((name) => [`${name}.0`, `${name}.1`]);
    const workflow = named("spread-deeper")
      .withTask(task<Spread>(brush, "spread", "spread", { value: 1, subTasks: 2, deeper: true }))
      .withTask(task(brush, "join", "step", { value: 1 }, { after: ["spread"] }));
    return success(workflow, {
      spread: sum(1),
      ...Object.fromEntries(children.map((name) => [name, sum(2)])),
      ...Object.fromEntries(grandchildren.map((name) => [name, sum(3)])),
      join: sum(1 + 1 + 2 * 2 + 4 * 3),
    });
  },

  nested(brush: Brush): Shape {
    const innermost = named("innermost").withTask(task(brush, "deep", "patch", { value: 1 }));
    const retry = { count: 1, initialMs: 60 };
    const first = task<Flaky>(brush, "first", "flaky", { value: 1, failures: 1 }, { retry });
    const inner = named("inner")
      .withTask(first)
      .withTask(new TaskBuilder("nest").withNestedWorkflow(innermost.build()).withDependency("first"));
    const workflow = named("nested")
      .withTask(task(brush, "before", "step", { value: 1 }))
      .withTask(new TaskBuilder("nest").withNestedWorkflow(inner.build()).withDependency("before"))
      .withTask(new TaskBuilder("merged").withDecision("context.deep == 1").withDependency("nest"))
      .withTask(
        task(brush, "after", "step", { value: 1 }, { after: ["nest"] }).withDependency("merged", { when: true }),
      );
    const nest = { first: sum(1), nest: { deep: sum(1) } };
    return success(workflow, { before: sum(1), nest, merged: true, after: sum(3) });
  },

  /** Several children at a time, with large results. */
  brood(brush: Brush): Shape {
    const inner = named("brood-inner")
      .withTask(task(brush, "a", "step", { value: 1 }))
      .withTask(task(brush, "b", "bulky", { value: 1 }, { after: ["a"] }));
    const names = Array.from({ length: brush.random.whole(2, 4) }, (_, i) => `child${i}`);
    const workflow = named("brood").withMaxConcurrentTasks(brush.random.whole(2, 4));
    const built = inner.build();
    for (const name of names) workflow.withTask(new TaskBuilder(name).withNestedWorkflow(built));
    workflow.withTask(task(brush, "join", "step", { value: 1 }, { after: names }));
    const outputs = Object.fromEntries(names.map((name) => [name, { a: sum(1), b: bulky(2) }]));
    return success(workflow, { ...outputs, join: sum(1 + 3 * names.length) });
  },

  /** The nested workflow fails; the retry of its task continues the same child. */
  "nested-retry"(brush: Brush): Shape {
    const inner = named("inner-retry")
      .withTask(task(brush, "good", "step", { value: 1 }))
      .withTask(task(brush, "bad", "broken-at-first", { value: 1 }, { after: ["good"] }));
    const nest = new TaskBuilder("nest").withNestedWorkflow(inner.build()).withRetryCount(1);
    nest.withRetryPolicy({ initialMs: brush.random.whole(50, 400), factor: 1 });
    return success(named("nested-retry").withTask(nest), { nest: { good: sum(1), bad: sum(2) } });
  },

  decision(brush: Brush): Shape {
    const isHigh = brush.random.isLucky(0.5);
    const workflow = named("decision")
      .withTask(task(brush, "look", "step", { value: isHigh ? 10 : 1 }))
      .withTask(new TaskBuilder("choose").withDecision("outputs.look.sum > 5").withDependency("look"))
      .withTask(task(brush, "high", "step", { value: 100 }).withDependency("choose", { when: true }))
      .withTask(task(brush, "low", "step", { value: 200 }).withDependency("choose", { when: false }))
      .withTask(task(brush, "join", "step", { value: 1 }, { after: ["high", "low"] }));
    const branch = isHigh ? { high: sum(100) } : { low: sum(200) };
    return success(workflow, {
      look: sum(isHigh ? 10 : 1),
      choose: isHigh,
      ...branch,
      join: sum(isHigh ? 101 : 201),
    });
  },

  "skipped-failure"(brush: Brush): Shape {
    const workflow = named("skipped-failure")
      .withTask(task(brush, "broken", "broken", { value: 1 }).withSkipWhenFailed())
      .withTask(task(brush, "after", "step", { value: 1 }, { after: ["broken"] }));
    return success(workflow, { after: sum(1) });
  },

  "other-branch"(brush: Brush): Shape {
    const workflow = named("other-branch")
      .withFailurePolicy("continue")
      .withTask(task(brush, "broken", "broken", { value: 1 }, { retry: { count: 2, initialMs: 80 } }))
      .withTask(task(brush, "never", "step", { value: 1 }, { after: ["broken"] }))
      .withTask(task(brush, "a", "step", { value: 1 }))
      .withTask(task(brush, "b", "step", { value: 1 }, { after: ["a"] }));
    return { workflow: workflow.build(), status: "Failed", outputs: { a: sum(1), b: sum(2) } };
  },

  /** A failure ends the instance at once and aborts its running tasks. */
  abrupt(brush: Brush): Shape {
    const workflow = named("abrupt")
      .withFailurePolicy("abort-running")
      .withTask(task(brush, "long", "step", { value: 1, ms: 15_000 }))
      .withTask(task(brush, "broken", "broken", { value: 1 }));
    return { workflow: workflow.build(), status: "Failed", outputs: {} };
  },

  retried(brush: Brush): Shape {
    const workflow = named("retried")
      .withTask(task(brush, "good", "step", { value: 1 }))
      .withTask(task(brush, "bad", "broken-at-first", { value: 2 }, { after: ["good"] }))
      .withTask(task(brush, "after", "step", { value: 3 }, { after: ["bad"] }));
    return { ...success(workflow, { good: sum(1), bad: sum(3), after: sum(6) }), script: "retry" };
  },

  mended(brush: Brush): Shape {
    const workflow = named("mended")
      .withTask(task(brush, "good", "step", { value: 1 }))
      .withTask(task(brush, "bad", "broken", { value: 2 }, { after: ["good"] }))
      .withTask(task(brush, "after", "step", { value: 3 }, { after: ["bad"] }));
    return { ...success(workflow, { good: sum(1), bad: sum(70), after: sum(73) }), script: "mend" };
  },

  patched(brush: Brush): Shape {
    const retry = { count: 10_000, initialMs: 700 };
    const workflow = named("patched").withTask(task(brush, "wait", "await-context", { value: 1 }, { retry }));
    return { ...success(workflow, { wait: sum(43) }), script: "patch-external" };
  },

  added(brush: Brush): Shape {
    const retry = { count: 10_000, initialMs: 700 };
    const workflow = named("added")
      .withTask(task(brush, "wait", "await-context", { value: 1 }, { retry }))
      .withTask(task(brush, "after", "step", { value: 1 }, { after: ["wait"] }));
    return { ...success(workflow, { wait: sum(43), extra: sum(44), after: sum(88) }), script: "add" };
  },

  /** Items of which some fail at first; what comes after the map sees their sum. */
  map(brush: Brush): Shape {
    const { random } = brush;
    const count = random.whole(0, 12);
    const failures = random.whole(0, 1);
    const retry = { count: failures, initialMs: 80 };
    const each = task<Flaky>(brush, "each", "flaky", { value: 2, failures, ms: random.whole(0, 400) }, { retry });
    const workflow = named("map")
      .withTask(each.withMap("context.list", { concurrency: random.whole(1, 4) }))
      .withTask(task(brush, "join", "step", { value: 1 }, { after: ["each"] }));
    const summary = { total: count, succeeded: count, failed: 0, results: Array.from({ length: count }, () => sum(2)) };
    const list = Array.from({ length: count }, (_, i) => (random.isLucky(0.1) ? "z".repeat(bulkyLength) : i));
    return { ...success(workflow, { each: summary, join: sum(1 + 2 * count) }), params: { list } };
  },

  /** Every other item fails until the instance is retried: fast, or after all of them. */
  "map-retried"(brush: Brush): Shape {
    const { random } = brush;
    const count = random.whole(2, 8);
    const items = Array.from({ length: count }, (_, i) => i);
    const options = { concurrency: random.whole(1, 3), failFast: random.isLucky(0.5) };
    const workflow = named("map-retried")
      .withTask(
        task(brush, "each", "odd-broken-at-first", { value: 3, ms: random.whole(0, 300) }).withMap(items, options),
      )
      .withTask(task(brush, "after", "step", { value: 1 }, { after: ["each"] }));
    const summary = { total: count, succeeded: count, failed: 0, results: items.map(() => sum(3)) };
    return { ...success(workflow, { each: summary, after: sum(1 + 3 * count) }), script: "retry" };
  },

  /** Items are handed in by a source, and by items; the first attempts of both may fail after that. */
  "map-source"(brush: Brush): Shape {
    const { random } = brush;
    const list = (): number[] => Array.from({ length: random.whole(0, 4) }, () => random.whole(0, 2));
    const calls = [list(), list()];
    const failures = random.whole(0, 1);
    const retry = { count: failures, initialMs: 80 };
    const each = task<Flaky>(brush, "each", "nest", { value: 2, failures, ms: random.whole(0, 400) }, { retry });
    const told = each.build().params as Flaky;
    each.withMapSource({ job: "source", params: { ...told, calls } }, { concurrency: random.whole(1, 4) });
    const workflow = named("map-source")
      .withTask(each)
      .withTask(task(brush, "join", "step", { value: 1 }, { after: ["each"] }));
    const count = calls.flat().reduce((total, kids) => total + 1 + kids, 0);
    const summary = { total: count, succeeded: count, failed: 0, results: Array.from({ length: count }, () => sum(2)) };
    return success(workflow, { each: summary, join: sum(1 + 2 * count) });
  },

  /** Its reduce refuses the items that fail at first: a retry runs these and the reduce again. */
  "map-reduce"(brush: Brush): Shape {
    const { random } = brush;
    const count = random.whole(0, 8);
    const job = random.isLucky(0.5) ? "step" : "odd-broken-at-first";
    const items = Array.from({ length: count }, (_, i) => i);
    const each = task(brush, "each", job, { value: 3, ms: random.whole(0, 300) });
    const told = each.build().params as Step;
    each.withMap(items, { concurrency: random.whole(1, 3) }).withReduce("reduce", { ...told, value: 4 });
    const workflow = named("map-reduce")
      .withTask(each)
      .withTask(task(brush, "after", "step", { value: 1 }, { after: ["each"] }));
    const shape = success(workflow, { each: sum(4 + 3 * count), after: sum(5 + 3 * count) });
    return job === "step" || count < 2 ? shape : { ...shape, script: "retry" };
  },

  /** A broadcast to whatever workers there are; some may be lost on the way. */
  broadcast(brush: Brush): Shape {
    const { random } = brush;
    const retry = { count: 10_000, initialMs: 700 };
    const each = task(brush, "each", "step", { value: 3, ms: random.whole(0, 3000) }, { retry });
    const told = each.build().params as Step;
    const after = { job: "roll-call", params: { ...told, value: 4 } };
    const before = { job: "step", params: { ...told, value: 5 } };
    each.withBroadcast(random.isLucky(0.5) ? { after } : { before, after });
    const workflow = named("broadcast")
      .withTask(each)
      .withTask(task(brush, "last", "step", { value: 1 }, { after: ["each"] }));
    return success(workflow, { each: sum(4), last: sum(5) });
  },

  /** More concurrent tasks than a shared domain has slots. */
  crowded(brush: Brush): Shape {
    const { random, domains } = brush;
    const workflow = named("crowded");
    const inner = domains.length === 0 ? brush : { ...brush, domains: [], workflowDomain: random.pick(domains) };
    if (inner.workflowDomain !== undefined) workflow.withDomain(inner.workflowDomain);
    const names = Array.from({ length: random.whole(2, 5) }, (_, i) => `t${i}`);
    for (const name of names) workflow.withTask(task(inner, name, "step", { value: 1, ms: random.whole(50, 1500) }));
    return success(workflow, Object.fromEntries(names.map((name) => [name, sum(1)])));
  },

  limited(brush: Brush): Shape {
    const { overflow = "queue" } = brush;
    const retry = { count: 1, initialMs: 1500 };
    const workflow = named("limited")
      .withMaxInstances(limitedMax, overflow)
      .withTask(task(brush, "a", "step", { value: 1 }))
      .withTask(task<Flaky>(brush, "b", "flaky", { value: 1, failures: 1 }, { after: ["a"], retry }));
    const shape = success(workflow, { a: sum(1), b: sum(2) });
    return overflow === "queue" ? shape : { ...shape, refusedAs: overflow === "fail" ? "Failed" : "Terminated" };
  },
} satisfies Record<string, (brush: Brush) => Shape>;

export type Kind = keyof typeof shapes;

export const kinds = Object.keys(shapes) as readonly Kind[];

export function drawShape(kind: Kind, brush: Brush): Shape {
  return shapes[kind](brush);
}

/** Whether its instances wait for a client. */
export function needsScript(workflow: string): boolean {
  const isSchedule = workflow === scheduleWorkflowName;
  return workflow === "patched" || workflow === "added" || isSchedule || codeNeedsScript(workflow);
}

/** Layers of tasks of all kinds, each with some of the tasks above it as dependencies. */
function layered(brush: Brush): Shape {
  const { random } = brush;
  const workflow = named("layered").withMaxConcurrentTasks(random.whole(1, 6));
  const domain = brush.domains.length > 0 && random.isLucky(0.3) ? random.pick(brush.domains) : undefined;
  if (domain !== undefined) workflow.withDomain(domain);
  const inner: Brush = domain === undefined ? brush : { ...brush, workflowDomain: domain };
  const sums = new Map<string, number>();
  const outputs: Record<string, unknown> = {};
  for (let layer = 0, layers = random.whole(2, 4); layer < layers; layer++) {
    const above = [...sums.keys()];
    for (let place = 0, width = random.whole(1, 4); place < width; place++) {
      const name = `n${layer}${place}`;
      const after = above.length === 0 ? [] : chooseSome(random, above);
      const value = random.whole(1, 9);
      const total = after.reduce((total, each) => total + (sums.get(each) ?? 0), value);
      const job = random.pick(["step", "step", "patch", "bulky", "flaky"] as const);
      const retry = { count: 1, initialMs: 150 };
      if (job === "flaky") workflow.withTask(task<Flaky>(inner, name, job, { value, failures: 1 }, { after, retry }));
      else workflow.withTask(task(inner, name, job, { value }, { after }));
      sums.set(name, total);
      outputs[name] = job === "bulky" ? bulky(total) : sum(total);
    }
  }
  return success(workflow, outputs);
}

function chooseSome(random: SimRandom, names: readonly string[]): string[] {
  const chosen = names.filter(() => random.isLucky(0.4)).slice(0, 4);
  return chosen.length > 0 ? chosen : [random.pick(names)];
}

function success(workflow: WorkflowBuilder, outputs: Readonly<Record<string, unknown>>): Shape {
  return { workflow: workflow.build(), status: "Success", outputs };
}

function named(name: string): WorkflowBuilder {
  return new WorkflowBuilder().withName(name);
}

interface TaskOptions {
  readonly after?: readonly string[];
  readonly retry?: {
    readonly count: number;
    readonly initialMs: number;
    readonly factor?: number;
    readonly jitter?: number;
  };
}

/** Adds to the params what the record needs and a job cannot read: its domain, tag and retry policy. */
function task<Params extends Step = Step>(
  { random, domains, tags, workflowDomain }: Brush,
  name: string,
  job: string,
  params: Omit<Params, "ms" | "domain" | "tag" | "retryMs" | "retryFactor"> & { ms?: number },
  { after = [], retry }: TaskOptions = {},
): TaskBuilder {
  const own = domains.length > 0 && random.isLucky(0.35) ? random.pick(domains) : undefined;
  const domain = own ?? workflowDomain;
  const ofTag = random.fork(`tag of ${name}`);
  const tag = tags.length > 0 && ofTag.isLucky(0.15) ? ofTag.pick(tags) : undefined;
  const { count, ...policy } = { factor: 1, ...retry };
  const told = {
    ms: drawMs(random),
    ...params,
    ...(domain !== undefined && { domain }),
    ...(tag !== undefined && { tag }),
    ...(retry !== undefined && { retryMs: retry.initialMs, retryFactor: policy.factor }),
  };
  const builder = new TaskBuilder(name).withJobFunction(job, told).withDependencies(after).withTimeout(daySeconds);
  if (own !== undefined) builder.withDomain(own);
  if (tag !== undefined) builder.withWorkerTags(tag);
  return retry === undefined ? builder : builder.withRetryCount(count ?? 0).withRetryPolicy(policy);
}

/** Most tasks are short; some take long enough to be lost repeatedly. */
function drawMs(random: SimRandom): number {
  const kind = random.next();
  if (kind < 0.55) return random.whole(0, 60);
  return kind < 0.9 ? random.whole(100, 1500) : random.whole(2000, 12_000);
}

function sum(value: number): { sum: number } {
  return { sum: value };
}

function bulky(value: number): { sum: number; text: string } {
  return { sum: value, text: "x".repeat(bulkyLength) };
}
