import assert from "node:assert/strict";
import type { TestContext } from "node:test";
import type { CodeWorkflow } from "../../src/authoring/code-workflow.ts";
import { defineJob, type Job, type JobContext } from "../../src/authoring/job.ts";
import type { Workflow } from "../../src/authoring/workflow.ts";
import type { Engine } from "../../src/engine/engine.ts";
import type { Event } from "../../src/kernel/event.ts";
import type { Batch } from "../../src/stores/store.ts";
import { turnsOf } from "../../src/stores/batch-turns.rig.ts";
import type { Ledger } from "./ledger.ts";
import { World } from "./world.ts";

/**
 * How a process ends at a commit: it dies before that is written, or when it is and nobody has heard of it; or it is
 * stopped in good order while the commit is under way.
 */
export type Moment = "before" | "after" | "stopped";

/** A story with code workflows, told by clients who say again what they may not have been heard saying. */
export interface Story {
  readonly workflows: readonly (CodeWorkflow | Workflow)[];
  /** Said from its beginning in every life of the process; gives back what is to be the same however often it dies. */
  readonly tell: (engine: Engine, ledger: Ledger) => Promise<unknown>;
  /** Default: `work`, `flaky` and `fails`. */
  readonly jobs?: readonly Job[];
  readonly idleMax?: number;
}

/** What came of a story, and how. */
export interface Outcome {
  readonly result: unknown;
  /** Each attempt with its input, once. */
  readonly executed: readonly string[];
  readonly commits: number;
  readonly lives: number;
  /** Attempts that were executed again because a crash had cut them off. */
  readonly repeated: number;
}

/**
 * Tells a story in a process that ends at the commits `endsAt` says, counted over all its lives. Fails if an attempt was
 * executed whose result was on record, or twice in one life: so what is repeated was in flight when the process ended.
 */
export async function outcomeOf(
  t: TestContext,
  story: Story,
  endsAt: (commit: number) => Moment | undefined = () => undefined,
): Promise<Outcome> {
  const executed = new Set<string>();
  const wrong: string[] = [];
  let begun = new Set<string>();
  let executions = 0;
  const note = (params: unknown, ctx: JobContext): void => {
    executions++;
    executed.add(`${ctx.attemptId} ${JSON.stringify(params)}`);
    if (isOnRecord(world, ctx) || begun.has(ctx.attemptId)) wrong.push(ctx.attemptId);
    begun.add(ctx.attemptId);
  };
  const { workflows, tell, idleMax, jobs: own = plainJobs } = story;
  const jobs = own.map((job) => noting(job, note));
  const world: World = await World.start(t, {
    jobs,
    workflows,
    maxInterruptions: 1000,
    ...(idleMax !== undefined && { idleMax }),
  });
  let commits = 0;
  for (let lives = 1; ; lives++) {
    begun = new Set();
    const life: Life = { isEnding: false, isOver: false };
    world.store.onSend = (batch) => {
      if (!isOfInstances(batch) || life.isEnding) return;
      const moment = endsAt(++commits);
      if (moment !== undefined) void end(world, moment, life);
    };
    const told: { end?: { result: unknown } | { error: unknown } } = {};
    tell(world.engine, world.store.ledger).then(
      (result) => (told.end = { result }),
      (error: unknown) => (told.end = { error }),
    );
    await letTimePass(world, () => life.isOver || (told.end !== undefined && !life.isEnding));
    if (life.isEnding) {
      await world.begin();
      continue;
    }
    if (told.end === undefined || "error" in told.end) throw told.end?.error;
    assert.deepEqual(wrong, [], "an attempt is repeated only if it was in flight when its process ended");
    const repeated = executions - executed.size;
    return { result: told.end.result, executed: [...executed].toSorted(), commits, lives, repeated };
  }
}

interface Life {
  isEnding: boolean;
  isOver: boolean;
}

async function end(world: World, moment: Moment, life: Life): Promise<void> {
  life.isEnding = true;
  if (moment === "after") await world.store.hold("after").reached();
  if (moment === "stopped") await world.engine.stop();
  else world.kill();
  life.isOver = true;
}

/** The first commits of a life are about its shard; what it dies of should be about somebody. */
function isOfInstances({ changes }: Batch): boolean {
  return turnsOf(changes).length > 0 || changes.offsets.length > 0;
}

async function letTimePass({ clock }: World, isDone: () => boolean): Promise<void> {
  for (let rounds = 0; rounds < 10_000; rounds++) {
    await clock.settle();
    if (isDone()) return;
    await clock.advance(Math.max(0, (clock.nextTimerAt ?? clock.now()) - clock.now()));
  }
  assert.fail("the story never came to its end");
}

/** Whether the attempt has a result, in the instance's generation of now. */
function isOnRecord({ store }: World, { instanceId, taskId, attempt }: JobContext): boolean {
  const events = store.ledger.events(instanceId);
  const begun = events.findLastIndex(({ type }) => type === "InstanceContinued");
  const task = Number(taskId.slice(taskId.lastIndexOf(":") + 1));
  const isResult = ({ type }: Event): boolean => type === "TaskSucceeded" || type === "TaskFailed";
  return events
    .slice(begun + 1)
    .some((event) => isResult(event) && "attempt" in event && event.task === task && event.attempt === attempt);
}

function noting(job: Job, note: (params: unknown, ctx: JobContext) => void): Job {
  return {
    ...job,
    fn: (params, ctx) => {
      note(params, ctx);
      return job.fn(params, ctx);
    },
  };
}

/** `work` gives back its input, `flaky` does so at its second attempt, `fails` never. */
const plainJobs: readonly Job[] = [
  defineJob("work", (params: unknown) => params),
  defineJob("flaky", (params: unknown, ctx) => {
    if (ctx.attempt === 1) throw new Error("not yet");
    return params;
  }),
  defineJob("fails", (params: unknown) => {
    throw new Error(`no ${String(params)}`);
  }),
];
