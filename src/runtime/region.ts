import { assert } from "../base/assert.ts";
import { EngineError, messageOf } from "../base/error.ts";
import { instanceFields, namespaceOf, qualify } from "../base/namespace.ts";
import type { Machine } from "../kernel/machine.ts";
import { shardOfId, shardOfKey } from "../stores/instance-key.ts";
import { Fenced, type OutboxRow, type ShardClaim, type ShardRow } from "../stores/store.ts";
import { type AttemptHosting, instanceOf } from "./delegated-attempts.ts";
import type { AttemptProgress, Hint } from "./call.ts";
import type { CodeHost } from "../dispatch/code-host.ts";
import type { NeededCode } from "../dispatch/code-hosts.ts";
import { CodeActor } from "./code-actor.ts";
import { noHosting } from "./hosted-attempts.ts";
import { restoreGates, unfinishedInstances } from "./gated-instances.ts";
import { EndedMaps } from "./ended-maps.ts";
import { IdleActors } from "./idle-actors.ts";
import { countInstances, type InstanceCounts } from "./instance-counts.ts";
import type { InstanceTaskRun } from "./instance-task-run.ts";
import type { InstanceEntry } from "./instance-entry.ts";
import { Lane } from "./lane.ts";
import type { CommittedTurn } from "./message.ts";
import { retryWhileUnavailable } from "./retry-while-unavailable.ts";
import type { ShardParts } from "./shard-parts.ts";
import { Shard } from "./shard.ts";
import { shardMoved } from "./shard-moved.ts";
import { comparePlaces, placeOf, type QueuePlace } from "./queue-place.ts";
import { type CountedWait, countWaitsOf } from "./count-waits.ts";
import type { WaitingTask } from "./waiting-task.ts";
import { WorkflowGates } from "./workflow-gate.ts";

type OwnParts =
  | "gates"
  | "idle"
  | "endedMaps"
  | "sharesInstances"
  | "shardOf"
  | "post"
  | "hasSubscribers"
  | "publish"
  | "onLost"
  | "hosting";

export interface RegionParts extends Omit<ShardParts, OwnParts> {
  /** Limit of idle instances in memory. */
  readonly idleMax: number;
  /** Maximum number of concurrent commits. */
  readonly laneCount: number;
  /** The name under which shards are claimed. */
  owner(): string;
  /** Called with the reason when nothing can be written, and with undefined when it can again. */
  onHealth(problem: unknown): void;
  /** Called when another owner has claimed a shard. */
  onFenced(shard: number, error: unknown): void;
  /** Absent where one member owns every shard. */
  readonly cluster?: RegionCluster;
  /** Attempts outside this process, where one member owns every shard. Default: there are none. */
  readonly hosting?: AttemptHosting;
}

/** The other members, as far as a region needs them. */
export interface RegionCluster {
  readonly hostedAttempts: AttemptHosting;
  /** Sends a hint to the shard's owner, if it is known; it may get lost. */
  hintOwner(shard: number, hint: Hint): void;
}

export type TurnListener = (turn: CommittedTurn) => void;

/**
 * The shards of this member: opens, releases and loses them, and passes messages between them. An instance id belongs to a
 * shard, a shard to its owner. One member alone owns all shards. Calls to instances go through `CallClient`.
 */
export class Region {
  readonly #parts: RegionParts;
  readonly #shardParts: ShardParts;
  readonly #lanes: readonly Lane[];
  /** Shards by number; undefined for those that are not open here. */
  readonly #shards: (Shard | undefined)[];
  readonly #gates: WorkflowGates;
  readonly #listeners = new Set<TurnListener>();
  /** Reasons why nothing can be written, by lane, and for the files of the store. */
  readonly #problems = new Map<number | "files", unknown>();
  /** Counts calls of `loseAll`: a shard that was being opened during one is lost too. */
  #losses = 0;
  #shardsOpened = 0;

