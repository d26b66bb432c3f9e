/** Every duration that is accepted can be stored and shown: no instance is quarantined, no view throws, no list fails. */
import assert from "node:assert/strict";
import { describe, test, type TestContext } from "node:test";
import * as fc from "fast-check";
import { durationMsMax, durationSecondsMax } from "../../src/base/time-limits.ts";
import {
  defineJob,
  defineWorkflow,
  Engine,
  EngineError,
  type RetryPolicy,
  type ScheduleSettings,
  TaskBuilder,
  type Timing,
  WorkflowBuilder,
  type WorkflowContext,
} from "../../src/index.ts";
import { sqlite } from "../../src/sqlite.ts";
import { TestClock } from "../../src/testing.ts";
import { says } from "./rig.ts";

const ms = fc.oneof(
  fc.integer({ min: 0, max: durationMsMax }),
  fc.double({ min: 0, max: 5000 }),
  fc.constantFrom(
    0,
    -1,
    1 / 3,
    0.1,
    durationMsMax,
    durationMsMax + 1,
    8.64e15,
    2 ** 53,
    1e17,
    1e20,
    1e300,
    NaN,
    Infinity,
  ),
);
const seconds = fc.oneof(
  fc.double({ min: 0, max: 100 }),
  fc.constantFrom(1 / 3, 1e-9, durationSecondsMax, durationSecondsMax + 1, 2 ** 31, 1e15, 1e300, NaN, Infinity),
);
const retryPolicy: fc.Arbitrary<Partial<RetryPolicy>> = fc.record(
  { initialMs: ms, maxMs: ms, factor: fc.constantFrom(1, 1.17, 1e300), jitter: fc.constantFrom(0, 0.37, 1) },
  { requiredKeys: [] },
);

interface Durations {
  readonly retryPolicy: Partial<RetryPolicy>;
  readonly timeoutSeconds: number;
  readonly waitMs: number;
}
const durations: fc.Arbitrary<Durations> = fc.record({ retryPolicy, timeoutSeconds: seconds, waitMs: ms });

const bad = defineJob("bad", () => {
  throw new Error("bad");
});

async function open(t: TestContext): Promise<{ engine: Engine; clock: TestClock }> {
  const clock = new TestClock();
  const engine = new Engine({ clock, storage: sqlite(":memory:"), jobs: [bad], logger: silent });
  await engine.start();
  t.after(() => clock.until(engine.stop()));
  return { engine, clock };
}

const ignore = (): void => undefined;
const silent = { debug: ignore, info: ignore, warn: ignore, error: ignore };

/** False if it was refused, by an error that says why. */
async function isAccepted(act: () => unknown): Promise<boolean> {
  try {
    await act();
    return true;
  } catch (error) {
    assert.ok(error instanceof EngineError && error.code.endsWith("_INVALID"), String(error));
    return false;
  }
}

/** All that shows an instance works, and then it is ended. */
async function look(engine: Engine, clock: TestClock, id: string): Promise<void> {
  await clock.settle();
  const { attention, status } = await engine.getWorkflowInstanceStatus(id);
  assert.equal(attention, undefined);
  await engine.schedules.list();
  await engine.listQueuedTasks({ state: "waiting" });
  if (status === "Running") await clock.until(engine.terminateWorkflowInstance(id));
}

