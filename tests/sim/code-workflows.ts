import { type CodeWorkflow, defineWorkflow } from "../../src/authoring/code-workflow.ts";
import { TaskBuilder } from "../../src/authoring/task-builder.ts";
import type { Workflow } from "../../src/authoring/workflow.ts";
import { WorkflowBuilder } from "../../src/authoring/workflow-builder.ts";
import type { ActivityOptions, WorkflowContext } from "../../src/authoring/workflow-context.ts";
import { StepFailed } from "../../src/code/step-failed.ts";
import type { Step } from "./jobs.ts";

/** A job for code to run, drawn beforehand: the code has no random source but its context. */
export interface Activity {
  readonly job: string;
  readonly params: Step & { readonly failures?: number };
  readonly options: Omit<ActivityOptions, "undo" | "name">;
  /** The code sleeps for this long before the job. */
  readonly napMs?: number;
}

/** An event of one sender to an instance, numbered from 0 by the sender. */
export interface Note {
  readonly sender: string;
  readonly number: number;
  readonly text?: string;
  /** The sender raises nothing after it. */
  readonly isLast?: boolean;
}

/** The last event of all. */
export const lastNote = { sender: "last", number: 0, isLast: true } as const satisfies Note;

export interface StepsInput {
  readonly activities: readonly Activity[];
}

const steps = defineWorkflow("code-steps", async (ctx, { activities }: StepsInput) => {
  let sum = 0;
  for (const [place, activity] of activities.entries()) {
    ctx.setCustomStatus({ place, sum });
    if (activity.napMs !== undefined) await nap(ctx, activity.napMs);
    sum += await run(ctx, activity, { isPatched: ctx.patched(`part ${place % 2}`) });
  }
  return { sum };
});

export interface FanInput {
  readonly arms: readonly Activity[];
  /** Jobs of equal value: the sum is the same whichever is first. */
  readonly rivals: readonly Activity[];
  readonly timeMs: number;
  readonly last: Activity;
}

/** Awaits all of some jobs, the first of others, and one with a timer; losers are left running. */
const fan = defineWorkflow("code-fan", async (ctx, { arms, rivals, timeMs, last }: FanInput) => {
  const sums = await ctx.all(arms.map((arm) => run(ctx, arm)));
  const broken = { job: "broken", params: { ms: 1, value: 0 }, options: {} };
  const first = await ctx.any([run(ctx, broken), ...rivals.map((rival) => run(ctx, rival))]);
  const time = ctx.sleep(timeMs).then(() => "time");
  const winner = await ctx.race([time, ...rivals.map((rival) => run(ctx, rival).then(() => "rival"))]);
  return { sum: total(sums) + first + (await run(ctx, last, { winner })) };
});

export interface SleeperInput {
  readonly napsMs: readonly number[];
  readonly togetherMs: readonly number[];
}

const sleeper = defineWorkflow("code-sleeper", async (ctx, { napsMs, togetherMs }: SleeperInput) => {
  for (const ms of napsMs) await nap(ctx, ms);
  const woken: number[] = [];
  const until = (ms: number): Promise<void> => ctx.createTimer(new Date(ctx.now() + ms));
  await ctx.all(togetherMs.map((ms) => until(ms).then(() => woken.push(ms))));
  return { naps: napsMs.length, woken: woken.toSorted((a, b) => a - b) };
});

export interface InboxInput {
  /** Continues as new after this many events. */
  readonly perGeneration: number;
  readonly timeoutMs?: number;
  /** Waits by a race with a timer, instead of the timeout of the wait itself. */
  readonly isRacing?: boolean;
  readonly seen: readonly Note[];
}

/** Records events in order until the last one. */
const inbox = defineWorkflow("code-inbox", async (ctx, input: InboxInput): Promise<{ seen: readonly Note[] }> => {
  const seen = [...input.seen];
  ctx.onQuery("seen", () => seen.length);
  while (seen.length < input.seen.length + input.perGeneration) {
    const note = await nextNote(ctx, input);
    if (note?.isLast === true) return { seen };
    if (note !== undefined) seen.push({ sender: note.sender, number: note.number });
  }
  // Events arrive during this step that no wait takes.
  await run(ctx, { job: "step", params: { ms: 30, value: 1 }, options: {} });
  return ctx.continueAsNew({ ...input, seen }, { keepEvents: true });
});

