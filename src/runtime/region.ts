import { messageOf } from "../base/error.ts";
import type { DagMachine } from "../kernel/dag/dag-machine.ts";
import type { Input } from "../kernel/input.ts";
import { hasEnded } from "../kernel/status.ts";
import { shardOfKey } from "../stores/instance-key.ts";
import { noChanges, type OutboxRow } from "../stores/store.ts";
import type { Definition } from "./definitions.ts";
import type { InstanceActor } from "./instance-actor.ts";
import type { InstanceEntry } from "./instance-entry.ts";
import type { CommittedTurn } from "./message.ts";
import type { Letter } from "./outbox.ts";
import { Shard, type ShardParts, type StartRequest } from "./shard.ts";
import { type UnfinishedInstance, WorkflowGates } from "./workflow-gate.ts";

type RegionParts = Omit<ShardParts, "gates" | "shardOf" | "post" | "acknowledge" | "hasSubscribers" | "publish">;

export interface RegionCounts {
  readonly unfinished: number;
  readonly inMemory: number;
  readonly parked: number;
  readonly droppedReports: number;
  /** Ids of instances that have made no progress since they were found to be stuck. */
  readonly stuck: readonly string[];
}

export type TurnListener = (turn: CommittedTurn) => void;

/** Where any instance is found: an id belongs to a shard, a shard to its owner. Here one member owns them all. */
export class Region {
  readonly #shards: readonly Shard[];
  readonly #parts: RegionParts;
  readonly #gates: WorkflowGates;
  readonly #listeners = new Set<TurnListener>();

  constructor(shardCount: number, parts: RegionParts) {
    this.#parts = parts;
    this.#gates = new WorkflowGates({
      unfinished: (workflow) => this.#unfinished(workflow),
      admit: (workflow, id) => void this.#admit(workflow, id),
    });
    const listeners = this.#listeners;
    const shared: ShardParts = {
      ...parts,
      gates: this.#gates,
      shardOf: (id) => this.#shardNumber(id),
      post: (row, letter) => this.#post(row, letter),
      acknowledge: (source, target, number) => this.#shards[source]?.outbox.acknowledged(target, number),
      get hasSubscribers() {
        return listeners.size > 0;
      },
      publish: (turn) => {
        for (const listener of listeners) listener(turn);
      },
    };
    this.#shards = Array.from({ length: shardCount }, (_, number) => new Shard(number, shared));
  }

  /** Takes over every shard; what was unfinished goes on by itself. */
  async open(): Promise<void> {
    const resumes = [];
    for (const shard of this.#shards) resumes.push(await shard.open());
    const letters: OutboxRow[] = [];
    for (const shard of this.#shards) {
      const marks = new Map(this.#shards.map((target) => [target.number, target.markOf(shard.number)]));
      letters.push(...(await shard.reopenOutbox(marks)));
    }
    // Only now, when every shard knows which numbers its letters had: a letter that is read may lead to others.
    for (const resume of resumes) resume();
    for (const row of letters) this.#post(row, JSON.parse(row.body) as Letter);
    await this.#restoreGates();
  }

  async close(): Promise<void> {
    for (const shard of this.#shards) await shard.close();
  }

  giveUp(): void {
    for (const shard of this.#shards) shard.giveUp();
  }

  start(request: StartRequest): Promise<void> {
    return this.#shardOf(request.id).start(request);
  }

  /** Resolves when what it led to is durable; `EngineError` if it is refused. */
  tell(id: string, input: (machine: DagMachine) => Input): Promise<void> {
    return this.#shardOf(id).tell(id, input);
  }

  ask<T>(id: string, query: (machine: DagMachine, actor: InstanceActor) => T): Promise<T> {
    return this.#shardOf(id).ask(id, query);
  }

  awaitEnd(id: string): Promise<InstanceActor> {
    return this.#shardOf(id).awaitEnd(id);
  }

  isParked(id: string): boolean {
    return this.#shardOf(id).isParked(id);
  }

  unpark(id: string): Promise<void> {
    return this.#shardOf(id).unpark(id);
  }

  /** Its state in memory, if it is there. */
  peek(id: string): DagMachine | undefined {
    return this.#shardOf(id).peek(id);
  }

  /** How many run, when one more that a user reopens would pass its workflow's maximum. */
  fullFor(workflow: string): number | undefined {
    return this.#gates.fullFor(workflow);
  }

  /** Makes definitions durable ahead of the turn that refers to them. */
  async saveDefinitions(definitions: readonly Definition[]): Promise<void> {
    const now = this.#parts.clock.now();
    const rows = definitions.flatMap((definition) => this.#parts.definitions.unstored(definition, now) ?? []);
    if (rows.length === 0) return;
    await this.#shards[0]?.commit({ ...noChanges(), definitions: [...new Set(rows)] });
    for (const { name, version } of rows) this.#parts.definitions.stored(name, version);
  }

  /** Of ended instances. Gives back how many are gone. */
  async purge(instances: readonly { key: number; id: string }[]): Promise<number> {
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
    return this.#shards.flatMap((shard) => shard.sweep(options));
  }

  get counts(): RegionCounts {
    const counts = { unfinished: 0, inMemory: 0, parked: 0, droppedReports: 0, stuck: new Array<string>() };
    for (const shard of this.#shards) {
      counts.droppedReports += shard.droppedReports;
      for (const entry of shard.entries) {
        if (!hasEnded(entry.status)) counts.unfinished++;
        if (entry.actor !== undefined) counts.inMemory++;
        if (entry.parked !== undefined) counts.parked++;
        if (entry.isReportedStuck) counts.stuck.push(entry.id);
      }
    }
    return counts;
  }

  #shardOf(id: string): Shard {
    return this.#shards[this.#shardNumber(id)] as Shard;
  }

  #shardNumber(id: string): number {
    return this.#shards.length === 1 ? 0 : fnv1a(id) % this.#shards.length;
  }

  #post(row: OutboxRow, letter: Letter): void {
    this.#shards[row.target]?.receive(row, letter);
  }

  *#unfinished(workflow: string): Iterable<UnfinishedInstance> {
    for (const shard of this.#shards) {
      for (const { id, workflow: of, status, parked } of shard.entries) {
        const isWaiting = status === "Ready";
        if (of === workflow && !(isWaiting && parked !== undefined)) yield { id, isWaiting };
      }
    }
  }

  async #restoreGates(): Promise<void> {
    const waiting = new Map<string, string>();
    for (const shard of this.#shards) {
      for (const { workflow, status, id, parked } of shard.entries) {
        if (status === "Ready" && parked === undefined) waiting.set(workflow, id);
      }
    }
    for (const [workflow, id] of waiting) {
      const limit = await this.ask(id, (_, actor) => actor.definition.spec.maxInstances);
      this.#gates.restore(workflow, limit);
    }
  }

  /** One that cannot take its place leaves it to the next. */
  async #admit(workflow: string, id: string): Promise<void> {
    try {
      await this.#shardOf(id).tellInstance(id, { input: { type: "AdmitWorkflow" } });
    } catch (error) {
      this.#gates.left(workflow, id);
      this.#parts.logger.error({ instanceId: id, error: messageOf(error) }, "a waiting instance could not be admitted");
    }
  }
}

/** A fixed hash: which shard an id belongs to must never change. */
function fnv1a(text: string): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
  return hash >>> 0;
}
