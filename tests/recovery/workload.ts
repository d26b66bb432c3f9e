import { TaskBuilder, WorkflowBuilder } from "../../src/index.ts";
import type { EndStatus, Workflow } from "../../src/index.ts";
import { Dice } from "./dice.ts";

/** What is done to an instance from outside while it runs; see drivers.ts. */
export type Outside = "nothing" | "retry" | "mend" | "pause" | "patch" | "add" | "terminate";

/** One instance to submit, and how it must end whatever happens to its process. */
export interface Scenario {
  readonly id: string;
  readonly kind: Kind;
  readonly workflow: Workflow;
  readonly params: Readonly<Record<string, unknown>>;
  readonly outside: Outside;
  readonly status: EndStatus;
  /** By task name; of those that succeed. */
  readonly outputs: Readonly<Record<string, unknown>>;
  /** By task name: how many attempts it takes, where that does not depend on the moment. */
  readonly attempts: Readonly<Record<string, number>>;
}

type Plan = Pick<Scenario, "workflow" | "outputs"> &
  Partial<Pick<Scenario, "outside" | "status" | "attempts" | "params">>;

/** At most this many instances of the kind `limited` run at once. */
export const limitedMax = 2;

/** Longer than any run of the test. */
const hourMs = 3_600_000;

/** More than setTimeout can bear. */
const sixtyDaysSeconds = 60 * 24 * 3600;