describe("a duration that is accepted can be stored and shown:", () => {
  test("of a DAG", async (t) => {
    const { engine, clock } = await open(t);
    let accepted = 0;
    await fc.assert(
      fc.asyncProperty(durations, async ({ retryPolicy: policy, timeoutSeconds }) => {
        const build = () =>
          new WorkflowBuilder()
            .withName("dag")
            .withTimeout(timeoutSeconds)
            .withTask(new TaskBuilder("t").withJobFunction("bad").withRetryCount(3).withRetryPolicy(policy))
            .build();
        if (!(await isAccepted(build))) return;
        accepted += 1;
        const { instanceId } = await clock.until(engine.submitWorkflow(build()));
        await look(engine, clock, instanceId);
      }),
      { numRuns: 100 },
    );
    assert.ok(accepted > 5, `${accepted} definitions`);
  });

  test("of code", async (t) => {
    const { engine, clock } = await open(t);
    let count = 0;
    await fc.assert(
      fc.asyncProperty(durations, async ({ retryPolicy: policy, timeoutSeconds, waitMs }) => {
        const run = async (ctx: WorkflowContext, step: string): Promise<void> => {
          if (step === "activity") await ctx.run("bad", undefined, { retryCount: 3, retryPolicy: policy });
          if (step === "sleep") await ctx.sleep(waitMs);
          if (step === "date") await ctx.sleep(new Date(ctx.now() + waitMs));
          if (step === "event") await ctx.waitForEvent("never", { timeoutMs: waitMs });
        };
        const name = `code ${(count += 1)}`;
        const define = () => defineWorkflow(name, { version: "1", timeoutSeconds }, run);
        if (!(await isAccepted(define))) return;
        const code = define();
        await engine.registerWorkflow(code);
        for (const step of ["activity", "sleep", "date", "event"]) {
          const { instanceId } = await clock.until(engine.startWorkflow(code, step));
          await look(engine, clock, instanceId);
        }
      }),
      { numRuns: 60 },
    );
  });

  test("of a schedule", async (t) => {
    const { engine, clock } = await open(t);
    let count = 0;
    let accepted = 0;
    const timing: fc.Arbitrary<Timing> = fc.oneof(
      ms.map((rateMs) => ({ rateMs })),
      ms.map((delayMs) => ({ delayMs })),
      ms.map((everyMs) => ({ daily: { from: "00:00", to: "23:59", everyMs } })),
    );
    const start = fc.constantFrom(0, 1, -1e12, -8e15, 0.5, clock.now() + durationMsMax, 8e15, 1e18, NaN);
    const end = fc.constantFrom(clock.now() + 1e12, clock.now() + durationMsMax, clock.now() + 1e12 + 0.5, 8e15, 1e18);
    const settings: fc.Arbitrary<Partial<ScheduleSettings>> = fc.oneof(
      ms.map((jitterMs) => ({ jitterMs })),
      start.map((startAt) => ({ startAt })),
      end.map((endAt) => ({ endAt })),
      retryPolicy.map((policy) => ({ retryCount: 1, retryPolicy: policy })),
    );
    await fc.assert(
      fc.asyncProperty(timing, settings, async (every, given) => {
        const id = `s${(count += 1)}`;
        const create = (): Promise<void> => clock.until(engine.schedules.create(id, { job: "bad", every, ...given }));
        if (!(await isAccepted(create))) return;
        accepted += 1;
        const runId = await clock.until(engine.schedules.trigger(id));
        await look(engine, clock, runId);
        const { nextAt } = await engine.schedules.get(id);
        assert.ok(nextAt === null || Number.isInteger(nextAt), `next at ${nextAt}`);
        await clock.until(engine.schedules.delete(id));
        await clock.settle();
      }),
      { numRuns: 150 },
    );
    assert.ok(accepted > 5, `${accepted} schedules`);
  });
});

test("a wait of more than a century fails the code that asks for it, with the reason", async (t) => {
  const { engine, clock } = await open(t);
  const code = defineWorkflow("sleeper", async (ctx) => await ctx.sleep(1e20));
  await engine.registerWorkflow(code);
  const handle = await clock.until(engine.startWorkflow(code));
  await assert.rejects(clock.until(handle.result()), says("WORKFLOW_FAILED", /at most 3162240000000 ms ahead/));
});

test("a timeout of a fraction of a millisecond ends the instance at the next whole one", async (t) => {
  const { engine, clock } = await open(t);
  const code = defineWorkflow("short", { version: "1", timeoutSeconds: 1 / 3 }, async (ctx) => ctx.waitForEvent("x"));
  await engine.registerWorkflow(code);
  const { instanceId } = await clock.until(engine.startWorkflow(code));
  await clock.advance(333);
  assert.equal((await engine.getWorkflowInstanceStatus(instanceId)).status, "Running");
  await clock.advance(1);
  assert.equal((await engine.getWorkflowInstanceStatus(instanceId)).status, "Failed");
});