async function nextNote(ctx: WorkflowContext, { timeoutMs, isRacing }: InboxInput): Promise<Note | undefined> {
  if (timeoutMs !== undefined && isRacing === true) {
    return await ctx.race([ctx.waitForEvent<Note>("note"), ctx.sleep(timeoutMs).then(() => undefined)]);
  }
  try {
    return await ctx.waitForEvent<Note>("note", timeoutMs === undefined ? {} : { timeoutMs });
  } catch (error) {
    if (error instanceof StepFailed) return undefined;
    throw error;
  }
}

export interface SagaInput {
  readonly activities: readonly Activity[];
  /** The steps from this index on are in a nested saga. */
  readonly innerFrom: number;
  readonly ending: "well" | "broken" | "broken inside" | "waits";
}

/** A saga: its steps are called `do n`, their compensations `undo n`. */
async function takeSaga(
  ctx: WorkflowContext,
  { activities, innerFrom, ending }: SagaInput,
): Promise<{ readonly sum: number }> {
  ctx.onCancel(async () => void (await runAs(ctx, "on cancel", undoing)));
  const doAll = async (scope: WorkflowContext, from: number, to: number): Promise<number> => {
    let sum = 0;
    for (const [place, activity] of activities.slice(from, to).entries())
      sum += await doOne(scope, from + place, activity);
    return sum;
  };
  const outer = await doAll(ctx, 0, innerFrom);
  const inner = await ctx.saga(async (scope) => {
    const sum = await doAll(scope, innerFrom, activities.length);
    if (ending === "broken inside") await run(scope, broken);
    return sum;
  });
  if (ending === "broken") await run(ctx, broken);
  if (ending === "waits") await ctx.waitForEvent("never");
  return { sum: outer + inner };
}

const saga = defineWorkflow("code-saga", takeSaga);

/** A saga whose timeout may come at any step, including a compensation. */
const timedSaga = defineWorkflow("code-timed-saga", { timeoutSeconds: 3 }, takeSaga);

const broken: Activity = { job: "broken", params: { ms: 5, value: 0 }, options: {} };

const undoing: Activity = {
  job: "flaky",
  params: { ms: 20, value: 1, failures: 1, retryMs: 100, retryFactor: 1 },
  options: { retryCount: 1, retryPolicy: { initialMs: 100, factor: 1, jitter: 0 } },
};

async function doOne(ctx: WorkflowContext, place: number, activity: Activity): Promise<number> {
  const undo = async (): Promise<void> => void (await runAs(ctx, `undo ${place}`, undoing));
  return await runAs(ctx, `do ${place}`, activity, { undo });
}

export interface CounterInput {
  readonly left: number;
  readonly sum: number;
  readonly activity: Activity;
  /** An event for a child of its own in every generation. */
  readonly text?: string;
}

/** Continues as new repeatedly; the children and messages of one generation live on in the next. */
const counter = defineWorkflow(
  "code-counter",
  async (ctx, input: CounterInput): Promise<{ sum: number; generation: number }> => {
    const { left, activity, text } = input;
    const listener = `${ctx.instanceId}/listener`;
    const number = ctx.generation - 1;
    if (text !== undefined && number === 0)
      ctx.startChild(inbox, listenerInput, { instanceId: listener, whenParentEnds: "leave" });
    const sum = input.sum + (await run(ctx, activity, { number }));
    if (text !== undefined) {
      const note: Note = { sender: ctx.instanceId, number, text, isLast: left === 0 };
      ctx.sendEvent(listener, "note", note);
    }
    if (left > 0) return ctx.continueAsNew({ ...input, left: left - 1, sum });
    return { sum, generation: ctx.generation };
  },
);

const listenerInput: InboxInput = { perGeneration: 2, seen: [] };

export interface ParentInput {
  readonly child: readonly Activity[];
  readonly detached: readonly Activity[];
  readonly notes: number;
}

/** Runs children of both kinds at once: one is retried, one receives events, one is detached. */
const parent = defineWorkflow("code-parent", async (ctx, { child, detached, notes }: ParentInput) => {
  ctx.startChild(steps, { activities: detached }, { whenParentEnds: "leave" });
  const listener = `${ctx.instanceId}/listener`;
  const [{ sum }, outputs, { seen }, again] = await ctx.all([
    ctx.callChild(steps, { activities: child }),
    ctx.callChild(childDag, { from: "code" }),
    ctx.callChild(inbox, listenerInput, { instanceId: listener }),
    ctx.callChild(retried, { text: "" }, { retryCount: 1, retryPolicy: { initialMs: 100, factor: 1 } }),
    tell(ctx, listener, notes),
  ]);
  return { sum, outputs, seen: seen.map(({ number }) => number), again };
});

