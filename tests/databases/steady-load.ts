import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import { defineJob, Engine, hasCode, TaskBuilder, type Workflow, WorkflowBuilder } from "../../src/index.ts";
import { EngineError } from "../../src/base/error.ts";
import type { ClusterTimings } from "../../src/cluster/timings.ts";
import type { Event } from "../../src/kernel/event.ts";
import type { Store } from "../../src/stores/store.ts";

/** Members are given up after two seconds. */
export const quickTimings: Partial<ClusterTimings> = {
  beatMs: 200,
  suspectMs: 800,
  lostMs: 1200,
  pollWithoutBusMs: 100,
  callMs: 5000,
  workerBeatMs: 500,
  workerLostMs: 3000,
  rebalanceMs: 200,
};

/** As long as it may take until everything has ended after all is well again. */
const patienceMs = 40_000;

const chain: Workflow = new WorkflowBuilder()
  .withName("steady")
  .withTask(new TaskBuilder("first").withJobFunction("note"))
  .withTask(new TaskBuilder("second").withJobFunction("note").withDependency("first"))
  .build();

/** An engine that always has something to do, and all that was seen of it. */
export class SteadyLoad {
  readonly engine: Engine;
  readonly #accepted: string[] = [];
  /** How often the job of an attempt was called. */
  readonly #calls = new Map<string, number>();
  #isOver = false;
  #work: Promise<void> = Promise.resolve();
  #number = 0;

  constructor(storage: Store) {
    const note = defineJob("note", (_params: unknown, { attemptId }) => {
      this.#calls.set(attemptId, (this.#calls.get(attemptId) ?? 0) + 1);
      return attemptId;
    });
    const cluster = { name: "steady", shards: 4, timings: quickTimings };
    const silent = { debug: ignore, info: ignore, warn: ignore, error: ignore };
    this.engine = new Engine({ storage, jobs: [note], cluster, logger: silent, maxInterruptions: 1000 });
  }

  async start(): Promise<void> {
    await this.engine.start();
    this.#work = Promise.all([1, 2, 3, 4].map(() => this.#submitAll())).then(() => undefined);
    await this.untilMore(20);
  }

  get accepted(): number {
    return this.#accepted.length;
  }

  /** So many more were accepted: the engine goes on. */
  async untilMore(count: number): Promise<void> {
    const before = this.accepted;
    for (const end = performance.now() + patienceMs; this.accepted < before + count; await sleep(10))
      assert.ok(performance.now() < end, `it does not go on: ${this.accepted - before} accepted since`);
  }

  /** Nothing more is submitted; everything that was accepted ends, and is as it should be. */
  async finish(options: { isLost?: boolean } = {}): Promise<void> {
    this.#isOver = true;
    await this.#work;
    for (const id of this.#accepted) await this.#checkInstance(id);
    const again = [...this.#calls].filter(([, count]) => count > 1);
    if (!options.isLost) assert.deepEqual(again, [], "no job was called twice, for the engine never lost its lease");
    await this.engine.stop();
  }

  async #submitAll(): Promise<void> {
    while (!this.#isOver) {
      const instanceId = `steady-${this.#number++}`;
      await this.#insist(() => this.engine.submitWorkflow(chain, { instanceId }));
      this.#accepted.push(instanceId);
      await sleep(5);
    }
  }

  /** As a user would, who was told that nobody knows. */
  async #insist<T>(call: () => Promise<T>): Promise<T | undefined> {
    for (const end = performance.now() + patienceMs; ; await sleep(50)) {
      try {
        return await call();
      } catch (error) {
        if (hasCode(error, "INSTANCE_EXISTS")) return undefined;
        if (!(error instanceof EngineError && error.retryable) || performance.now() > end) throw error;
      }
    }
  }

  async #checkInstance(id: string): Promise<void> {
    const outputs = await this.#insist(() => this.engine.awaitWorkflowInstance(id));
    assert.deepEqual(outputs, { first: `${id}:1:0:1`, second: `${id}:1:1:1` });
    const turns = (await this.#insist(() => this.engine.getWorkflowInstanceHistory(id))) ?? [];
    let events = 0;
    for (const [number, { turn, firstEvent, events: own }] of turns.entries()) {
      assert.deepEqual([turn, firstEvent], [number, events], `${id} has a gap in its history`);
      events += own.length;
    }
    const all = turns.flatMap(({ events }) => events);
    assert.equal(count(all, "InstanceCreated"), 1);
    assert.equal(count(all, "TaskSucceeded"), 2);
    assert.equal(count(all, "InstanceEnded"), 1);
    for (const attempt of Object.values(outputs ?? {}))
      assert.ok(this.#calls.has(attempt), `${attempt} is a success that never happened`);
  }
}

function count(events: readonly Event[], type: Event["type"]): number {
  return events.filter((event) => event.type === type).length;
}

function ignore(): void {}
