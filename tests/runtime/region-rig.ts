import type { TestContext } from "node:test";
import type { Job } from "../../src/authoring/job.ts";
import { CodeRegistry } from "../../src/authoring/code-registry.ts";
import { JobRegistry } from "../../src/authoring/job-registry.ts";
import type { Workflow } from "../../src/authoring/workflow.ts";
import { Dispatcher } from "../../src/dispatch/dispatcher.ts";
import { Submission } from "../../src/engine/submission.ts";
import type { DagMachine } from "../../src/kernel/dag/dag-machine.ts";
import type { Input } from "../../src/runtime/input.ts";
import { defaultLimits } from "../../src/kernel/machine.ts";
import { Definitions } from "../../src/runtime/definitions.ts";
import { Expressions } from "../../src/expressions/expression.ts";
import { Region } from "../../src/runtime/region.ts";
import { memoryStore, SeededRandom, TestClock } from "../../src/testing.ts";
import { EmbeddedWorker } from "../../src/worker/embedded-worker.ts";
import { Disk, FaultyStore } from "./faulty-store.ts";
import { noCode } from "../../src/runtime/no-code.rig.ts";
import { LogBook, MortalClock } from "./world.ts";

export interface RigOptions {
  readonly shardCount: number;
  readonly laneCount: number;
  readonly jobs: readonly Job[];
}

/** With no network between, an order is the message itself, and a question is whatever looks at the state. */
export type RigQuestion<T> = (machine: DagMachine) => T;

/** One region of several shards after the other on the same disk, without an engine around it. */
export class RegionRig {
  readonly clock = new TestClock();
  readonly log = new LogBook();
  readonly disk = new Disk(memoryStore());
  readonly #options: RigOptions;
  #life: Life | undefined;

  private constructor(options: RigOptions) {
    this.#options = options;
  }

  static async start(t: TestContext, options: RigOptions): Promise<RegionRig> {
    const rig = new RegionRig(options);
    t.after(() => rig.#life?.clock.die());
    await rig.begin();
    return rig;
  }

  get region(): Region {
    return this.#alive.region;
  }

  get store(): FaultyStore {
    return this.#alive.store;
  }

  async begin(): Promise<void> {
    const clock = new MortalClock(this.clock);
    const store = new FaultyStore(this.disk);
    const { log: logger } = this;
    const registry = new JobRegistry();
    for (const job of this.#options.jobs) registry.register(job);
    const worker = new EmbeddedWorker({ jobs: { get: (id) => registry.get(id)?.job }, logger });
    const dispatcher = new Dispatcher({ clock, logger, worker, poolSize: 64, poolSizeMax: 64 });
    const definitions = new Definitions(store);
    const expressions = new Expressions();
    const { shardCount, laneCount } = this.#options;
    const region = new Region({
      shardCount,
      laneCount,
      store,
      clock,
      random: new SeededRandom(1),
      logger,
      dispatcher,
      definitions,
      expressions,
      limits: defaultLimits,
      code: noCode,
      idleMax: 10_000,
      owner: () => "rig",
      inputOf: (order) => order as Input,
      answer: (question, actor) => (question as RigQuestion<unknown>)(actor.machine as DagMachine),
      resolveJob: (definition, params) => registry.resolve({ ...definition, params }).id,
      onHealth: () => undefined,
      onFenced: (shard) => logger.error({ shard }, "fenced"),
    });
    const hasDomain = (): boolean => true;
    const submission = new Submission({
      definitions,
      registry,
      expressions,
      hasDomain,
      workflows: [],
      code: new CodeRegistry(),
    });
    this.#life = { region, store, clock, dispatcher, submission };
    await store.open();
    await region.open();
  }

  async restart(): Promise<void> {
    await this.clock.until(this.#alive.dispatcher.shutdown());
    await this.clock.until(this.region.close());
    this.#alive.clock.die();
    await this.begin();
  }

  async crash(): Promise<void> {
    this.#alive.clock.die();
    this.store.die();
    await this.begin();
  }

  async submit(workflow: Workflow, id: string): Promise<void> {
    const { definition, all } = await this.#alive.submission.prepare(workflow);
    await this.region.start({
      id,
      isGivenId: true,
      reuse: false,
      definition,
      definitions: all,
      input: { context: {}, trigger: "api" },
    });
  }

  async tell(id: string, input: Input): Promise<void> {
    await this.region.tell(id, input);
  }

  async ask<T>(id: string, question: RigQuestion<T>): Promise<T> {
    return (await this.region.ask(id, question)) as T;
  }

  async end(id: string): Promise<string> {
    const status: RigQuestion<string> = (machine) => machine.status;
    return (await this.region.awaitEnd(id, status)) as string;
  }

  get #alive(): Life {
    if (this.#life === undefined) throw new Error("no region was started");
    return this.#life;
  }
}

interface Life {
  readonly region: Region;
  readonly store: FaultyStore;
  readonly clock: MortalClock;
  readonly dispatcher: Dispatcher;
  readonly submission: Submission;
}
