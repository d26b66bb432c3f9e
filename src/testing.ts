/** For tests of workflows: an engine on a clock that skips waits, mocks of jobs, replay of recorded histories, and an in-memory store. */

import type { CodeWorkflow } from "./authoring/code-workflow.ts";
import type { Job } from "./authoring/job.ts";
import { Drain } from "./code/drain.ts";
import { Engine } from "./engine/engine.ts";
import type { EngineOptions } from "./engine/options.ts";
import { stderrLogger } from "./engine/stderr-logger.ts";
import { type RecordedHistory, replayRecorded } from "./runtime/recorded-history.ts";
import { firstKey } from "./stores/instance-key.ts";
import { MemoryStore } from "./stores/memory/memory-store.ts";
import type { Store } from "./stores/store.ts";
import { ResultWatch } from "./testing/result-watch.ts";
import { SeededRandom } from "./testing/seeded-random.ts";
import { SkippingClock } from "./testing/skipping-clock.ts";
import { TestClock } from "./testing/test-clock.ts";
import { unusedMocks } from "./testing/unused-mocks.ts";
import { failureFrom } from "./worker/failure-from.ts";

export { mockJob, type MockedJob } from "./testing/mock-job.ts";
export { SeededRandom } from "./testing/seeded-random.ts";
export { TestClock } from "./testing/test-clock.ts";
export type { RecordedHistory, RecordedTurn } from "./runtime/recorded-history.ts";

/**
 * An in-memory store for tests. Data outlive the engine, so a second engine on the same store continues
 * where the first one stopped, as after a restart.
 *
 * ```ts
 * import { Engine } from "heddle";
 * import { memoryStore, TestClock } from "heddle/testing";
 *
 * const storage = memoryStore();
 * const clock = new TestClock();
 * const first = new Engine({ storage, clock, jobs });
 * await first.start();
 * const run = await first.submitWorkflow(nightly);
 * await first.stop();
 *
 * const second = new Engine({ storage, clock, jobs });
 * await second.start();
 * await clock.until(second.awaitWorkflowInstance(run.instanceId));
 * ```
 *
 * Engines that run concurrently, as members of a cluster, need a connection each: the first uses the store
 * itself, the others use its `connect()`.
 */
export function memoryStore(): Store & { connect(): Store } {
  return new MemoryStore();
}

/** Options of an engine, with its jobs mocked and its clock set. */
export interface TestEngineOptions extends Partial<Omit<EngineOptions, "clock" | "cluster">> {
  /** Mocks that replace jobs of the same name. */
  readonly mocks?: readonly Job[];
  /** The initial time, epoch ms. */
  readonly now?: number;
}

/** An engine for one test. `await using` stops it at the end of its block. */
export interface TestEngine extends AsyncDisposable {
  readonly engine: Engine;
  /** Stands still until it is advanced or a result is awaited; then it skips to the next timer. */
  readonly clock: TestClock;
  stop(): Promise<void>;
}

/**
 * Starts an in-memory engine with a clock that stands still and deterministic ids.
 *
 * ```ts
 * const charged = mockJob(charge, () => ({ receipt: "r1" }));
 * await using test = await testEngine({ workflows: [order], jobs, mocks: [charged] });
 * const run = await test.engine.startWorkflow(order, { id: "o1" });
 * assert.deepEqual(await test.clock.until(run.result()), { receipt: "r1" });
 * assert.deepEqual(charged.calls, [{ id: "o1" }]);
 * ```
 */
export async function testEngine(options: TestEngineOptions = {}): Promise<TestEngine> {
  const { mocks = [], now, jobs = [], storage = memoryStore(), random = new SeededRandom(1), ...others } = options;
  const mocked = new Set(mocks.map(({ name }) => name));
  const clock = new SkippingClock(now === undefined ? {} : { now });
  const { logger = stderrLogger, workflows = [] } = others;
  const results = new ResultWatch({
    logger,
    isMoving: () => clock.isMoving || engine.health.runningTasks > 0,
    isStepping: () => clock.hasAdvanced,
    nextWake: () => nextWake(storage, clock.now()),
    skipUntil: (result) => clock.until(result),
  });
  const engine: Engine = new WatchedEngine(results, {
    ...others,
    storage,
    clock,
    random,
    jobs: [...jobs.filter(({ name }) => !mocked.has(name)), ...mocks],
  });
  await engine.start();
  clock.follow({ isBusy: () => engine.health.runningTasks > 0, nextWake: (after) => nextWake(storage, after) });
  const stop = async (): Promise<void> => {
    clock.unfollow();
    results.stop();
    if (engine.health.status === "stopped") return;
    await clock.until(engine.stop());
    for (const job of unusedMocks(mocks, { jobs, workflows })) {
      logger.warn({ job }, "a mock was never called, and no job of its name is among the jobs or tasks of this test");
    }
  };
  return { engine, clock, stop, [Symbol.asyncDispose]: stop };
}

/** Skips time for results that are awaited while the clock stands still. */
class WatchedEngine extends Engine {
  readonly #results: ResultWatch;

  constructor(results: ResultWatch, options: EngineOptions) {
    super(options);
    this.#results = results;
  }

  override awaitWorkflowInstance<Result = Record<string, unknown>>(instanceId: string): Promise<Result> {
    return this.#results.watch(instanceId, super.awaitWorkflowInstance<Result>(instanceId));
  }
}

async function nextWake(storage: Store, afterTime: number): Promise<number | undefined> {
  const limit = 1000;
  let next = Infinity;
  for (let after: number | undefined = firstKey(0) - 1; after !== undefined;) {
    const rows = await storage.listUnfinished(0, { after, limit });
    for (const { wakeAt, quarantined } of rows) {
      if (wakeAt !== null && wakeAt > afterTime && quarantined === null) next = Math.min(next, wakeAt);
    }
    after = rows.length < limit ? undefined : rows.at(-1)?.key;
  }
  return next === Infinity ? undefined : next;
}

/**
 * Replays a recorded history with the code of a workflow, in memory and without its jobs, to test whether instances
 * that began with other code continue with this one. Resolves if so. `WORKFLOW_CHANGED` names the first different step.
 *
 * ```ts
 * const recorded = JSON.parse(await readFile("tests/histories/order.json", "utf8"));
 * await replayWorkflow(order, recorded);
 * ```
 */
export async function replayWorkflow(workflow: CodeWorkflow, recorded: RecordedHistory): Promise<void> {
  const drain = new Drain(new TestClock());
  await replayRecorded(workflow, recorded, {
    whenDrained: (waiting) => drain.wait(waiting),
    failureFrom,
    // Steps are compared by name, so a child may have any version.
    versionOf: () => workflow.version,
    hasDomain: () => true,
    within: (call) => call(),
  });
}
