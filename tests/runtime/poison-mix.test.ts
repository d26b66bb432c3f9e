/** Jobs and workflow code that kill their process, in one engine: those are found out, and nobody else is. */
import assert from "node:assert/strict";
import { describe, test, type TestContext } from "node:test";
import * as fc from "fast-check";
import { defineJob, type Job } from "../../src/authoring/job.ts";
import { hasCode } from "../../src/base/error.ts";
import { defineWorkflow, TaskBuilder, type Workflow, WorkflowBuilder, type WorkflowContext } from "../../src/index.ts";
import { World } from "./world.ts";

const never = new Promise<never>(() => undefined);

interface Mix {
  /** For each job that kills: how long after its start. Below 10: so many turns of the event loop, in no time. */
  readonly killingJobs: readonly number[];
  /** For each code that kills: how long it sleeps before, 0 if it waits for its activity; and how long that runs. */
  readonly killingCode: readonly { readonly afterMs: number; readonly activityMs: number }[];
  /** How long each of the innocent jobs runs. */
  readonly jobs: readonly number[];
  /** For each innocent code: how long it sleeps again and again, and how long its activity runs; or it waits for an event. */
  readonly code: readonly { readonly sleepMs: number; readonly activityMs: number }[];
  readonly waiters: number;
  /** Of the engine; by default its own. */
  readonly maxInterruptions?: number;
}

/** What has come of an instance; `open` if nothing has yet. */
type End = "open" | "done" | "lost" | "quarantined" | `failed: ${string}`;

/** One engine after the other with the instances of a mix, all started in the first. */
class Stage {
  readonly #mix: Mix;
  #world: World | undefined;
  #isDead = false;
  deaths = 0;

  private constructor(mix: Mix) {
    this.#mix = mix;
  }

  static async build(t: TestContext, mix: Mix): Promise<Stage> {
    const stage = new Stage(mix);
    const { maxInterruptions } = mix;
    stage.#world = await World.start(t, {
      jobs: [stage.#exit, stage.#work],
      workflows: [stage.#poison, stage.#good],
      ...(maxInterruptions !== undefined && { maxInterruptions }),
    });
    await stage.#submit();
    return stage;
  }

  get world(): World {
    return this.#world ?? assert.fail("no world");
  }

  get killers(): string[] {
    const { killingJobs, killingCode } = this.#mix;
    return [...killingJobs.map((_, i) => `exit-${i}`), ...killingCode.map((_, i) => `poison-${i}`)];
  }

