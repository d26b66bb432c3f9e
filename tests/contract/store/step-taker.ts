import { viewWithoutEpochs, withoutEpochs } from "./subject.ts";
import { unreachable } from "../../../src/base/assert.ts";
import { EngineError } from "../../../src/base/error.ts";
import { Fenced } from "../../../src/stores/store.ts";
import type { Fence, Store } from "../../../src/stores/store.ts";
import { mailboxes } from "./random-steps.ts";
import type { RandomFence, Step } from "./random-steps.ts";

/** Takes random steps on a store, and remembers of each shard what its last owner knows. */
export class StepTaker {
  readonly #store: Store;
  readonly #claims = new Map<number, { epoch: number; batch: number }>();

  constructor(store: Store) {
    this.#store = store;
  }

  /** What the store answered, in a form that is the same for every store. */
  async take(step: Step): Promise<unknown> {
    const store = this.#store;
    switch (step.kind) {
      case "claim":
        return await this.#claim(step);
      case "commit":
        return await this.#commit(step);
      case "join":
        return await store.join(step);
      case "renewLease":
        return await store.renewLease(step.id, step.atLeast);
      case "heartbeat":
        return viewWithoutEpochs(await store.heartbeat(step.id));
      case "remove":
        return await store.removeMember(step.id, step.ifHeartbeat ?? undefined);
      case "post":
        return await store.post(step);
      case "delete-mail":
        return await this.#deleteMailboxRow(step.index);
      case "delete-mail-before":
        return await store.deleteMailboxRowsBefore(step.at);
      case "declare-domains":
        return await store.declareDomains(step.domains);
      case "save-definitions":
        return await store.saveDefinitions(step.definitions);
      case "save-document":
        return await store.saveDocument(step.document);
      case "delete-document":
        return await store.deleteDocument("token", step.name, step.revision);
      case "append-lines":
        return await store.appendLines(step.lines);
      case "delete-lines":
        return await store.deleteLines(step.prefix, step.before);
      case "delete-topic":
        return await store.deleteTopic(step.topic);
      case "settle":
        return await store.settleShardCount(step.count);
      default:
        return unreachable(step, "a step");
    }
  }

  async #claim({ shard, owner }: Step & { kind: "claim" }): Promise<unknown> {
    const claim = await this.#store.claimShard(shard, owner);
    if (claim) this.#claims.set(shard, { epoch: claim.epoch, batch: claim.lastBatch });
    return withoutEpochs(claim);
  }

  async #commit({ fences, changes }: Step & { kind: "commit" }): Promise<unknown> {
    const sent = fences.map((fence) => this.#fence(fence));
    try {
      await this.#store.commit({ fences: sent, changes });
    } catch (error) {
      return refusal(error);
    }
    for (const { shard, epoch, number } of sent) this.#claims.set(shard, { epoch, batch: number });
    return "landed";
  }

  #fence({ shard, released, batchLag, epochLag }: RandomFence): Fence {
    const { epoch, batch } = this.#claims.get(shard) ?? { epoch: 1, batch: 0 };
    const number = batch + 1 - batchLag;
    return { shard, epoch: epoch - epochLag, number, lastKey: number, released };
  }

  /** Ids are each store's own, so mail is chosen by its place. */
  async #deleteMailboxRow(index: number): Promise<unknown> {
    const mail = (await this.#store.listMailboxRows(mailboxes, 10))[index];
    if (!mail) return "none";
    await this.#store.deleteMailboxRows([mail.id]);
    return [mail.mailbox, mail.body];
  }
}

/** A batch that landed by half cannot be, and every store says that it is a bug. */
function refusal(error: unknown): unknown {
  if (error instanceof Fenced) return [error.code, error.shards];
  if (error instanceof EngineError) return error.code;
  if (error instanceof Error && error.name === "Bug") return error.name;
  throw error;
}
