/**
 * Nothing leaves before its cause is durable, tried at random: a mixed workload on a store that is slow, fails, and fails
 * after writing, with and without crashes. Whoever sees an effect looks at that moment whether the store had answered for
 * its cause. A seed that fails is in the test's name and fails again: `SEED=123 npm test -- tests/runtime/random-faults.test.ts`.
 */
import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import { setImmediate } from "node:timers/promises";
import { defineJob, type Job, type JobContext } from "../../src/authoring/job.ts";
import { TaskBuilder } from "../../src/authoring/task-builder.ts";
import type { Workflow } from "../../src/authoring/workflow.ts";
import { EngineError } from "../../src/base/error.ts";
import type { Engine } from "../../src/engine/engine.ts";
import { hasEnded } from "../../src/kernel/status.ts";
import { SqliteStore } from "../../src/stores/sqlite/sqlite-store.ts";
import { memoryStore, SeededRandom } from "../../src/testing.ts";
import type { Fault } from "./faulty-store.ts";
import { World } from "./world.ts";
import { builder, chain, decision, nested, task, workflow } from "./workflows.ts";

const seeds =
  process.env["SEED"] === undefined ? Array.from({ length: 30 }, (_, seed) => seed + 1) : [Number(process.env["SEED"])];

const inner = chain("inner", "i1", "i2");

/** Each with the outputs it ends with. */
const workload: readonly { workflow: Workflow; outputs: Record<string, unknown> }[] = [
  { workflow: chain("chain", "a", "b", "c"), outputs: { a: 1, b: 1, c: 1 } },
  {
    workflow: workflow("fan", task("a"), ...["b", "c", "d"].map((name) => task(name).withDependency("a"))),
    outputs: { a: 1, b: 1, c: 1, d: 1 },
  },
  { workflow: workflow("flaky", task("a", "flaky").withRetryCount(2)), outputs: { a: 2 } },
  {
    workflow: workflow("family", nested("m", inner), nested("n", inner), task("z").withDependencies(["m", "n"])),
    outputs: { m: { i1: 1, i2: 1 }, n: { i1: 1, i2: 1 }, z: 1 },
  },
  {
    workflow: workflow(
      "fork",
      task("a"),
      decision("which", "outputs.a > 0").withDependency("a"),
      task("yes").withDependency("which", { when: true }),
      task("no").withDependency("which", { when: false }),
    ),
    outputs: { a: 1, which: true, yes: 1 },
  },
  {
    workflow: workflow("spread", task("a", "spread"), task("z").withDependency("a")),
    outputs: { a: 1, s1: 1, s2: 1, z: 1 },
  },
  { workflow: builder("large", task("a", "large")).build(), outputs: { a: "x".repeat(5000) } },
];

class Run {
  readonly #random: SeededRandom;
  readonly #withCrashes: boolean;
  readonly #world: World;
  /** By attempt id. */
  readonly runs = new Map<string, number>();
  readonly accepted = new Map<string, Record<string, unknown>>();
  readonly terminated = new Set<string>();
  /** The first thing that was not right. */
  failure: unknown;
  #isFaulty = true;
  #submitted = 0;

  constructor(world: World, random: SeededRandom, withCrashes: boolean) {
    this.#world = world;
    this.#random = random;
    this.#withCrashes = withCrashes;
  }

  async play(steps: number): Promise<void> {
    this.#enterLife();
    for (let step = 0; step < steps; step++) {
      await this.#step();
      await this.#world.clock.advance(this.#below(200));
    }
    this.#isFaulty = false;
    await this.#world.clock.advance(10_000);
    for (const id of this.accepted.keys()) await this.#settle(id);
  }

  /** An effect was seen: whatever its witness says is kept, also where somebody else would swallow it. */
  witness(check: () => void): void {
    try {
      check();
    } catch (error) {
      this.failure ??= error;
    }
  }

