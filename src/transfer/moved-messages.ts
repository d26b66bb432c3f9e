import { createHash, type Hash } from "node:crypto";
import { EngineError } from "../base/error.ts";
import type { MaxInstances } from "../kernel/dag/dag-spec.ts";
import type { EnterGate, OutboxMessage } from "../runtime/outbox.ts";
import { gateAddress } from "../runtime/shared-gates.ts";
import { shardOfKey } from "../stores/instance-key.ts";
import type { OutboxRow } from "../stores/store.ts";
import type { WaitingInstance } from "./import-ledger.ts";
import type { TargetStore } from "./target-store.ts";

/**
 * Writes outbox messages into the target store. They are renumbered per pair of shards, continuing after the last number
 * ever sent there, in the order they come. The source of a message is the new shard of its sender, so that the sender's
 * next messages come after it.
 */
export class MovedMessages {
  readonly #target: TargetStore;
  readonly #lastNumbers: Map<string, number>;
  readonly #hashes = new Map<string, Hash>();

  private constructor(target: TargetStore, lastNumbers: Map<string, number>) {
    this.#target = target;
    this.#lastNumbers = lastNumbers;
  }

  static async into(target: TargetStore): Promise<MovedMessages> {
    const lastNumbers = new Map<string, number>();
    for (let source = 0; source < target.shardCount; source++) {
      for (const sent of await target.store.loadSent(source)) lastNumbers.set(pairOf(source, sent.target), sent.number);
    }
    return new MovedMessages(target, lastNumbers);
  }

  /** `source` is the shard of the export; it counts only for a message without a sender. */
  async write(message: OutboxMessage, source: number): Promise<void> {
    await this.#write(message, message.from === 0 ? source % this.#target.shardCount : shardOfKey(message.from));
  }

  /** Applies for a place at the workflow's gate in the new store, which does not know the waiting instance yet. */
  async ask({ key: from, id: instanceId, workflow }: WaitingInstance, limit: MaxInstances): Promise<void> {
    const to = gateAddress(workflow);
    const message: EnterGate = { kind: "enter-gate", from, to, workflow, instanceId, limit, isReopened: false };
    await this.#write(message, shardOfKey(from));
  }

  async #write(message: OutboxMessage, source: number): Promise<void> {
    const target = this.#target.shardOf(message.to);
    const pair = pairOf(source, target);
    const number = (this.#lastNumbers.get(pair) ?? this.#target.numberBefore) + 1;
    this.#lastNumbers.set(pair, number);
    const row: OutboxRow = { source, target, number, body: JSON.stringify(message) };
    add(this.#hashes, row);
    await this.#target.put(source, { outbox: [row] }, row.body.length);
  }

  /** `STORE_CORRUPT` if the store's messages are not those that were written. */
  async readBack(): Promise<void> {
    const found = new Map<string, Hash>();
    for (let shard = 0; shard < this.#target.shardCount; shard++) {
      for (const row of await this.#target.store.loadOutbox([shard])) add(found, row);
    }
    const isSame = found.size === this.#hashes.size && digests(found) === digests(this.#hashes);
    if (!isSame)
      throw new EngineError(
        "STORE_CORRUPT",
        "the import failed: the messages in the store are not those that were written to it",
      );
  }
}

function pairOf(source: number, target: number): string {
  return `${source}/${target}`;
}

/** Messages of one pair of shards come in order; pairs come in any order, so each has its own hash. */
function add(hashes: Map<string, Hash>, { source, target, number, body }: OutboxRow): void {
  const pair = pairOf(source, target);
  let hash = hashes.get(pair);
  if (hash === undefined) hashes.set(pair, (hash = createHash("sha256")));
  hash.update(JSON.stringify([number, body]));
}

function digests(hashes: ReadonlyMap<string, Hash>): string {
  const lines = Array.from(hashes, ([pair, hash]) => `${pair} ${hash.copy().digest("hex")}`);
  return lines.sort().join("\n");
}