const plans = {
  chain: (dice: Dice): Plan => {
    const length = dice.between(2, 6);
    const workflow = named("chain").withTimeout(sixtyDaysSeconds);
    for (let i = 1; i <= length; i++)
      workflow.withTask(task(`t${i}`, "step", dice, { value: i }, i > 1 ? [`t${i - 1}`] : []));
    const outputs = Array.from({ length }, (_, i) => [`t${i + 1}`, { sum: ((i + 1) * (i + 2)) / 2 }] as const);
    return { workflow: workflow.build(), outputs: Object.fromEntries(outputs) };
  },

  fan: (dice: Dice): Plan => {
    const width = dice.between(3, 9);
    const arms = Array.from({ length: width }, (_, i) => `arm${i}`);
    const workflow = named("fan")
      .withMaxConcurrentTasks(dice.between(2, 5))
      .withTask(task("root", "step", dice, { value: 1 }));
    for (const arm of arms) workflow.withTask(task(arm, "patch", dice, { value: 2 }, ["root"]));
    workflow.withTask(task("join", "step", dice, { value: 4 }, arms));
    const outputs = { root: sum(1), ...Object.fromEntries(arms.map((arm) => [arm, sum(3)])), join: sum(3 * width + 4) };
    return { workflow: workflow.build(), outputs };
  },

  bulky: (dice: Dice): Plan => ({
    workflow: named("bulky")
      .withTask(task("a", "bulky", dice, { value: 1 }))
      .withTask(task("b", "bulky", dice, { value: 2 }, ["a"]))
      .withTask(task("c", "step", dice, { value: 3 }, ["a", "b"]))
      .build(),
    params: { text: "y".repeat(5000) },
    outputs: { a: { sum: 1, text: "x".repeat(6000) }, b: { sum: 3, text: "x".repeat(6000) }, c: sum(7) },
  }),

  flaky: (dice: Dice): Plan => {
    const failures = dice.between(1, 3);
    const flaky = task("flaky", "flaky", dice, { value: 5, failures })
      .withRetryCount(failures)
      .withRetryPolicy({ initialMs: dice.between(0, 300), factor: 2, jitter: 0.5 });
    return {
      workflow: named("flaky")
        .withTask(flaky)
        .withTask(task("after", "step", dice, { value: 1 }, ["flaky"]))
        .build(),
      outputs: { flaky: sum(5), after: sum(6) },
      attempts: { flaky: failures + 1, after: 1 },
    };
  },

  /** A retry that is due long after the process was killed, more than once. */
  late: (dice: Dice): Plan => ({
    workflow: named("late")
      .withTask(retrying(task("late", "flaky", dice, { value: 5, failures: 1 }), 1, dice.between(3000, 9000)))
      .build(),
    outputs: { late: sum(5) },
    attempts: { late: 2 },
  }),

  "timed-task": (dice: Dice): Plan => ({
    workflow: named("timed-task")
      .withTask(retrying(task("hang", "hang", dice, { value: 2, failures: 1, ms: 5 }), 9, 50).withTimeout(0.4))
      .build(),
    outputs: { hang: sum(2) },
  }),

  /** Ends by its own timeout, while a task runs and another waits for a retry that would come too late. */
  "timed-instance": (dice: Dice): Plan => ({
    workflow: named("timed-instance")
      .withTimeout(dice.between(4, 40) / 10)
      .withTask(task("hang", "hang", dice, { value: 1, failures: 1 }))
      .withTask(retrying(task("late", "flaky", dice, { value: 1, failures: 1 }), 1, hourMs))
      .build(),
    status: "Failed",
    outputs: {},
  }),

  spread: (dice: Dice): Plan => {
    const subTasks = dice.between(1, 4);
    const names = Array.from({ length: subTasks }, (_, i) => `spread.${i}`);
    return {
      workflow: named("spread")
        .withTask(task("spread", "spread", dice, { value: 1, subTasks }))
        .withTask(task("join", "step", dice, { value: 1 }, ["spread"]))
        .build(),
      outputs: {
        spread: sum(1),
        ...Object.fromEntries(names.map((name) => [name, sum(2)])),
        join: sum(2 + 2 * subTasks),
      },
      attempts: Object.fromEntries(names.map((name) => [name, 2])),
    };
  },

  /** Sub-tasks of sub-tasks: 1 + 2 + 4 tasks, each with the sum of those above it. */
  "spread-deeper": (dice: Dice): Plan => {
    const children = ["spread.0", "spread.1"];
    const grandchildren = children.flatMap((name) => [`${name}.0`, `${name}.1`]);
    return {
      workflow: named("spread-deeper")
        .withTask(task("spread", "spread", dice, { value: 1, subTasks: 2, deeper: true }))
        .withTask(task("join", "step", dice, { value: 1 }, ["spread"]))
        .build(),
      outputs: {
        spread: sum(1),
        ...Object.fromEntries(children.map((name) => [name, sum(2)])),
        ...Object.fromEntries(grandchildren.map((name) => [name, sum(3)])),
        join: sum(1 + 1 + 2 * 2 + 4 * 3),
      },
    };
  },

  nested: (dice: Dice): Plan => {
    const innermost = named("innermost")
      .withTask(task("deep", "patch", dice, { value: 1 }))
      .build();
    const inner = named("inner")
      .withTask(retrying(task("first", "flaky", dice, { value: 1, failures: 1 }), 1, 60))
      .withTask(new TaskBuilder("nest").withNestedWorkflow(innermost).withDependency("first"))
      .build();
    return {
      workflow: named("nested")
        .withTask(task("before", "step", dice, { value: 1 }))
        .withTask(new TaskBuilder("nest").withNestedWorkflow(inner).withDependency("before"))
        .withTask(new TaskBuilder("merged").withDecision("context.deep == 1").withDependency("nest"))
        .withTask(
          new TaskBuilder("after")
            .withJobFunction("step", quick(dice, { value: 1 }))
            .withDependency("merged", { when: true })
            .withDependency("nest"),
        )
        .build(),
      outputs: { before: sum(1), nest: { first: sum(1), nest: { deep: sum(1) } }, merged: true, after: sum(3) },
    };
  },

  /** The nested workflow fails; the retry of its node goes on with the same child. */
  "nested-retry": (dice: Dice): Plan => {
    const inner = named("inner-retry")
      .withTask(task("good", "step", dice, { value: 1 }))
      .withTask(task("bad", "broken-at-first", dice, { value: 1 }, ["good"]))
      .build();
    return {
      workflow: named("nested-retry")
        .withTask(retrying(new TaskBuilder("nest").withNestedWorkflow(inner), 1, dice.between(50, 400)))
        .build(),
      outputs: { nest: { good: sum(1), bad: sum(2) } },
      attempts: { nest: 2 },
    };
  },

  decision: (dice: Dice): Plan => {
    const isHigh = dice.next() < 0.5;
    return {
      workflow: named("decision")
        .withTask(task("look", "step", dice, { value: isHigh ? 10 : 1 }))
        .withTask(new TaskBuilder("choose").withDecision("outputs.look.sum > 5").withDependency("look"))
        .withTask(task("high", "step", dice, { value: 100 }).withDependency("choose", { when: true }))
        .withTask(task("low", "step", dice, { value: 200 }).withDependency("choose", { when: false }))
        .withTask(task("join", "step", dice, { value: 1 }, ["high", "low"]))
        .build(),
      outputs: {
        look: sum(isHigh ? 10 : 1),
        choose: isHigh,
        ...(isHigh ? { high: sum(100) } : { low: sum(200) }),
        join: sum(isHigh ? 101 : 201),
      },
    };
  },

  "skipped-failure": (dice: Dice): Plan => ({
    workflow: named("skipped-failure")
      .withTask(task("broken", "broken", dice, { value: 1 }).withSkipWhenFailed())
      .withTask(task("after", "step", dice, { value: 1 }, ["broken"]))
      .build(),
    outputs: { after: sum(1) },
    attempts: { broken: 1, after: 1 },
  }),

  "other-branch": (dice: Dice): Plan => ({
    workflow: named("other-branch")
      .withFailurePolicy("continue")
      .withTask(retrying(task("broken", "broken", dice, { value: 1 }), 2, 80))
      .withTask(task("never", "step", dice, { value: 1 }, ["broken"]))
      .withTask(task("a", "step", dice, { value: 1 }))
      .withTask(task("b", "step", dice, { value: 1 }, ["a"]))
      .build(),
    status: "Failed",
    outputs: { a: sum(1), b: sum(2) },
    attempts: { broken: 3, never: 0, a: 1, b: 1 },
  }),

  retried: (dice: Dice): Plan => ({
    workflow: named("retried")
      .withTask(task("good", "step", dice, { value: 1 }))
      .withTask(task("bad", "broken-at-first", dice, { value: 2 }, ["good"]))
      .withTask(task("after", "step", dice, { value: 3 }, ["bad"]))
      .build(),
    outside: "retry",
    outputs: { good: sum(1), bad: sum(3), after: sum(6) },
    attempts: { good: 1, bad: 2, after: 1 },
  }),

  mended: (dice: Dice): Plan => ({
    workflow: named("mended")
      .withTask(task("good", "step", dice, { value: 1 }))
      .withTask(task("bad", "broken", dice, { value: 2 }, ["good"]))
      .withTask(task("after", "step", dice, { value: 3 }, ["bad"]))
      .build(),
    outside: "mend",
    outputs: { good: sum(1), bad: sum(70), after: sum(73) },
    attempts: { good: 1, bad: 1, after: 1 },
  }),

  paused: (dice: Dice): Plan => {
    const length = 12;
    const workflow = named("paused").withMaxConcurrentTasks(2);
    for (let i = 0; i < length; i++)
      workflow.withTask(task(`t${i}`, "step", dice, { value: 1 }, i > 1 ? [`t${i - 2}`] : []));
    const inner = named("inner-paused")
      .withTask(retrying(task("deep", "flaky", dice, { value: 1, failures: 2 }), 2, 100))
      .build();
    workflow.withTask(new TaskBuilder("nest").withNestedWorkflow(inner));
    const outputs = Array.from({ length }, (_, i) => [`t${i}`, sum(Math.floor(i / 2) + 1)] as const);
    return {
      workflow: workflow.build(),
      outside: "pause",
      outputs: { ...Object.fromEntries(outputs), nest: { deep: sum(1) } },
    };
  },

  patched: (dice: Dice): Plan => ({
    workflow: named("patched")
      .withTask(retrying(task("wait", "await-context", dice, { value: 1 }), 10_000, 100))
      .build(),
    outside: "patch",
    outputs: { wait: sum(43) },
  }),

  added: (dice: Dice): Plan => ({
    workflow: named("added")
      .withTask(retrying(task("wait", "await-context", dice, { value: 1 }), 10_000, 100))
      .withTask(task("after", "step", dice, { value: 1 }, ["wait"]))
      .build(),
    outside: "add",
    outputs: { wait: sum(43), extra: sum(44), after: sum(88) },
  }),

  terminated: (dice: Dice): Plan => {
    const inner = named("inner-terminated")
      .withTask(retrying(task("deep", "broken", dice, { value: 1 }), 1, hourMs))
      .build();
    return {
      workflow: named("terminated")
        .withTask(retrying(task("broken", "broken", dice, { value: 1 }), 10_000, 50))
        .withTask(new TaskBuilder("nest").withNestedWorkflow(inner))
        .build(),
      outside: "terminate",
      status: "Terminated",
      outputs: {},
    };
  },

  limited: (dice: Dice): Plan => ({
    workflow: named("limited")
      .withMaxInstances(limitedMax)
      .withTask(task("a", "step", dice, { value: 1 }))
      .withTask(retrying(task("b", "flaky", dice, { value: 1, failures: 1 }, ["a"]), 1, 1500))
      .build(),
    outputs: { a: sum(1), b: sum(2) },
    attempts: { a: 1, b: 2 },
  }),
} satisfies Record<string, (dice: Dice) => Plan>;

