import type { TestContext } from "node:test";
import type { Job } from "../../src/authoring/job.ts";
import { CodeRegistry } from "../../src/authoring/code-registry.ts";
import { JobRegistry } from "../../src/authoring/job-registry.ts";
import type { Workflow } from "../../src/authoring/workflow.ts";
import { Dispatcher } from "../../src/dispatch/dispatcher.ts";
import { Submission } from "../../src/engine/submission.ts";
import { defaultLimits } from "../../src/kernel/machine.ts";
import { CallClient } from "../../src/runtime/call-client.ts";
import { CallHandler } from "../../src/runtime/call-handler.ts";
import { DefinitionSaver } from "../../src/runtime/definition-saver.ts";
import { Definitions } from "../../src/runtime/definitions.ts";
import { Expressions } from "../../src/expressions/expression.ts";
import { Region } from "../../src/runtime/region.ts";
import { memoryStore, SeededRandom, TestClock } from "../../src/testing.ts";
import { EmbeddedWorker } from "../../src/worker/embedded-worker.ts";
import { Disk, FaultyStore } from "./faulty-store.ts";
import { noCode } from "../../src/runtime/no-code.rig.ts";
import { MortalClock } from "./world.ts";
import { LogBook } from "../../src/testing/log-book.rig.ts";

export interface RigOptions {
  readonly shardCount: number;
  readonly laneCount: number;
  readonly jobs: readonly Job[];
}

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

  get calls(): CallClient {
    return this.#alive.calls;
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
    const worker = new EmbeddedWorker({ jobs: { get: (id) => registry.get(id)?.job }, clock, logger });
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
      completionTokens: { issue: () => "token" },
      code: noCode,
      idleMax: 10_000,
      owner: () => "rig",
      workers: { lookMs: 10_000, find: () => Promise.resolve([]) },
      resolveJob: (_instanceId, definition, params) => registry.resolve({ ...definition, params }).id,
      onHealth: () => undefined,
      onFenced: (shard) => logger.error({ shard }, "fenced"),
    });
    const isLeaseValid = (): boolean => true;
    const shared = { store, clock, definitions, registryOf: () => registry, dispatcher, region };
    const handler = new CallHandler({ ...shared, allocators: undefined, isLeaseValid });
    const saver = new DefinitionSaver({ clock, definitions, dispatcher });
    const random = new SeededRandom(1);
    const calls = new CallClient({ clock, random, region, handler, definitions: saver, transport: undefined });
    const hasDomain = (): boolean => true;
    const submission = new Submission({
      learnJobs: async () => undefined,
      namespace: "default",
      definitions,
      registry,
      expressions,
      hasDomain,
      workflows: [],
      code: new CodeRegistry(),
    });
    this.#life = { region, calls, store, clock, dispatcher, submission };
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
    await this.calls.start({
      id,
      isGivenId: true,
      reuse: false,
      definition,
      definitions: all,
      input: { context: {}, trigger: "api" },
    });
  }

  async end(id: string): Promise<string> {
    return (await this.calls.awaitEnd(id)).status;
  }

  get #alive(): Life {
    if (this.#life === undefined) throw new Error("no region was started");
    return this.#life;
  }
}

interface Life {
  readonly region: Region;
  readonly calls: CallClient;
  readonly store: FaultyStore;
  readonly clock: MortalClock;
  readonly dispatcher: Dispatcher;
  readonly submission: Submission;
}