  constructor(parts: RegionParts) {
    this.#parts = parts;
    const { shardCount, laneCount } = parts;
    this.#shards = Array.from({ length: shardCount }, () => undefined);
    this.#lanes = Array.from({ length: Math.min(laneCount, shardCount) }, (_, lane) => {
      return new Lane({ ...parts, onHealth: (problem) => this.#onHealth(lane, problem) });
    });
    this.#gates = new WorkflowGates({
      unfinished: (workflow) => unfinishedInstances(this.#open(), workflow),
      admit: (workflow, id) => void this.#admit(workflow, id),
    });
    const listeners = this.#listeners;
    this.#shardParts = {
      ...parts,
      gates: this.#gates,
      idle: new IdleActors(parts.idleMax),
      endedMaps: new EndedMaps(),
      sharesInstances: parts.cluster !== undefined,
      hosting: parts.cluster?.hostedAttempts ?? parts.hosting ?? noHosting,
      shardOf: (id) => this.shardOf(id),
      post: (row) => this.#post(row),
      onLost: (shard, error) => this.#onLost(shard, error),
      get hasSubscribers() {
        return listeners.size > 0;
      },
      publish: (turn) => {
        for (const listener of listeners) listener(turn);
      },
    };
  }

  // Shards

  /** Claims every shard, for one member alone, and resumes unfinished instances. `STORE_LOCKED`. */
  async open(): Promise<void> {
    const shards: Shard[] = [];
    for (let number = 0; number < this.#shards.length; number++) {
      const claim = await this.#parts.store.claimShard(number, this.#parts.owner());
      if (claim === undefined) {
        throw new EngineError("STORE_LOCKED", `shard ${number} belongs to a member of a cluster that is running`);
      }
      const shard = this.#make(number, claim);
      await shard.opening.load();
      shards.push(shard);
    }
    for (const shard of shards) this.#shards[shard.number] = shard;
    for (const shard of shards) shard.opening.resume();
    await this.#fetchMessagesOf(shards);
    await restoreGates(this.#gates, this.#open());
  }

  /** Claims a shard and restores its unfinished instances. `taken`: a living member owns it. */
  async openShard(number: number): Promise<"open" | "taken"> {
    const owner = this.#parts.owner();
    const losses = this.#losses;
    const isOver = (): boolean => owner !== this.#parts.owner() || losses !== this.#losses;
    let first: ShardClaim | undefined;
    const open = async (): Promise<"open" | "taken"> => {
      // Every try has its own claim: a late write of the try before must not use the batch numbers of this one.
      const claim = await this.#parts.store.claimShard(number, owner);
      if (claim === undefined) return "taken";
      first ??= claim;
      const { released, previousOwner } = first;
      await this.#openClaimed(number, { ...claim, released, previousOwner }, isOver);
      return "open";
    };
    return await retryWhileUnavailable(this.#parts.clock, open, () => first === undefined || isOver());
  }

  async #openClaimed(number: number, claim: ShardClaim, isOver: () => boolean): Promise<void> {
    const shard = this.#make(number, claim);
    try {
      await shard.opening.load();
      if (isOver()) throw shardMoved(number);
    } catch (error) {
      shard.lose(error);
      throw error;
    }
    this.#shards[number] = shard;
    this.#shardsOpened++;
    shard.opening.resume();
    void this.fetchMessages([number]);
  }

  /** Releases a shard cleanly. Running attempts continue, and are reported to the next owner. */
  async releaseShard(number: number): Promise<void> {
    const shard = this.#shards[number];
    this.#shards[number] = undefined;
    await shard?.close(shardMoved(number));
  }

  /**
   * Loses shards that the store shows under a later epoch: they were claimed since. Even this member may have claimed them,
   * by a request that it gave up and that landed late. A shard with nothing to write would never be fenced.
   */
  followEpochs(rows: readonly ShardRow[]): void {
    for (const { shard: number, epoch } of rows) {
      const shard = this.#shards[number];
      if (shard === undefined || epoch <= shard.token.epoch) continue;
      shard.lose(new Fenced([number], `Shard ${number} was claimed under epoch ${epoch}, after ${shard.token.epoch}.`));
    }
  }

  /** Loses all shards: the cluster has removed this member, so others own them. */
  loseAll(error: unknown): void {
    this.#losses++;
    // A store that went back to the time before this member joined lacks definitions that were saved since.
    this.#parts.definitions.forgetStored();
    for (const shard of this.#open()) shard.lose(error);
  }

  async close(): Promise<void> {
    for (const shard of this.#open()) {
      await shard.close(new EngineError("ENGINE_STATE", "the engine was stopped"));
    }
  }

  /** Gives up commits that wait for a store that is away. */
  giveUp(): void {
    for (const lane of this.#lanes) lane.giveUp();
  }

  /** The epoch of a shard that is open here. */
  epochOf(number: number): number | undefined {
    return this.#shards[number]?.token.epoch;
  }

  /** Counts the shards that this member has taken over so far, be it for a second time. */
  get shardsOpened(): number {
    return this.#shardsOpened;
  }

  shardOf(id: string): number {
    return shardOfId(id, this.#shards.length);
  }

  /** Reads messages from the outboxes in the store, in case they were not delivered. */
  async fetchMessages(numbers: readonly number[]): Promise<void> {
    try {
      await this.#fetchMessagesOf(numbers.flatMap((number) => this.#shards[number] ?? []));
    } catch (error) {
      this.#parts.logger.debug(
        { error: messageOf(error) },
        "messages could not be read from the store; the next poll tries again",
      );
    }
  }

  /** Takes back an attempt that a worker has brought to this member. Undefined if its shard does not wait for it. */
  reclaimAttempt(number: number, attemptId: string, worker: string): InstanceTaskRun | undefined {
    return this.#shards[number]?.delegatedAttempts.reclaim(attemptId, worker);
  }

  /** Notes the progress of attempts of this member that another one hosts. */
  noteProgress(host: string, reports: readonly AttemptProgress[]): void {
    for (const { attemptId, progress } of reports) {
      const shard = this.#shards[this.shardOf(instanceOf(attemptId))];
      shard?.delegatedAttempts.noteProgress(attemptId, host, progress);
    }
  }

  /** Runs attempts again that other members hosted and that are lost by now. */
  sweepDelegatedAttempts(): void {
    for (const shard of this.#open()) shard.delegatedAttempts.sweep();
  }

  // Instances

  shardOfDomain(domain: string): number {
    return this.shardOf(`domain:${domain}`);
  }

  /** The machine of an instance that is in memory here. */
  peek(id: string): Machine | undefined {
    return this.#shards[this.shardOf(id)]?.instances.peek(id);
  }

  /** Resumes instances of a workflow that was registered, and instances whose code waits to start it. */
  onWorkflowRegistered(name: string, version: string): void {
    for (const shard of this.#open()) {
      for (const { actor } of shard.instances.entries) {
        if (!(actor instanceof CodeActor)) continue;
        const isItsCode = actor.definition.name === name && actor.definition.version === version;
        if (isItsCode || actor.code.lacking === name) actor.onCodeRegistered();
      }
    }
  }

  /** Resumes instances whose code was stopped, because a host with code has connected. */
  onCodeHosted(host: CodeHost): void {
    for (const shard of this.#open()) {
      for (const { actor } of shard.instances.entries) if (actor instanceof CodeActor) actor.onCodeHosted(host);
    }
  }

  /** The code of instances that was stopped, and is not in this process. */
  stoppedCode(): NeededCode[] {
    const stopped = new Map<string, NeededCode>();
    for (const shard of this.#open()) {
      for (const { actor } of shard.instances.entries) {
        if (!(actor instanceof CodeActor) || actor.code.remote === undefined || actor.attention === undefined) continue;
        const { name: workflow, version } = actor.definition;
        stopped.set(`${version} ${workflow}`, { workflow, version });
      }
    }
    return [...stopped.values()];
  }

  /** Removes those of the ended instances that live on shards of this member. */
  async purgeOwn(instances: readonly { key: number; id: string }[]): Promise<number> {
    let gone = 0;
    for (const [number, group] of Map.groupBy(instances, ({ key }) => shardOfKey(key))) {
      gone += (await this.#shards[number]?.purge(group)) ?? 0;
    }
    return gone;
  }

  subscribe(listener: TurnListener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  sweep(options: { idleBefore: number; stuckBefore: number }): InstanceEntry[] {
    return this.#open().flatMap((shard) => shard.sweep(options));
  }

  /** Lists instances that have something under way and have made no progress since then. */
  listStuck(namespace: string, before: number): InstanceEntry[] {
    const isStuck = (entry: InstanceEntry): boolean => entry.isStuck(before) && namespaceOf(entry.id) === namespace;
    return this.#open().flatMap((shard) => [...shard.instances.entries].filter(isStuck));
  }

  /** Deletes keys of calls that nobody repeats any more. */
  async forgetRequests(before: number): Promise<void> {
    for (const shard of this.#open()) await shard.commit({ requestsForgotten: [{ shard: shard.number, before }] });
  }

  /** Counts tasks that wait inside instances; shards keep the sum turn by turn. */
  get waitingCount(): number {
    return this.#open().reduce((count, shard) => count + shard.instances.waitingCount, 0);
  }

  /** Lists tasks that wait inside instances of a namespace, in the order of their places, at least `limit` if there are as many. */
  async listWaiting(
    namespace: string,
    { limit, after }: { readonly limit: number; readonly after: QueuePlace | undefined },
  ): Promise<WaitingTask[]> {
    const first = after && qualify(namespace, after.instanceId);
    const isWanted = ({ id, waitingTasks }: InstanceEntry): boolean =>
      waitingTasks > 0 && namespaceOf(id) === namespace && (first === undefined || id >= first);
    const found = this.#open().flatMap(({ instances }) =>
      Array.from(instances.entries).flatMap((entry) => (isWanted(entry) ? [{ instances, entry }] : [])),
    );
    found.sort((a, b) => (a.entry.id < b.entry.id ? -1 : 1));
    let count = 0;
    const page = found.filter(({ entry }) => {
      if (count >= limit) return false;
      // Tasks of the first instance may have been on the page before.
      if (entry.id !== first) count += entry.waitingTasks;
      return true;
    });
    const lists = await Promise.all(page.map(({ instances, entry }) => instances.listWaiting(entry.id)));
    return lists.flat().filter((task) => after === undefined || comparePlaces(placeOf(task), after) > 0);
  }

  /** Counts tasks that wait inside instances, of one namespace or of all; no instance is loaded for it. */
  countWaits(namespace: string | undefined, count: (wait: CountedWait) => void): void {
    for (const shard of this.#open()) {
      for (const entry of shard.instances.entries) {
        const isWanted = entry.waitingTasks > 0 && (namespace === undefined || namespaceOf(entry.id) === namespace);
        if (isWanted) countWaitsOf(entry, count);
      }
    }
  }

  get counts(): InstanceCounts {
    return countInstances(this.#open());
  }

  /** The shard, if it is open here. */
  find(number: number): Shard | undefined {
    return this.#shards[number];
  }

  /** `ENGINE_STATE` if the shard is not open here. */
  mustFind(number: number): Shard {
    const shard = this.#shards[number];
    if (shard === undefined) throw new EngineError("ENGINE_STATE", "the engine is not running");
    return shard;
  }

  #make(number: number, claim: ShardClaim): Shard {
    const lane = this.#lanes[number % this.#lanes.length];
    assert(lane !== undefined, "every shard has a lane");
    return new Shard(number, { claim, lane, parts: this.#shardParts });
  }

  #open(): Shard[] {
    return this.#shards.filter((shard) => shard !== undefined);
  }

  #onLost(shard: { readonly number: number }, error: unknown): void {
    if (this.#shards[shard.number] !== shard) return;
    // An engine alone that is fenced keeps its shard, which refuses everything with the reason.
    if (this.#parts.cluster !== undefined) this.#shards[shard.number] = undefined;
    this.#parts.onFenced(shard.number, error);
  }

  /** Notes a problem that no commit has met, such as a deleted database file; undefined when it is over. */
  reportProblem(problem: unknown): void {
    this.#onHealth("files", problem);
  }

  #onHealth(source: number | "files", problem: unknown): void {
    if (problem === undefined) this.#problems.delete(source);
    else this.#problems.set(source, problem);
    this.#parts.onHealth(this.#problems.values().next().value);
  }

  #post(row: OutboxRow): void {
    const target = this.#shards[row.target];
    if (target === undefined) this.#parts.cluster?.hintOwner(row.target, { type: "OutboxMessage", row });
    else this.receive(row);
  }

  /** Takes in a message for an instance, if its shard is open here. */
  receive(row: OutboxRow): void {
    const shard = this.#shards[row.target];
    if (shard !== undefined && !shard.receive(row)) void this.fetchMessages([row.target]);
  }

  async #fetchMessagesOf(shards: readonly Shard[]): Promise<void> {
    if (shards.length === 0) return;
    const rows = await this.#parts.store.loadOutbox(shards.map(({ number }) => number));
    const byTarget = Map.groupBy(rows, ({ target }) => target);
    for (const shard of shards) shard.inbound.noteOutbox(byTarget.get(shard.number) ?? []);
    for (const row of rows) this.#shards[row.target]?.receive(row);
  }

  /** Admits a waiting instance. If it cannot be admitted, the next one gets its place. */
  async #admit(workflow: string, id: string): Promise<void> {
    try {
      await this.mustFind(this.shardOf(id)).instances.deliver(id, { input: { type: "AdmitInstance" } });
    } catch (error) {
      this.#gates.leave(workflow, id);
      this.#parts.logger.error(
        { ...instanceFields(id), error: messageOf(error) },
        "a waiting instance could not be admitted",
      );
    }
  }
}