export type Kind = keyof typeof plans;

/** The same for the same seed, in the process that submits and in the one that checks. */
export function workload(seed: number, count: number): Scenario[] {
  const kinds = Object.keys(plans) as Kind[];
  return Array.from({ length: count }, (_, i) => {
    const dice = new Dice(seed, i);
    const kind = kinds[i % kinds.length] as Kind;
    const plan: Plan = plans[kind](dice);
    return {
      id: `${String(i).padStart(5, "0")}-${kind}`,
      kind,
      workflow: plan.workflow,
      params: plan.params ?? {},
      outside: plan.outside ?? "nothing",
      status: plan.status ?? "Success",
      outputs: plan.outputs,
      attempts: plan.attempts ?? {},
    };
  });
}

function named(name: string): WorkflowBuilder {
  return new WorkflowBuilder().withName(name);
}

type Params = Readonly<Record<string, unknown>>;

function task(name: string, job: string, dice: Dice, params: Params, after: readonly string[] = []): TaskBuilder {
  return new TaskBuilder(name).withJobFunction(job, quick(dice, params)).withDependencies(after);
}

/** Most tasks are over in a moment; some take long enough to be killed again and again. */
function quick(dice: Dice, params: Params): Params {
  return { ms: dice.next() < 0.06 ? dice.between(150, 400) : dice.between(0, 40), ...params };
}

function retrying(builder: TaskBuilder, count: number, initialMs: number): TaskBuilder {
  return builder.withRetryCount(count).withRetryPolicy({ initialMs, factor: 1 });
}

function sum(value: number): { sum: number } {
  return { sum: value };
}
