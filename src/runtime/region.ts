import { assert } from "../base/assert.ts";
import { EngineError, messageOf } from "../base/error.ts";
import type { Machine } from "../kernel/machine.ts";
import { hasEnded } from "../kernel/status.ts";
import { shardOfId, shardOfKey } from "../stores/instance-key.ts";
import { Fenced, type OutboxRow, type ShardClaim, type ShardRow } from "../stores/store.ts";
import type { AttemptHosts } from "./remote-attempts.ts";
import type { Hint } from "./call.ts";
import { CodeActor } from "./code-actor.ts";
import { noOtherHosts } from "./foreign-attempts.ts";
import { IdleActors } from "./idle-actors.ts";
import type { InstanceTaskRun } from "./instance-task-run.ts";
import type { InstanceEntry } from "./instance-entry.ts";
import { Lane } from "./lane.ts";
import type { CommittedTurn } from "./message.ts";
import { retryWhileUnavailable } from "./retry-while-unavailable.ts";
import { Shard, type ShardParts } from "./shard.ts";
import { shardMoved } from "./shard-moved.ts";
import type { WaitingTask } from "./waiting-task.ts";
import { type UnfinishedInstance, WorkflowGates } from "./workflow-gate.ts";

type OwnParts =
  | "gates"
  | "idle"
  | "sharesInstances"
  | "shardOf"
  | "post"
  | "hasSubscribers"
  | "publish"
  | "onLost"
  | "hosts";

export interface RegionParts extends Omit<ShardParts, OwnParts> {
  /** How many instances that wait for something stay in memory. */
  readonly idleMax: number;
  /** How many commits may be under way at a time. */
  readonly laneCount: number;
  /** As whom shards are claimed. */
  owner(): string;
  /** Why nothing can be written, or undefined when it can again. */
  onHealth(problem: unknown): void;
  /** Another owner has a shard. */
  onFenced(shard: number, error: unknown): void;
  /** Absent where one member owns every shard. */
  readonly cluster?: RegionCluster;
}

/** The other members, as far as a region needs them. */
export interface RegionCluster {
  readonly hosts: AttemptHosts;
  /** Sends a hint to the shard's owner, if it is known; it may get lost. */
  hintOwner(shard: number, hint: Hint): void;
}

export interface RegionCounts {
  readonly unfinished: number;
  readonly inMemory: number;
  readonly quarantined: number;
  /** Messages that no turn has taken yet. */
  readonly unread: number;
  readonly droppedReports: number;
  /** Ids of instances that have made no progress since they were found to be stuck. */
  readonly stuck: readonly string[];
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
  /** Those that are open here. */
  readonly #shards: (Shard | undefined)[];
  readonly #gates: WorkflowGates;
  readonly #listeners = new Set<TurnListener>();
  /** By lane, and of the store's files. */
  readonly #problems = new Map<number | "files", unknown>();
  /** How often everything was lost. What was being opened then is lost too. */
  #losses = 0;

