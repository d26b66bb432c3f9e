import type { TestContext } from "node:test";
import type { Job } from "../../src/authoring/job.ts";
import { CodeRegistry } from "../../src/authoring/code-registry.ts";
import { JobRegistry } from "../../src/authoring/job-registry.ts";
import type { Workflow } from "../../src/authoring/workflow.ts";
import { hasCode } from "../../src/base/error.ts";
import { defaultTimings } from "../../src/cluster/timings.ts";
import { Dispatcher } from "../../src/dispatch/dispatcher.ts";
import { Submission } from "../../src/engine/submission.ts";
import { defaultLimits } from "../../src/kernel/machine.ts";
import type { CallOf, CallType, Hint, ResultOf } from "../../src/runtime/call.ts";
import { CallClient } from "../../src/runtime/call-client.ts";
import { decodeResult } from "../../src/runtime/call-codec.ts";
import { CallHandler } from "../../src/runtime/call-handler.ts";
import { DefinitionSaver } from "../../src/runtime/definition-saver.ts";
import { Definitions } from "../../src/runtime/definitions.ts";
import { Expressions } from "../../src/expressions/expression.ts";
import { HostedAttempts } from "../../src/runtime/hosted-attempts.ts";
import { Region, type RegionCluster } from "../../src/runtime/region.ts";
import { memoryStore, SeededRandom, TestClock } from "../../src/testing.ts";
import { EmbeddedWorker } from "../../src/worker/embedded-worker.ts";
import { Disk, FaultyStore } from "./faulty-store.ts";
import { noCode } from "../../src/runtime/no-code.rig.ts";
import { LogBook } from "../../src/testing/log-book.rig.ts";

export const shardCount = 4;

/** Several regions on one disk. The test says who is a member and who opens which shard; calls find their way by themselves. */
export class RegionClusterRig {
  readonly clock = new TestClock();
  readonly log = new LogBook();
  readonly disk = new Disk(memoryStore());
  readonly jobs: readonly Job[];
  readonly living = new Set<string>();
  readonly left = new Set<string>();
  /** Messages are pushed to their receivers. */
  hintsArrive = true;
  /** Types of the calls that members sent to each other. */
  readonly carried: CallType[] = [];
  readonly #members: RigMember[] = [];
  #calls = 0;

  private constructor(jobs: readonly Job[]) {
    this.jobs = jobs;
  }

  /** `count` members; the first has every shard. */
  static async start(t: TestContext, count: number, jobs: readonly Job[]): Promise<[RegionClusterRig, ...RigMember[]]> {
    const rig = new RegionClusterRig(jobs);
    for (let place = 0; place < count; place++) rig.#members.push(await rig.#join(`m${place}`));
    for (let shard = 0; shard < shardCount; shard++) await rig.#members[0]?.region.openShard(shard);
    t.after(() => {
      for (const { hostedAttempts } of rig.#members) hostedAttempts.stop();
    });
    return [rig, ...rig.#members];
  }

  async #join(id: string): Promise<RigMember> {
    const store = new FaultyStore(this.disk);
    await store.open();
    await store.join({ id, address: id });
    this.living.add(id);
    return new RigMember(id, this, store);
  }

  memberOf(id: string): RigMember | undefined {
    return this.#members.find((member) => member.id === id && this.living.has(id));
  }

  ownerOf(shard: number): RigMember | undefined {
    return this.#members.find(({ region, id }) => this.living.has(id) && region.epochOf(shard) !== undefined);
  }

  /** Repeated under one key until somebody has answered. */
  async call<T extends CallType>(shard: number, body: CallOf<T>, given?: string): Promise<ResultOf<T>> {
    const key = given ?? `call ${this.#calls++}`;
    this.carried.push(body.type);
    for (let isFirst = given === undefined; ; isFirst = false) {
      try {
        const owner = this.ownerOf(shard);
        if (owner !== undefined) {
          return decodeResult<T>(body.type, await owner.handler.handle(shard, { key, isFirst, body }));
        }
      } catch (error) {
        if (!hasCode(error, "SHARD_MOVED")) throw error;
      }
      await new Promise<void>((resolve) => this.clock.after(50, resolve));
    }
  }

  /** In good order. */
  async move(shard: number, from: RigMember, to: RigMember): Promise<void> {
    await this.clock.until(from.region.releaseShard(shard));
    await this.clock.until(to.region.openShard(shard));
  }

  /** The others have taken the member for dead. It does not know yet. */
  async lose(member: RigMember): Promise<void> {
    this.living.delete(member.id);
    await this.disk.inner.removeMember(member.id);
  }

  /** What members do now and then. */
  async look(): Promise<void> {
    for (const { region } of this.#members) {
      region.sweepDelegatedAttempts();
      await region.fetchMessages(Array.from({ length: shardCount }, (_, shard) => shard));
    }
    await this.clock.settle();
  }
}

/** One region, with what it needs of a member around it. */
export class RigMember {
  readonly id: string;
  readonly store: FaultyStore;
  readonly dispatcher: Dispatcher;
  readonly hostedAttempts: HostedAttempts;
  readonly region: Region;
  readonly handler: CallHandler;
  readonly calls: CallClient;
  isLeaseValid = true;
  /** Shards that it was told to have lost. */
  readonly fenced: number[] = [];
  readonly #rig: RegionClusterRig;
  readonly #submission: Submission;