  get innocents(): string[] {
    return [...this.#mix.jobs.map((_, i) => `job-${i}`), ...this.#mix.code.map((_, i) => `code-${i}`)];
  }

  get waiters(): string[] {
    return Array.from({ length: this.#mix.waiters }, (_, i) => `waiter-${i}`);
  }

  /** Starts the process anew whenever it dies, until everybody has come to an end. */
  async playToEnd(): Promise<void> {
    const livesMax = 5 * this.killers.length + 1;
    for (;;) {
      if (await this.#live()) return;
      assert(++this.deaths < livesMax, `the process died ${this.deaths} times: ${JSON.stringify(await this.#ends())}`);
      this.#isDead = false;
      await this.world.crash();
    }
  }

  async endOf(id: string): Promise<End> {
    try {
      const { status, tasks } = await this.world.clock.until(this.world.engine.getWorkflowInstanceStatus(id));
      if (status === "Success") return "done";
      if (status !== "Failed") return "open";
      const type = tasks[0]?.failure?.type;
      return type === "TASK_LOST" ? "lost" : `failed: ${type}`;
    } catch (error) {
      if (hasCode(error, "INSTANCE_QUARANTINED") && error.message.includes("CrashLoop")) return "quarantined";
      throw error;
    }
  }

  readonly #kill = async (): Promise<never> => {
    this.#isDead = true;
    this.world.kill();
    return await never;
  };

  /** Jobs end with the process that runs them. */
  readonly #sleep = async (ms: number): Promise<void> => {
    const life = this.deaths;
    if (ms < 10) for (let turns = 0; turns < ms; turns++) await new Promise(setImmediate);
    else await new Promise<void>((resolve) => void this.world.clock.after(ms, resolve));
    if (this.#isDead || this.deaths !== life) await never;
  };

  readonly #exit: Job = defineJob("exit", async (ms: number) => {
    // The code reacts to it, and may be on record as reacting when the job kills.
    for (const id of this.waiters) void this.world.engine.raiseEvent(id, "noise").catch(() => undefined);
    if (ms > 0) await this.#sleep(ms);
    return await this.#kill();
  });

  readonly #work = defineJob("work", async (ms: number) => {
    if (ms > 0) await this.#sleep(ms);
    return ms;
  });

  readonly #poison = defineWorkflow(
    "poison",
    async (ctx: WorkflowContext, { afterMs, activityMs }: { afterMs: number; activityMs: number }) => {
      const activity = ctx.run(this.#work, activityMs);
      await (afterMs === 0 ? activity : ctx.sleep(afterMs));
      if (!this.#isDead) await this.#kill();
      await activity;
    },
  );

  readonly #good = defineWorkflow(
    "good",
    async (ctx: WorkflowContext, { sleepMs, activityMs }: { sleepMs: number; activityMs: number }) => {
      if (sleepMs === 0) return await ctx.waitForEvent("go");
      const activity = ctx.run(this.#work, activityMs);
      for (let n = 0; n < 4; n++) await ctx.sleep(sleepMs);
      return await activity;
    },
  );

  async #submit(): Promise<void> {
    const { killingJobs, killingCode, jobs, code } = this.#mix;
    const { engine } = this.world;
    const starts = [
      ...jobs.map((ms, i) => () => engine.submitWorkflow(oneTask("work", ms), { instanceId: `job-${i}` })),
      ...code.map((input, i) => () => engine.startWorkflow(this.#good, input, { instanceId: `code-${i}` })),
      ...this.waiters.map(
        (instanceId) => () => engine.startWorkflow(this.#good, { sleepMs: 0, activityMs: 0 }, { instanceId }),
      ),
      ...killingJobs.map((ms, i) => () => engine.submitWorkflow(oneTask("exit", ms), { instanceId: `exit-${i}` })),
      ...killingCode.map((input, i) => () => engine.startWorkflow(this.#poison, input, { instanceId: `poison-${i}` })),
    ];
    // Accepted in one breath: no process dies before it has them all.
    await this.world.clock.until(Promise.all(starts.map((start) => start())));
  }

  /** False if the process has died. */
  async #live(): Promise<boolean> {
    for (let seconds = 0; seconds < 1200; seconds += 0.5) {
      await this.world.clock.advance(500);
      if (this.#isDead) return false;
      const ends = await this.#ends();
      if (this.#isDead) return false;
      if (ends.every(([, end]) => end !== "open")) return true;
    }
    return assert.fail(`nothing more happens: ${JSON.stringify(await this.#ends())}`);
  }

  async #ends(): Promise<[string, End][]> {
    const ends: [string, End][] = [];
    for (const id of [...this.killers, ...this.innocents]) {
      if (this.#isDead) break;
      ends.push([id, await this.endOf(id)]);
    }
    return ends;
  }
}

function oneTask(job: string, ms: number): Workflow {
  return new WorkflowBuilder()
    .withName(job)
    .withTask(new TaskBuilder("t").withJobFunction(job, ms).withTimeout(600))
    .build();
}

/** Plays a mix; only those that kill are failed or quarantined. */
async function check(t: TestContext, mix: Mix): Promise<void> {
  const stage = await Stage.build(t, mix);
  await stage.playToEnd();
  for (const id of stage.killers) {
    assert.equal(await stage.endOf(id), id.startsWith("exit") ? "lost" : "quarantined", id);
  }
  for (const id of stage.innocents) assert.equal(await stage.endOf(id), "done", id);
  for (const id of stage.waiters) {
    assert.equal(await stage.endOf(id), "open", id);
    await stage.world.clock.until(stage.world.engine.raiseEvent(id, "go"));
    await stage.world.clock.until(stage.world.engine.awaitWorkflowInstance(id));
  }
}

const none: Mix = { killingJobs: [], killingCode: [], jobs: [], code: [], waiters: 0 };

describe("spec §4.5: whoever dies alone is the one, among jobs and code alike", () => {
  test("a job that kills its process does not get innocent code quarantined", async (t) => {
    for (let turns = 0; turns < 10; turns++) await check(t, { ...none, killingJobs: [turns], waiters: 1 });
  });

  test("code that kills its process does not get an innocent job of four seconds failed", async (t) => {
    await check(t, { ...none, killingCode: [{ afterMs: 100, activityMs: 0 }], jobs: [4000] });
  });

  test("code that kills its process does not get its own activity failed", async (t) => {
    await check(t, { ...none, killingCode: [{ afterMs: 100, activityMs: 10_000 }], jobs: [4000] });
  });

  test("code that kills its process when it sees the result of its activity is quarantined", async (t) => {
    await check(t, { ...none, killingCode: [{ afterMs: 0, activityMs: 4000 }], jobs: [10_000], waiters: 2 });
  });

  test("innocent code has its last chance alone, however few losses are allowed", async (t) => {
    for (const maxInterruptions of [0, 1, 2]) {
      const killingCode = [{ afterMs: 3000, activityMs: 0 }];
      await check(t, { ...none, maxInterruptions, killingCode, code: [{ sleepMs: 3000, activityMs: 0 }], waiters: 1 });
    }
  });

  test("any mix of jobs and code that kill, beside any that do not", async (t) => {
    const activityMs = fc.integer({ min: 0, max: 20_000 });
    const mix = fc.record({
      killingJobs: fc.array(fc.oneof(fc.integer({ min: 0, max: 9 }), fc.integer({ min: 10, max: 1500 })), {
        maxLength: 2,
      }),
      killingCode: fc.array(fc.record({ afterMs: fc.integer({ min: 0, max: 5000 }), activityMs }), { maxLength: 2 }),
      jobs: fc.array(fc.integer({ min: 0, max: 30_000 }), { maxLength: 3 }),
      code: fc.array(fc.record({ sleepMs: fc.integer({ min: 1, max: 3000 }), activityMs }), { maxLength: 3 }),
      waiters: fc.integer({ min: 0, max: 3 }),
    });
    await fc.assert(
      fc.asyncProperty(mix, (one) => check(t, one)),
      { numRuns: 15 },
    );
  });
});
