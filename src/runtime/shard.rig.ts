/** A shard, a store and actors, for the tests of the runtime. */
import assert from "node:assert/strict";
import { EngineError, hasCode } from "../base/error.ts";
import type { DagSpec } from "../kernel/dag/dag-spec.ts";
import { Graph } from "../kernel/dag/graph.ts";
import type { Input } from "./input.ts";
import { defaultLimits } from "../kernel/machine.ts";
import { turnsOf } from "../stores/batch-turns.rig.ts";
import { MemoryStore } from "../stores/memory/memory-store.ts";
import type { Batch, OffsetRow, ShardClaim } from "../stores/store.ts";
import { noCode } from "./no-code.rig.ts";
import { silentLogger } from "../base/logger.ts";
import { SeededRandom } from "../testing/seeded-random.ts";
import { TestClock } from "../testing/test-clock.ts";
import { DagActor } from "./dag-actor.ts";
import type { DagDefinition } from "./definitions.ts";
import { Expressions } from "../expressions/expression.ts";
import type { ActorShard, ActorTurn, InstanceActor } from "./instance-actor.ts";
import { InstanceTaskRun } from "./instance-task-run.ts";
import type { Lane } from "./lane.ts";
import type { Origin } from "./message.ts";
import { FencingToken } from "./fencing-token.ts";

const spec: DagSpec = { nodes: [{ nodeId: 1, nodeName: "a", jobName: "work" }], edges: [] };
const definition: DagDefinition = { kind: "dag", name: "one", version: "1", spec, graph: new Graph(spec) };

/** A store whose commits the test can hold up, refuse and leave unanswered. */
export class RigStore extends MemoryStore {
  readonly sent: Batch[] = [];
  /** For the next commits, one each: it fails and was not written, or was; the data are refused. */
  readonly faults: ("before" | "after" | "data" | undefined)[] = [];
  /** Keys of instances whose history it never takes. */
  readonly refused = new Set<number>();
  #gate: PromiseWithResolvers<void> | undefined;

  /** Commits are held up from now on. Returns the function that unblocks them. */
  hold(): () => void {
    const gate = (this.#gate = Promise.withResolvers<void>());
    return () => {
      this.#gate = undefined;
      gate.resolve();
    };
  }

  override async commit(batch: Batch): Promise<void> {
    this.sent.push(structuredClone(batch));
    await this.#gate?.promise;
    const fault = this.faults.shift();
    if (fault === "before") throw new EngineError("STORE_UNAVAILABLE", "the disk was pulled out");
    if (fault === "data" || turnsOf(batch.changes).some(({ instance }) => this.refused.has(instance)))
      throw new EngineError("STORE_DATA", "the store does not like these bytes");
    await super.commit(batch);
    if (fault === "after") throw new EngineError("STORE_UNAVAILABLE", "the answer was lost");
  }

  /** The shards of each commit that was sent, with the number it had in each. */
  get fences(): string[] {
    return this.sent.map(({ fences }) => fences.map(({ shard, number }) => `${shard}#${number}`).join(" "));
  }

  async claim(shard: number, owner = "rig"): Promise<ShardClaim> {
    const claim = await this.claimShard(shard, owner);
    assert.ok(claim);
    return claim;
  }

  async has({ key }: InstanceActor): Promise<boolean> {
    return (await this.loadHistory([key])).length > 0;
  }
}

/** As much of a shard as a lane, and the actors in it, have to do with. It notes what it is told. */
export class RigShard implements ActorShard {
  readonly token: FencingToken;
  readonly limits = defaultLimits;
  readonly completionTokens = { issue: () => "token" };
  isStopping = false;
  readonly expressions = new Expressions();
  readonly clock = new TestClock();
  readonly random = new SeededRandom(1);
  readonly logger = silentLogger;
  readonly code = noCode;
  readonly broadcasts = { find: () => Promise.resolve(["rig"]), isQueued: () => false, watch: () => undefined };
  /** Ids, in the order their turns were let out. */
  readonly released: string[] = [];
  readonly rejected: string[] = [];
  lostBy: unknown;
  losses = 0;
  /** Called when a turn is let out. */
  onRelease: ((actor: InstanceActor) => void) | undefined;
  readonly #lane: Lane | undefined;
  readonly #actors: InstanceActor[] = [];