  constructor(id: string, rig: RegionClusterRig, store: FaultyStore) {
    this.id = id;
    this.store = store;
    this.#rig = rig;
    const { clock, log: logger } = rig;
    const registry = new JobRegistry();
    for (const job of rig.jobs) registry.register(job);
    const worker = new EmbeddedWorker({ jobs: { get: (job) => registry.get(job)?.job }, clock, logger, address: id });
    this.dispatcher = new Dispatcher({ clock, logger, worker, poolSize: 64, poolSizeMax: 64 });
    const definitions = new Definitions(store);
    const expressions = new Expressions();
    this.hostedAttempts = this.#makeHostedAttempts();
    this.region = new Region({
      shardCount,
      laneCount: 2,
      store,
      clock,
      random: new SeededRandom(1),
      logger,
      dispatcher: this.dispatcher,
      definitions,
      expressions,
      limits: defaultLimits,
      completionTokens: { issue: () => "token" },
      code: noCode,
      idleMax: 10_000,
      owner: () => id,
      workers: { lookMs: 10_000, find: () => Promise.resolve([]) },
      resolveJob: (_instanceId, definition, params) => registry.resolve({ ...definition, params }).id,
      onHealth: () => undefined,
      onFenced: (shard) => void this.fenced.push(shard),
      cluster: this.#cluster(),
    });
    const { region, dispatcher } = this;
    const shared = { store, clock, definitions, registryOf: () => registry, dispatcher, region };
    this.handler = new CallHandler({ ...shared, allocators: undefined, isLeaseValid: () => this.isLeaseValid });
    this.calls = new CallClient({
      clock,
      // Members make different keys.
      random: new SeededRandom(2 + Number(id.slice(1))),
      region,
      handler: this.handler,
      definitions: new DefinitionSaver({ clock, definitions, dispatcher }),
      transport: { callMs: 60_000, call: (shard, call, { key }) => rig.call(shard, call, key) },
    });
    const hasDomain = (): boolean => true;
    this.#submission = new Submission({
      learnJobs: async () => undefined,
      namespace: "default",
      definitions,
      registry,
      expressions,
      hasDomain,
      workflows: [],
      code: new CodeRegistry(),
    });
    this.hostedAttempts.start();
  }

  async submit(workflow: Workflow, id: string, options: { isGivenId?: boolean } = {}): Promise<void> {
    const { definition, all } = await this.#submission.prepare(workflow);
    const { isGivenId = true } = options;
    const input = { context: {}, trigger: "api" } as const;
    await this.calls.start({ id, isGivenId, reuse: false, definition, definitions: all, input });
  }

  async status(id: string): Promise<string> {
    return (await this.calls.callInstance({ type: "GetIdentity", id })).status;
  }

  async end(id: string): Promise<string> {
    return (await this.calls.awaitEnd(id)).status;
  }

  #makeHostedAttempts(): HostedAttempts {
    const { clock, log: logger, living, left } = this.#rig;
    return new HostedAttempts({
      clock,
      logger,
      timings: defaultTimings,
      dispatcher: this.dispatcher,
      member: () => this.id,
      members: {
        isLiving: (member) => living.has(member),
        hasLeft: (member) => left.has(member),
        hasSeen: () => true,
      },
      shardOf: (id) => this.region.shardOf(id),
      call: (shard, call) => this.#rig.call(shard, call),
      renew: (shard, renewal) => this.#rig.call(shard, renewal),
      hint: (member, hint) => this.#rig.memberOf(member)?.hinted(hint),
      hintOwner: () => undefined,
      onProgress: () => undefined,
      findMissing: async () => [],
    });
  }

  #cluster(): RegionCluster {
    return {
      hostedAttempts: this.hostedAttempts,
      hintOwner: (shard, hint) => void (this.#rig.hintsArrive && this.#rig.ownerOf(shard)?.hinted(hint)),
    };
  }

  hinted(hint: Hint): void {
    if (hint.type === "OutboxMessage") this.region.receive(hint.row);
    else if (hint.type === "AbortAttempts") this.hostedAttempts.drop(hint.attemptIds);
  }
}