  /** What a job checks as it starts. */
  sawStart(ctx: JobContext): void {
    const [, id = "", , task = "", attempt = ""] = /^(.*):(\d+):(\d+):(\d+)$/.exec(ctx.attemptId) ?? [];
    const { ledger } = this.#world.disk;
    this.runs.set(ctx.attemptId, (this.runs.get(ctx.attemptId) ?? 0) + 1);
    const events = ledger.events(id);
    const failed = events.filter((event) => event.type === "TaskFailed" && event.task === Number(task));
    const succeeded = events.some((event) => event.type === "TaskSucceeded" && event.task === Number(task));
    assert.ok(ledger.scheduled(id, Number(task)) > 0, `${ctx.attemptId} runs and was never scheduled`);
    assert.equal(failed.length, Number(attempt) - 1, `${ctx.attemptId} runs, with ${failed.length} failures on record`);
    assert.equal(succeeded, false, `${ctx.attemptId} runs although the task has succeeded`);
    const parent = /^(.*)\/[mn]$/.exec(id)?.[1];
    if (parent !== undefined)
      assert.ok(ledger.count(parent, "ChildStarted") > 0, `${id} runs before its parent says so`);
  }

  #enterLife(): void {
    const { engine, store } = this.#world;
    store.faultOf = () => this.#fault();
    store.onSend = async () => {
      for (let turns = this.#below(4); turns > 0; turns--) await setImmediate();
    };
    engine.subscribe((change) => {
      const { instanceId, status } = change;
      this.witness(() => assert.equal(status, store.ledger.status(instanceId), `${instanceId} is told too early`));
    });
  }

  #fault(): Fault | undefined {
    if (!this.#isFaulty) return undefined;
    const chance = this.#random.next();
    return chance < 0.15 ? "before" : chance < 0.3 ? "after" : undefined;
  }

  async #step(): Promise<void> {
    const chance = this.#random.next();
    if (chance < 0.5) this.#submit();
    else if (this.#withCrashes && chance < 0.55) {
      await this.#world.crash();
      this.#enterLife();
    } else if (this.#withCrashes && chance < 0.58) {
      await this.#stopAndBegin();
      this.#enterLife();
    } else this.#order();
  }

  /** A stop while the store is away gives up, and says so: what was not written comes back all the same. */
  async #stopAndBegin(): Promise<void> {
    await this.#allowed(() => this.#world.clock.until(this.#world.engine.stop()));
    this.#world.kill();
    await this.#world.begin();
  }

  #submit(): void {
    const { engine, store } = this.#world;
    const chosen = workload[this.#below(workload.length)];
    assert.ok(chosen);
    const id = `w${this.#submitted++}`;
    void this.#allowed(async () => {
      const run = await engine.submitWorkflow(chosen.workflow, { instanceId: id });
      assert.ok(store.ledger.status(id) !== undefined, `${id} was accepted and is not in the store`);
      this.accepted.set(id, chosen.outputs);
      await this.#allowed(async () => {
        await run.result();
        assert.equal(store.ledger.status(id), "Success", `${id} is told to have ended, and has not`);
      });
    });
  }

  /** Something that somebody says to one of the instances. */
  #order(): void {
    const ids = [...this.accepted.keys()];
    const id = ids[this.#below(ids.length)];
    if (id === undefined) return;
    const { engine, store } = this.#world;
    const orders: ((engine: Engine) => Promise<unknown>)[] = [
      async () => {
        const view = await engine.getWorkflowInstanceStatus(id);
        const isAhead = hasEnded(view.status) && view.status !== store.ledger.status(id);
        assert.ok(!isAhead, `${id} is said to be ${view.status}, and is ${store.ledger.status(id)} on record`);
        const told = view.tasks.filter(({ status, kind }) => status === "Success" && kind === "job").length;
        const known = store.ledger.count(id, "TaskSucceeded");
        assert.ok(told <= known, `${id}: ${told} tasks are told to have succeeded, ${known} are on record`);
      },
      () => engine.pauseWorkflowInstance(id),
      () => engine.resumeWorkflowInstance(id),
      () => engine.updateContext(id, { touched: true }),
      async () => {
        if (this.#random.next() < 0.7) return;
        this.terminated.add(id);
        await engine.terminateWorkflowInstance(id);
        assert.equal(store.ledger.hasEnded(id), true);
      },
    ];
    void this.#allowed(() => orders[this.#below(orders.length)]?.(engine));
  }

  /** Refusals are part of the game; anything else is not. */
  async #allowed(call: () => Promise<unknown> | undefined): Promise<void> {
    try {
      await call();
    } catch (error) {
      if (!(error instanceof EngineError)) this.failure ??= error;
    }
  }

  /** In the end everything is resumed, and ends as it should. */
  async #settle(id: string): Promise<void> {
    const { engine, clock, disk } = this.#world;
    for (const key of [id, `${id}/m`, `${id}/n`]) {
      const view = await engine.getWorkflowInstanceStatus(key).catch(() => undefined);
      if (view?.status === "Paused" || view?.pausing) await engine.resumeWorkflowInstance(key);
      await clock.settle();
    }
    const result = await clock.until(engine.awaitWorkflowInstance(id).catch((error: unknown) => error));
    if (disk.ledger.status(id) === "Terminated") assert.ok(this.terminated.has(id), `${id} was terminated by nobody`);
    else assert.deepEqual(result, this.accepted.get(id), id);
  }

  #below(limit: number): number {
    return Math.floor(this.#random.next() * limit);
  }
}

