import type { ClaimRecord, CommitRecord, Evidence, MembershipRecord } from "../evidence.ts";
import type { Checker } from "./checker.ts";

/** The state of a shard after the events so far. */
interface ShardState {
  epoch: number;
  number: number;
  owner: string;
  life: number;
  isReleased: boolean;
}

/**
 * I2, one writer: epochs of a shard only increase, only a shard that is released or whose owner is not alive is
 * claimed, and a batch is accepted only under the newest epoch, from the process that claimed it, with the next number
 * or as a repetition.
 */
export const checkFencing: Checker = (evidence) => {
  const court = new Court();
  for (const record of inOrder(evidence)) {
    if ("batch" in record) court.commit(record);
    else if ("claim" in record) court.claim(record);
    else court.membership(record);
  }
  return court.wrong;
};

class Court {
  readonly wrong: string[] = [];
  readonly #shards = new Map<number, ShardState>();
  readonly #living = new Set<string>();

  membership({ what, member }: MembershipRecord): void {
    if (what === "joined") this.#living.add(member);
    else this.#living.delete(member);
  }

  claim({ shard, owner, life, claim }: ClaimRecord): void {
    const before = this.#shards.get(shard);
    const epochBefore = before?.epoch ?? 0;
    if (claim.epoch <= epochBefore)
      this.wrong.push(`shard ${shard} was claimed with epoch ${claim.epoch} after ${epochBefore}`);
    if (before !== undefined && !before.isReleased && before.owner !== owner && this.#living.has(before.owner))
      this.wrong.push(`shard ${shard} was claimed by ${owner} while ${before.owner} lives and has it`);
    if (before !== undefined && claim.lastBatch !== before.number)
      this.wrong.push(`the claim of shard ${shard} says batch ${claim.lastBatch}, the last was ${before.number}`);
    this.#shards.set(shard, { epoch: claim.epoch, number: claim.lastBatch, owner, life, isReleased: false });
  }

  commit({ life, batch }: CommitRecord): void {
    for (const { shard, epoch, number, released } of batch.fences) {
      const state = this.#shards.get(shard);
      const name = `batch ${number} of shard ${shard} under epoch ${epoch}, by life ${life},`;
      if (state === undefined || epoch !== state.epoch) {
        this.wrong.push(`${name} was taken; the shard is at epoch ${state?.epoch ?? 0}`);
        continue;
      }
      if (state.life !== life) this.wrong.push(`${name} was taken; life ${state.life} had claimed it`);
      if (number !== state.number && number !== state.number + 1)
        this.wrong.push(`${name} was taken; the last was ${state.number}`);
      if (number === state.number + 1 && state.isReleased) this.wrong.push(`${name} came after the owner's last word`);
      state.number = Math.max(number, state.number);
      if (released) state.isReleased = true;
    }
  }
}

function inOrder({ commits, claims, memberships }: Evidence): (CommitRecord | ClaimRecord | MembershipRecord)[] {
  return [...commits, ...claims, ...memberships].sort((a, b) => a.order - b.order);
}