  constructor(number: number, claim: ShardClaim, lane?: Lane) {
    this.token = new FencingToken(number, claim);
    this.#lane = lane;
    lane?.enter(this);
  }

  actor(id: string): InstanceActor {
    const actor = new DagActor(this, definition, id, this.token.newKey());
    this.#actors.push(actor);
    return actor;
  }

  /** Resolves when the instance is durable. */
  async start(actor: InstanceActor, origin?: Origin): Promise<void> {
    const { name: workflow, version } = definition;
    await tell(actor, { type: "StartInstance", workflow, version, generation: 1, context: {}, ...api }, origin);
  }

  async startNew(id: string): Promise<InstanceActor> {
    const actor = this.actor(id);
    await this.start(actor);
    return actor;
  }

  /** The attempt of an instance that has its one task scheduled. */
  run(actor: InstanceActor): InstanceTaskRun {
    return new InstanceTaskRun(actor, 0, false);
  }

  resolveJob(): string {
    return "work";
  }

  async readPayloads(): Promise<string[]> {
    return [];
  }

  async readHistory(): Promise<[]> {
    return [];
  }

  schedule(actor: InstanceActor, urgency: "now" | "later"): void {
    this.#lane?.schedule(actor, urgency);
  }

  onReadFailed(_: InstanceActor, error: unknown): void {
    throw error;
  }

  trackDelegated(run: InstanceTaskRun): void {
    throw new Error(`${run.attemptId} has nowhere else to run`);
  }

  openTurn(actor: InstanceActor, now: number): ActorTurn {
    return actor.openTurn(now, 0.5);
  }

  consume(origins: readonly Origin[]): OffsetRow[] {
    const bySource = Map.groupBy(origins, ({ source }) => source);
    return Array.from(bySource, ([source, read]) => {
      return { shard: this.token.shard, source, number: Math.max(...read.map(({ number }) => number)) };
    });
  }

  releaseTurn(turn: ActorTurn): void {
    turn.actor.onCommitted(turn);
    this.released.push(turn.actor.id);
    turn.actor.endTurn();
    turn.reply();
    this.onRelease?.(turn.actor);
  }

  rejectTurn(turn: ActorTurn, error: unknown): void {
    this.rejected.push(turn.actor.id);
    turn.fail(error);
  }

  lose(error: unknown): void {
    this.losses++;
    this.lostBy = error;
    this.#lane?.leave(this);
    for (const { reply } of this.#actors.flatMap((actor) => actor.abandonInbox())) reply?.reject(error);
  }

  get isFenced(): boolean {
    return hasCode(this.lostBy, "STORE_FENCED");
  }
}

const api = { trigger: "api", admission: "run" } as const;

/** Resolves when what it led to is durable. */
export function tell(actor: InstanceActor, input: Input, origin?: Origin): Promise<void> {
  const reply = Promise.withResolvers<void>();
  actor.tell(origin === undefined ? { input, reply } : { input, reply, origin });
  return reply.promise;
}

/** Resolves when it is let out, which is no sooner than what was told before. */
export function ask(actor: InstanceActor): Promise<void> {
  const reply = Promise.withResolvers<void>();
  actor.tell({ query: () => undefined, reply });
  return reply.promise;
}

/** How a promise has settled: `done`, or the code of its error. */
export async function outcomeOf(promise: Promise<unknown>): Promise<string> {
  try {
    await promise;
    return "done";
  } catch (error) {
    return error instanceof EngineError ? error.code : String(error);
  }
}

/** How each has settled by now, or that it is `waiting`. */
export async function outcomes(clock: TestClock, promises: readonly Promise<unknown>[]): Promise<string[]> {
  const seen = promises.map(() => "waiting");
  for (const [place, promise] of promises.entries()) void outcomeOf(promise).then((outcome) => (seen[place] = outcome));
  await clock.settle();
  return seen;
}