async function tell(ctx: WorkflowContext, listener: string, notes: number): Promise<void> {
  for (let number = 0; number <= notes; number++) {
    const note: Note = { sender: ctx.instanceId, number, isLast: number === notes };
    ctx.sendEvent(listener, "note", note);
    if (number % 2 === 0) await run(ctx, { job: "step", params: { ms: 10, value: 1 }, options: {} });
  }
}

export interface MailerInput {
  readonly readers: number;
  readonly rounds: number;
  /** The number of events for each reader in one turn. */
  readonly notesPerRound: number;
  /** A large value in the events to every other reader, which makes them slower: later events to others overtake them. */
  readonly text: string;
  /** The sleep between two rounds. */
  readonly pauseMs: number;
  /** Also sends an event to an instance that does not exist. */
  readonly hasWrongAddress: boolean;
}

/** Sends events to several readers at once, repeatedly; which reader receives its event first is random. */
const mailer = defineWorkflow("code-mailer", async (ctx, input: MailerInput) => {
  const { readers, rounds, notesPerRound, text, pauseMs, hasWrongAddress } = input;
  const ids = Array.from({ length: readers }, (_, place) => `${ctx.instanceId}/reader${place}`);
  for (const instanceId of ids) ctx.startChild(inbox, listenerInput, { instanceId, whenParentEnds: "leave" });
  const last = rounds * notesPerRound;
  for (let number = 0; number <= last; number++) {
    for (const [place, id] of ids.entries()) {
      const note: Note = { sender: ctx.instanceId, number, isLast: number === last };
      ctx.sendEvent(id, "note", place % 2 === 0 ? { ...note, text } : note);
    }
    if (hasWrongAddress) ctx.sendEvent(`${ctx.instanceId}/nobody`, "note", { number });
    if ((number + 1) % notesPerRound === 0) await nap(ctx, pauseMs);
  }
  return { sent: readers * (last + 1) };
});

/** A child, and what happens to it when its parent ends first. */
export interface Heir {
  /** Another instance has the id, so that the start is refused. That instance has no parent, and ends by itself. */
  readonly isTaken?: true;
  readonly by: "startChild" | "callChild";
  readonly of: "code" | "dag";
  readonly whenParentEnds: "terminate" | "cancel" | "leave";
}

export interface HouseholdInput {
  readonly heirs: readonly Heir[];
  readonly ending: "returns" | "throws" | "waits";
  /** The number of times it continues as new in the same reaction in which it has started a child. */
  readonly left: number;
  readonly napMs: number;
}

/** The children: those with `leave` end by themselves, the others wait for ever unless they are ended. */
const heir = defineWorkflow("code-heir", async (ctx, { lives }: { lives: "on" | "until told" }) => {
  if (lives === "on") await nap(ctx, 2500);
  else await ctx.waitForEvent("never");
  return { lives };
});

/** Ends before its children do. The id of a child says what should happen to it. */
async function keepHouse(ctx: WorkflowContext, input: HouseholdInput): Promise<{ children: number }> {
  const { heirs, ending, left, napMs } = input;
  const called: Promise<unknown>[] = [];
  for (const [place, { by, of, whenParentEnds, isTaken }] of heirs.entries()) {
    // Called children end with their generation, so only the last generation calls any.
    if (by === "callChild" && left > 0) continue;
    const fate = isTaken ? "taken:leave" : `${by}:${whenParentEnds}`;
    const instanceId = `${ctx.instanceId}/${ctx.generation}.${place}:${fate}`;
    if (isTaken) ctx.startChild(heir, { lives: "on" }, { instanceId, whenParentEnds: "leave" });
    const lives = whenParentEnds === "leave" ? "on" : "until told";
    const workflow = of === "code" ? heir : heirDags[lives];
    const options = { instanceId, whenParentEnds };
    if (by === "startChild") ctx.startChild(workflow as CodeWorkflow, { lives } as never, options);
    else called.push(ctx.callChild(workflow as CodeWorkflow, { lives } as never, options));
  }
  for (const call of called) call.catch(() => undefined);
  if (left > 0) return ctx.continueAsNew({ ...input, left: left - 1 });
  await nap(ctx, napMs);
  if (ending === "throws") throw new Error("it ends like this");
  if (ending === "waits") await ctx.waitForEvent("never");
  return { children: heirs.length };
}

const household = defineWorkflow("code-household", keepHouse);

const timedHousehold = defineWorkflow("code-timed-household", { timeoutSeconds: 2 }, keepHouse);

export interface RetriedInput {
  readonly text: string;
}

/** Fails in its first generation. */
const retried = defineWorkflow("code-retried", async (ctx, { text }: RetriedInput) => {
  const bad = await run(ctx, { job: "broken-at-first", params: { ms: 10, value: 3 }, options: {} });
  return { sum: bad, length: text.length };
});

