import type { CodeWorkflow } from "../../src/authoring/code-workflow.ts";
import { TaskBuilder } from "../../src/authoring/task-builder.ts";
import type { Workflow } from "../../src/authoring/workflow.ts";
import { WorkflowBuilder } from "../../src/authoring/workflow-builder.ts";
import type { EndStatus } from "../../src/kernel/status.ts";
import type { SimRandom } from "./sim-random.ts";
import {
  type Activity,
  code,
  type CounterInput,
  type DeskInput,
  type FanInput,
  type Heir,
  type HouseholdInput,
  type InboxInput,
  type MailerInput,
  type ParentInput,
  type RetriedInput,
  type SagaInput,
  type SleeperInput,
} from "./code-workflows.ts";
import { bulkyLength } from "./jobs.ts";
import type { Brush } from "./shapes.ts";

/** What clients have to do so that an instance ends. */
export type CodeClientScript = "retry" | "correspond" | "serve" | "cancel" | "cancel-undoing";

/** A code workflow, or one that contains code, and how its instances end without interference. */
export interface CodeShape {
  readonly workflow: CodeWorkflow | Workflow;
  readonly status: EndStatus;
  /** Its output; undefined if that depends on clients. */
  readonly outputs: unknown;
  readonly params: Readonly<Record<string, unknown>>;
  readonly script?: CodeClientScript;
  /** The timeout of its workflow may come first. */
  readonly mayTimeOut?: true;
}

const bulkyText = "z".repeat(bulkyLength);

/** The code workflows. All random choices are part of their input. */
const codeShapes = {
  "code-steps"(brush: Brush): CodeShape {
    const activities = drawActivities(brush, { count: [1, 6], withNaps: true });
    return { workflow: code.steps, status: "Success", outputs: { sum: sumOf(activities) }, params: { activities } };
  },

  "code-fan"(brush: Brush): CodeShape {
    const arms = drawActivities(brush, { count: [2, 5] });
    const rivals = drawActivities(brush, { count: [1, 3], value: 7 });
    const [last] = drawActivities(brush, { count: [1, 1] });
    const input: FanInput = { arms, rivals, timeMs: brush.random.whole(0, 800), last: last as Activity };
    const sum = sumOf(arms) + 7 + sumOf([input.last]);
    return { workflow: code.fan, status: "Success", outputs: { sum }, params: { ...input } };
  },

  "code-sleeper"({ random }: Brush): CodeShape {
    const draw = (): number => (random.isLucky(0.2) ? random.whole(5000, 25_000) : random.whole(0, 1500));
    const input: SleeperInput = { napsMs: drawList(random, [1, 3], draw), togetherMs: drawList(random, [1, 4], draw) };
    const woken = input.togetherMs.toSorted((a, b) => a - b);
    const outputs = { naps: input.napsMs.length, woken };
    return { workflow: code.sleeper, status: "Success", outputs, params: { ...input } };
  },

  "code-inbox"({ random }: Brush): CodeShape {
    const input: InboxInput = {
      perGeneration: random.whole(2, 6),
      seen: [],
      ...(random.isLucky(0.5) && { timeoutMs: random.whole(1500, 4000), isRacing: random.isLucky(0.5) }),
    };
    const script = "correspond";
    return { workflow: code.inbox, status: "Success", outputs: undefined, params: { ...input }, script };
  },

  "code-saga"(brush: Brush): CodeShape {
    const { random } = brush;
    const input = drawSaga(brush);
    const { ending } = input;
    const statuses = { well: "Success", broken: "Failed", "broken inside": "Failed", waits: "Terminated" } as const;
    const outputs = { sum: sumOf(input.activities) };
    const shape = { workflow: code.saga, status: statuses[ending], outputs, params: { ...input } };
    if (ending === "broken inside" && random.isLucky(0.5)) return { ...shape, script: "cancel-undoing" };
    return ending === "waits" ? { ...shape, script: "cancel" } : shape;
  },

  "code-timed-saga"(brush: Brush): CodeShape {
    const input = drawSaga(brush);
    const status = input.ending === "well" ? "Success" : "Failed";
    const outputs = { sum: sumOf(input.activities) };
    return { workflow: code.timedSaga, status, outputs, params: { ...input }, mayTimeOut: true };
  },

  "code-counter"(brush: Brush): CodeShape {
    const { random } = brush;
    const [activity] = drawActivities(brush, { count: [1, 1] });
    const left = random.whole(1, 4);
    const text = random.pick([undefined, "short", bulkyText]);
    const input: CounterInput = { left, sum: 0, activity: activity as Activity, ...(text !== undefined && { text }) };
    const outputs = { sum: (left + 1) * sumOf([input.activity]), generation: left + 1 };
    return { workflow: code.counter, status: "Success", outputs, params: { ...input } };
  },

  "code-parent"(brush: Brush): CodeShape {
    const child = drawActivities(brush, { count: [1, 3] });
    const input: ParentInput = {
      child,
      detached: drawActivities(brush, { count: [1, 2] }),
      notes: brush.random.whole(0, 5),
    };
    const outputs = {
      sum: sumOf(child),
      outputs: { a: { sum: 1 }, b: { sum: 3 } },
      seen: Array.from({ length: input.notes }, (_, number) => number),
      again: { sum: 3, length: 0 },
    };
    return { workflow: code.parent, status: "Success", outputs, params: { ...input } };
  },

  "code-mailer"({ random }: Brush): CodeShape {
    const [readers, rounds] = [random.whole(2, 4), random.whole(3, 8)];
    const pauseMs = random.whole(0, 2000);
    const ofNotes = random.fork("notes");
    const [notesPerRound, hasWrongAddress] = [ofNotes.whole(1, 3), ofNotes.isLucky(0.5)];
    const input: MailerInput = { readers, rounds, notesPerRound, text: bulkyText, pauseMs, hasWrongAddress };
    const outputs = { sent: readers * (rounds * notesPerRound + 1) };
    return { workflow: code.mailer, status: "Success", outputs, params: { ...input } };
  },

  /** Parents that end before their children in every way: by themselves, with an error, canceled, or by timeout. */
  "code-household"({ random }: Brush): CodeShape {
    const ending = random.pick(["returns", "throws", "waits"] as const);
    const input = drawHousehold(random, ending);
    const statuses = { returns: "Success", throws: "Failed", waits: "Terminated" } as const;
    const outputs = { children: input.heirs.length };
    const shape = { workflow: code.household, status: statuses[ending], outputs, params: { ...input } };
    return ending === "waits" ? { ...shape, script: "cancel" } : shape;
  },

  "code-timed-household"({ random }: Brush): CodeShape {
    const input = drawHousehold(random, "waits");
    return { workflow: code.timedHousehold, status: "Failed", outputs: undefined, params: { ...input } };
  },

  "code-retried"({ random }: Brush): CodeShape {
    const input: RetriedInput = { text: random.pick(["", bulkyText]) };
    const outputs = { sum: 3, length: input.text.length };
    return { workflow: code.retried, status: "Success", outputs, params: { ...input }, script: "retry" };
  },

  "code-desk"({ random }: Brush): CodeShape {
    const params: DeskInput = random.isLucky(0.5) ? {} : { perGeneration: random.whole(1, 3) };
    return { workflow: code.desk, status: "Success", outputs: undefined, params: { ...params }, script: "serve" };
  },

  "code-timed"(): CodeShape {
    return { workflow: code.timed, status: "Failed", outputs: undefined, params: {} };
  },

  /** A DAG with a task that runs a code workflow, whose input is the context. */
  "nested-code"(brush: Brush): CodeShape {
    const activities = drawActivities(brush, { count: [1, 3] });
    const step = { ms: brush.random.whole(0, 200), value: 1 };
    const workflow = new WorkflowBuilder()
      .withName("nested-code")
      .withTask(new TaskBuilder("before").withJobFunction("step", step).withTimeout(86_400))
      .withTask(new TaskBuilder("code").withNestedWorkflow(code.steps).withDependency("before"))
      .withTask(new TaskBuilder("after").withJobFunction("step", step).withTimeout(86_400).withDependency("code"))
      .build();
    const sum = sumOf(activities);
    const outputs = { before: { sum: 1 }, code: { sum }, after: { sum: sum + 1 } };
    return { workflow, status: "Success", outputs, params: { activities } };
  },
} satisfies Record<string, (brush: Brush) => CodeShape>;