  constructor(parts: RegionParts) {
    this.#parts = parts;
    const { shardCount, laneCount } = parts;
    this.#shards = Array.from({ length: shardCount }, () => undefined);
    this.#lanes = Array.from({ length: Math.min(laneCount, shardCount) }, (_, lane) => {
      return new Lane({ ...parts, onHealth: (problem) => this.#onHealth(lane, problem) });
    });
    this.#gates = new WorkflowGates({
      unfinished: (workflow) => this.#unfinished(workflow),
      admit: (workflow, id) => void this.#admit(workflow, id),
    });
    const listeners = this.#listeners;
    this.#shardParts = {
      ...parts,
      gates: this.#gates,
      idle: new IdleActors(parts.idleMax),
      sharesInstances: parts.cluster !== undefined,
      hosts: parts.cluster?.hosts ?? noOtherHosts,
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

  /** Takes every shard; what was unfinished goes on by itself. For one member alone. */
  async open(): Promise<void> {
    const shards: Shard[] = [];
    for (let number = 0; number < this.#shards.length; number++) {
      const claim = await this.#parts.store.claimShard(number, this.#parts.owner());
      if (claim === undefined) {
        throw new EngineError("STORE_LOCKED", `shard ${number} belongs to a member of a cluster that is running`);
      }
      const shard = this.#make(number, claim);
      await shard.load();
      shards.push(shard);
    }
    for (const shard of shards) this.#shards[shard.number] = shard;
    for (const shard of shards) shard.resume();
    await this.#fetchMessagesOf(shards);
    await this.#restoreGates();
  }

  /** Claims a shard and brings back what was unfinished. `taken`: a living member owns it. */
  async openShard(number: number): Promise<"open" | "taken"> {
    const owner = this.#parts.owner();
    const losses = this.#losses;
    const isOver = (): boolean => owner !== this.#parts.owner() || losses !== this.#losses;
    let first: ShardClaim | undefined;
    const open = async (): Promise<"open" | "taken"> => {
      // Another try has another claim: what the last one may still write must not take up its numbers.
      const claim = await this.#parts.store.claimShard(number, owner);
      if (claim === undefined) return "taken";
      first ??= claim;
      const { clean, previousOwner } = first;
      await this.#openClaimed(number, { ...claim, clean, previousOwner }, isOver);
      return "open";
    };
    return await retryWhileUnavailable(this.#parts.clock, open, () => first === undefined || isOver());
  }

  async #openClaimed(number: number, claim: ShardClaim, isOver: () => boolean): Promise<void> {
    const shard = this.#make(number, claim);
    try {
      await shard.load();
      if (isOver()) throw shardMoved(number);
    } catch (error) {
      shard.lose(error);
      throw error;
    }
    this.#shards[number] = shard;
    shard.resume();
    void this.fetchMessages([number]);
  }

  /** Gives a shard up in good order. Attempts that run go on, and are reported to whoever owns it next. */
  async releaseShard(number: number): Promise<void> {
    const shard = this.#shards[number];
    this.#shards[number] = undefined;
    await shard?.close(shardMoved(number));
  }

  /**
   * The store shows a later epoch of a shard that is open here: it was claimed since. That may have been this very member,
   * by a request that was given up and landed late; a shard with nothing to write would never find out.
   */
  followEpochs(rows: readonly ShardRow[]): void {
    for (const { shard: number, epoch } of rows) {
      const shard = this.#shards[number];
      if (shard === undefined || epoch <= shard.token.epoch) continue;
      shard.lose(new Fenced([number], `Shard ${number} was claimed under epoch ${epoch}, after ${shard.token.epoch}.`));
    }
  }

  /** This member is no longer who it was: whatever it owned is another's. */
  loseAll(error: unknown): void {
    this.#losses++;
    for (const shard of this.#open()) shard.lose(error);
  }

  async close(): Promise<void> {
    for (const shard of this.#open()) {
      await shard.close(new EngineError("ENGINE_STATE", "the engine was stopped"));
    }
  }

  /** Stops waiting for a store that does not come back. */
  giveUp(): void {
    for (const lane of this.#lanes) lane.giveUp();
  }

  /** Of a shard that is open here. */
  epochOf(number: number): number | undefined {
    return this.#shards[number]?.token.epoch;
  }

  shardOf(id: string): number {
    return shardOfId(id, this.#shards.length);
  }

  /** Looks for messages that did not come by themselves. */
  async fetchMessages(numbers: readonly number[]): Promise<void> {
    try {
      await this.#fetchMessagesOf(numbers.flatMap((number) => this.#shards[number] ?? []));
    } catch (error) {
      this.#parts.logger.debug({ error: messageOf(error) }, "messages could not be read; the next look will find them");
    }
  }

  isOpen(number: number): boolean {
    return this.#shards[number] !== undefined;
  }

  /** An attempt that was elsewhere has come to this member, which owns its shard. Undefined if it is not waited for. */
  takeBack(number: number, attemptId: string, worker: string): InstanceTaskRun | undefined {
    return this.#shards[number]?.remoteAttempts.reclaim(attemptId, worker);
  }

  /** Attempts that others hold, of shards that are open here: those that are lost by now run again. */
  sweepAttached(): void {
    for (const shard of this.#open()) shard.remoteAttempts.sweep();
  }

  // What may be asked of instances

  shardOfDomain(domain: string): number {
    return this.shardOf(`domain:${domain}`);
  }

  /** Its state in memory, if it is there. */
  peek(id: string): Machine | undefined {
    return this.#shards[this.shardOf(id)]?.peek(id);
  }

  /** How many run, when one more that a user reopens would pass its workflow's maximum. */
  fullFor(workflow: string): number | undefined {
    return this.#gates.fullFor(workflow);
  }

  /** Instances go on whose code the workflow is, or whose code waits to start it. */
  onWorkflowRegistered(name: string, version: string): void {
    for (const shard of this.#open()) {
      for (const { actor } of shard.entries) {
        if (!(actor instanceof CodeActor)) continue;
        const isItsCode = actor.definition.name === name && actor.definition.version === version;
        if (isItsCode || actor.lacking === name) actor.codeCame();
      }
    }
  }

  /** Of ended instances, those that live here. */
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

  /** Instances of this member that have something under way and have made no progress since then. */
  listStuck(before: number): InstanceEntry[] {
    return this.#open().flatMap((shard) => [...shard.entries].filter((entry) => entry.isStuck(before)));
  }

  /** Keys of requests that nobody repeats any more. */
  async forgetRequests(before: number): Promise<void> {
    for (const shard of this.#open()) await shard.commit({ requestsForgotten: [{ shard: shard.number, before }] });
  }

  /** What waits inside instances; a sum over shards, which keep it turn by turn. */
  get waitingCount(): number {
    return this.#open().reduce((count, shard) => count + shard.waitingCount, 0);
  }

  /** At most so many. */
  async listWaiting(limit: number): Promise<WaitingTask[]> {
    const tasks: WaitingTask[] = [];
    for (const shard of this.#open()) {
      if (tasks.length >= limit) break;
      tasks.push(...(await shard.listWaiting(limit - tasks.length)));
    }
    return tasks.slice(0, limit);
  }

  get counts(): RegionCounts {
    const counts = {
      unfinished: 0,
      inMemory: 0,
      quarantined: 0,
      unread: 0,
      droppedReports: 0,
      stuck: new Array<string>(),
    };
    for (const shard of this.#open()) {
      counts.droppedReports += shard.droppedReports;
      for (const entry of shard.entries) {
        if (!hasEnded(entry.status)) counts.unfinished++;
        if (entry.actor !== undefined) counts.inMemory++;
        counts.unread += entry.actor?.inbox.length ?? 0;
        if (entry.quarantined !== undefined) counts.quarantined++;
        if (entry.isReportedStuck) counts.stuck.push(entry.id);
      }
    }
    return counts;
  }

  /** The shard, if it is open here. */
  find(number: number): Shard | undefined {
    return this.#shards[number];
  }

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

  #onLost(shard: Shard, error: unknown): void {
    if (this.#shards[shard.number] !== shard) return;
    // One member alone that has lost its data refuses everything from now on, and says why.
    if (this.#parts.cluster !== undefined) this.#shards[shard.number] = undefined;
    this.#parts.onFenced(shard.number, error);
  }

  /** A problem that no lane has met, such as a database file that was deleted; undefined when it is over. */
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

  /** A message for an instance of a shard that may be open here. */
  receive(row: OutboxRow): void {
    const shard = this.#shards[row.target];
    if (shard !== undefined && !shard.receive(row)) void this.fetchMessages([row.target]);
  }

  async #fetchMessagesOf(shards: readonly Shard[]): Promise<void> {
    if (shards.length === 0) return;
    const rows = await this.#parts.store.loadOutbox(shards.map(({ number }) => number));
    const byTarget = Map.groupBy(rows, ({ target }) => target);
    for (const shard of shards) shard.looked(byTarget.get(shard.number) ?? []);
    for (const row of rows) this.#shards[row.target]?.receive(row);
  }

  *#unfinished(workflow: string): Iterable<UnfinishedInstance> {
    for (const shard of this.#open()) {
      for (const { id, workflow: of, status, quarantined } of shard.entries) {
        const isWaiting = status === "Ready";
        if (of === workflow && !(isWaiting && quarantined !== undefined)) yield { id, isWaiting };
      }
    }
  }

  async #restoreGates(): Promise<void> {
    const waiting = new Map<string, string>();
    for (const shard of this.#open()) {
      for (const { workflow, status, id, quarantined } of shard.entries) {
        if (status === "Ready" && quarantined === undefined) waiting.set(workflow, id);
      }
    }
    for (const [workflow, id] of waiting) {
      const shard = this.mustFind(this.shardOf(id));
      const limit = await shard.ask(id, (_, actor) => actor.definition.spec.maxInstances);
      this.#gates.restore(workflow, limit);
    }
  }

  /** One that cannot take its place leaves it to the next. */
  async #admit(workflow: string, id: string): Promise<void> {
    try {
      await this.mustFind(this.shardOf(id)).tellInstance(id, { input: { type: "AdmitInstance" } });
    } catch (error) {
      this.#gates.left(workflow, id);
      this.#parts.logger.error({ instanceId: id, error: messageOf(error) }, "a waiting instance could not be admitted");
    }
  }
}
