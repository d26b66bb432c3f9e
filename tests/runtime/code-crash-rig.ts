import assert from "node:assert/strict";
import type { TestContext } from "node:test";
import type { CodeWorkflow } from "../../src/authoring/code-workflow.ts";
import { defineJob, type Job, type JobContext } from "../../src/authoring/job.ts";
import type { Workflow } from "../../src/authoring/workflow.ts";
import type { Engine } from "../../src/engine/engine.ts";
import type { Batch } from "../../src/stores/store.ts";
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
  readonly tell: (engine: Engine) => Promise<unknown>;
  readonly idleMax?: number;
}

/** What came of a story, and how. */
export interface Outcome {
  readonly result: unknown;
  /** Each attempt with its input, once. */
  readonly executed: readonly string[];
  readonly commits: number;
  readonly lives: number;
}

/**
 * Tells a story in a process that ends at the commits `endsAt` says, counted over all its lives. Fails if something was
 * executed whose success was on record.
 */
export async function outcomeOf(
  t: TestContext,
  story: Story,
  endsAt: (commit: number) => Moment | undefined = () => undefined,
): Promise<Outcome> {
  const executed = new Set<string>();
  const again: string[] = [];
  const jobs = jobsNoting((params, ctx) => {
    executed.add(`${ctx.attemptId} ${JSON.stringify(params)}`);
    if (isOnRecord(world, ctx)) again.push(ctx.attemptId);
  });
  const { workflows, tell, idleMax } = story;
  const world: World = await World.start(t, {
    jobs,
    workflows,
    maxInterruptions: 1000,
    ...(idleMax !== undefined && { idleMax }),
  });
  let commits = 0;
  for (let lives = 1; ; lives++) {
    const life: Life = { isEnding: false, isOver: false };
    world.store.onSend = (batch) => {
      if (!isOfInstances(batch) || life.isEnding) return;
      const moment = endsAt(++commits);
      if (moment !== undefined) void end(world, moment, life);
    };
    const told: { end?: { result: unknown } | { error: unknown } } = {};
    tell(world.engine).then(
      (result) => (told.end = { result }),
      (error: unknown) => (told.end = { error }),
    );
    await letTimePass(world, () => life.isOver || (told.end !== undefined && !life.isEnding));
    if (life.isEnding) {
      await world.begin();
      continue;
    }
    if (told.end === undefined || "error" in told.end) throw told.end?.error;
    assert.deepEqual(again, [], "nothing is executed whose success is on record");
    return { result: told.end.result, executed: [...executed].toSorted(), commits, lives };
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
  return changes.history.length > 0 || changes.marks.length > 0;
}

async function letTimePass({ clock }: World, isDone: () => boolean): Promise<void> {
  for (let rounds = 0; rounds < 10_000; rounds++) {
    await clock.settle();
    if (isDone()) return;
    await clock.advance(Math.max(0, (clock.nextTimerAt ?? clock.now()) - clock.now()));
  }
  assert.fail("the story never came to its end");
}

/** In the instance's generation of now. */
function isOnRecord({ store }: World, { instanceId, taskId }: JobContext): boolean {
  const events = store.ledger.events(instanceId);
  const begun = events.findLastIndex(({ type }) => type === "InstanceContinued");
  const task = Number(taskId.slice(taskId.lastIndexOf(":") + 1));
  return events.slice(begun + 1).some((event) => event.type === "TaskSucceeded" && event.task === task);
}

/** `work` gives back its input, `flaky` does so at its second attempt, `fails` never. */
function jobsNoting(note: (params: unknown, ctx: JobContext) => void): Job[] {
  return [
    defineJob("work", (params: unknown, ctx) => {
      note(params, ctx);
      return params;
    }),
    defineJob("flaky", (params: unknown, ctx) => {
      note(params, ctx);
      if (ctx.attempt === 1) throw new Error("not yet");
      return params;
    }),
    defineJob("fails", (params: unknown, ctx) => {
      note(params, ctx);
      throw new Error(`no ${String(params)}`);
    }),
  ];
}