export type CodeKind = keyof typeof codeShapes;

export const codeKinds = Object.keys(codeShapes) as readonly CodeKind[];

export function drawCodeShape(kind: CodeKind, brush: Brush): CodeShape {
  return codeShapes[kind](brush);
}

/** Whether its instances wait for a client. */
export function codeNeedsScript(workflow: string): boolean {
  return [code.inbox, code.saga, code.desk, code.household].some(({ name }) => name === workflow);
}

function drawSaga(brush: Brush): SagaInput {
  const { random } = brush;
  const activities = drawActivities(brush, { count: [1, 5] });
  const ending = random.pick(["well", "broken", "broken inside", "waits"] as const);
  return { activities, innerFrom: random.whole(0, activities.length), ending };
}

function drawHousehold(random: SimRandom, ending: HouseholdInput["ending"]): HouseholdInput {
  const ofTaken = random.fork("taken");
  const heirs = drawList(random, [1, 4], (): Heir => ({
    by: random.pick(["startChild", "callChild"] as const),
    of: random.pick(["code", "dag"] as const),
    whenParentEnds: random.pick(["terminate", "cancel", "leave"] as const),
    ...(ofTaken.isLucky(0.25) && { isTaken: true }),
  }));
  return { heirs, ending, left: random.pick([0, 0, 1, 2]), napMs: random.whole(0, 1000) };
}

interface Drawn {
  readonly count: readonly [number, number];
  /** The duration of each job; random if absent. */
  readonly value?: number;
  readonly withNaps?: boolean;
}

/** Jobs of all kinds that succeed in the end. */
function drawActivities(brush: Brush, { count, value, withNaps = false }: Drawn): Activity[] {
  const { random } = brush;
  return drawList(random, count, () => {
    const activity = drawActivity(brush, value ?? random.whole(1, 9));
    return withNaps && random.isLucky(0.3) ? { ...activity, napMs: random.whole(0, 2500) } : activity;
  });
}

/** As for tasks, the params contain what the record needs and the job cannot read. */
function drawActivity({ random, domains }: Brush, value: number): Activity {
  const job = random.pick(["step", "step", "bulky", "flaky"] as const);
  const domain = domains.length > 0 && random.isLucky(0.3) ? { domain: random.pick(domains) } : {};
  const ms = random.isLucky(0.8) ? random.whole(0, 80) : random.whole(100, 6000);
  if (job !== "flaky") return { job, params: { ms, value, ...domain }, options: domain };
  const failures = random.whole(1, 2);
  const initialMs = random.whole(0, 1200);
  return {
    job,
    params: { ms, value, failures, retryMs: initialMs, retryFactor: 1, ...domain },
    options: { retryCount: failures, retryPolicy: { initialMs, factor: 1 }, ...domain },
  };
}

function sumOf(activities: readonly Activity[]): number {
  return activities.reduce((sum, { params }) => sum + params.value, 0);
}

function drawList<T>(random: SimRandom, [least, most]: readonly [number, number], draw: () => T): T[] {
  return Array.from({ length: random.whole(least, most) }, draw);
}