function jobsOf(run: () => Run, random: SeededRandom): Job[] {
  const wait = async (): Promise<void> => {
    for (let turns = Math.floor(random.next() * 4); turns > 0; turns--) await setImmediate();
  };
  const define = (name: string, fn: (ctx: JobContext) => unknown): Job =>
    defineJob(name, async (_: unknown, ctx) => {
      run().witness(() => run().sawStart(ctx));
      await wait();
      return fn(ctx);
    });
  return [
    define("work", () => 1),
    define("flaky", ({ attempt }) => {
      if (attempt === 1) throw new Error("once");
      return attempt;
    }),
    define("spread", (ctx) => {
      for (const name of ["s1", "s2"]) ctx.generateSubTask(new TaskBuilder(name).withJobFunction("work").build());
      return 1;
    }),
    define("large", () => "x".repeat(5000)),
  ];
}

async function playSeed(t: TestContext, seed: number, withCrashes: boolean): Promise<void> {
  const random = new SeededRandom(seed);
  const store = seed % 2 === 0 ? memoryStore() : new SqliteStore({ file: ":memory:" });
  const holder: { run?: Run } = {};
  const current = (): Run => {
    assert.ok(holder.run);
    return holder.run;
  };
  const world = await World.start(t, { inner: store, jobs: jobsOf(current, random), random, poolSize: 6 });
  const run = (holder.run = new Run(world, random, withCrashes));
  await run.play(40);
  assert.equal(run.failure, undefined);
  assert.ok(run.accepted.size > 0, "the workload was worth its name");
  const counts = [...run.runs.values()];
  if (!withCrashes)
    assert.ok(
      counts.every((count) => count === 1),
      "every attempt ran once",
    );
  for (const id of run.accepted.keys()) await checkRecord(world, run, id);
  const { quarantinedInstances, unfinishedInstances } = world.engine.health;
  assert.deepEqual({ quarantinedInstances, unfinishedInstances }, { quarantinedInstances: 0, unfinishedInstances: 0 });
}

/** History is whole and tells of each success once, and every success was really run. */
async function checkRecord(world: World, run: Run, id: string): Promise<void> {
  const { generation, tasks } = await world.engine.getWorkflowInstanceStatus(id);
  const turns = await world.engine.getWorkflowInstanceHistory(id);
  let next = 0;
  for (const [place, { turn, firstEvent, events }] of turns.entries()) {
    assert.equal(turn, place);
    assert.equal(firstEvent, next);
    next += events.length;
  }
  const succeeded = turns
    .flatMap(({ events }) => events)
    .flatMap((event) => (event.type === "TaskSucceeded" ? [event] : []));
  assert.equal(new Set(succeeded.map(({ task }) => task)).size, succeeded.length, `${id}: a task succeeded twice`);
  for (const { task, attempt } of succeeded) {
    if (tasks[task]?.kind === "job")
      assert.ok(run.runs.has(`${id}:${generation}:${task}:${attempt}`), `${id}: ${task} never ran`);
  }
}

for (const seed of seeds) {
  test(`with faults, seed ${seed}`, (t) => playSeed(t, seed, false));
  test(`with faults and crashes, seed ${seed}`, (t) => playSeed(t, seed, true));
}