export interface Added {
  readonly marker: string;
  readonly value: number;
}

export interface DeskInput {
  /** Continues as new after this many updates, even while others arrive. */
  readonly perGeneration?: number;
  readonly sum?: number;
  readonly markers?: readonly string[];
}

/** Adds up the values of updates, with a step for each, until it is closed. */
const desk = defineWorkflow("code-desk", async (ctx, input: DeskInput): Promise<{ sum: number; markers: string[] }> => {
  const { perGeneration = Infinity } = input;
  let sum = input.sum ?? 0;
  const markers = [...(input.markers ?? [])];
  let begun = 0;
  let answered = 0;
  const { promise: isFull, resolve: fill } = Promise.withResolvers<"full">();
  ctx.onQuery("sum", () => sum);
  ctx.onUpdate<Added>("add", {
    validate: ({ value }) => {
      if (value < 0) throw new RangeError("a value is not below 0");
    },
    handler: async ({ marker, value }) => {
      begun++;
      await run(ctx, { job: "step", params: { ms: 10, value }, options: {} }, { marker });
      markers.push(marker);
      // It answers updates that it has begun to handle before it continues as new.
      if (++answered >= perGeneration && answered === begun) fill("full");
      return { sum: (sum += value), marker };
    },
  });
  if ((await ctx.race([isFull, ctx.waitForEvent("close")])) !== "full") return { sum, markers };
  return ctx.continueAsNew({ ...input, sum, markers }, { keepEvents: true });
});

/** Ends by its own timeout, asleep and with an activity running. */
const timed = defineWorkflow("code-timed", { timeoutSeconds: 2.5 }, async (ctx) => {
  const hang: Activity = { job: "hang", params: { ms: 1, value: 0, failures: 1_000_000 }, options: {} };
  await ctx.all([ctx.sleep(24 * 3_600_000), run(ctx, hang)]);
});

/** Longer than any fault lasts, so that an unreachable worker does not make a task fail. */
const daySeconds = 86_400;

/** A DAG that code starts by name. */
export const childDag: Workflow = new WorkflowBuilder()
  .withName("child-of-code")
  .withTask(new TaskBuilder("a").withJobFunction("step", { ms: 20, value: 1 }).withTimeout(daySeconds))
  .withTask(
    new TaskBuilder("b").withJobFunction("patch", { ms: 20, value: 2 }).withTimeout(daySeconds).withDependency("a"),
  )
  .build();

/** The DAGs that run as children. */
export const heirDags: Readonly<Record<"on" | "until told", Workflow>> = {
  on: new WorkflowBuilder()
    .withName("dag-heir")
    .withTask(new TaskBuilder("a").withJobFunction("step", { ms: 2500, value: 1 }).withTimeout(daySeconds))
    .build(),
  "until told": new WorkflowBuilder()
    .withName("dag-heir-until-told")
    .withTask(
      new TaskBuilder("a").withJobFunction("hang", { ms: 1, value: 0, failures: 1_000_000 }).withTimeout(daySeconds),
    )
    .build(),
};

export const code = {
  steps,
  fan,
  sleeper,
  inbox,
  saga,
  counter,
  parent,
  mailer,
  heir,
  household,
  retried,
  desk,
  timed,
  timedSaga,
  timedHousehold,
} as const;

export const codeWorkflows: readonly CodeWorkflow[] = Object.values(code);

function run(ctx: WorkflowContext, activity: Activity, more: Readonly<Record<string, unknown>> = {}): Promise<number> {
  return runAs(ctx, activity.job, activity, {}, more);
}

/** The params contain the random number and time of the context, so that a replay which draws others is detected. */
async function runAs(
  ctx: WorkflowContext,
  name: string,
  { job, params, options }: Activity,
  { undo }: Pick<ActivityOptions, "undo"> = {},
  more: Readonly<Record<string, unknown>> = {},
): Promise<number> {
  const told = { ...params, ...more, id: ctx.uuid(), drawn: ctx.random(), at: ctx.now() };
  const output = await ctx.run(job, told, { ...options, name, ...(undo !== undefined && { undo }) });
  return (output as { sum: number }).sum;
}

/** Sleeps, and fails if it is woken early. */
async function nap(ctx: WorkflowContext, ms: number): Promise<void> {
  const dueAt = ctx.now() + ms;
  await ctx.sleep(ms);
  if (ctx.now() < dueAt) throw new Error(`woken ${dueAt - ctx.now()} ms early`);
}

function total(sums: readonly number[]): number {
  return sums.reduce((sum, each) => sum + each, 0);
}
