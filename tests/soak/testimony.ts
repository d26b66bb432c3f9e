import type { ErrorCode } from "../../src/base/error.ts";
import type { Batch, ShardClaim } from "../../src/stores/store.ts";
import { attemptName } from "../recovery/side-effects.ts";
import type { Evidence, JobRun, LogLine } from "../sim/evidence.ts";
import type { Audited } from "./audit.ts";
import { type Entry, readJournal } from "./journal.ts";

/** A call of a member's to the store, as that member saw it. */
interface StoreCall {
  readonly life: number;
  readonly sentAt: number;
  /** Undefined: it did not live to hear it. */
  answeredAt: number | undefined;
  /** Undefined: it was answered with success. */
  code: ErrorCode | undefined;
}

export interface CommitCall extends StoreCall {
  readonly batch: Batch;
}

export interface ClaimCall extends StoreCall {
  readonly shard: number;
  readonly owner: string;
  claim: ShardClaim | undefined;
}

/** What everybody says after a run: the clients, the members one by one, and the database. */
export interface Testimony extends Pick<
  Evidence,
  "setting" | "scenarios" | "calls" | "lives" | "problems" | "finalState"
> {
  readonly runs: readonly JobRun[];
  readonly logLines: readonly LogLine[];
  readonly commitCalls: readonly CommitCall[];
  readonly claimCalls: readonly ClaimCall[];
  readonly audit: readonly Audited[];
  /** Members that were still among the living when all had left. */
  readonly stayed: readonly string[];
}

/** What members wrote down, all of them together. Their renewals are put where their lives are. */
export function hearMembers(
  lives: Testimony["lives"],
  journalOf: (life: number) => string,
): Pick<Testimony, "runs" | "logLines" | "commitCalls" | "claimCalls"> {
  const heard = new Hearing();
  for (const life of lives) {
    const entries = readJournal(journalOf(life.number));
    for (const entry of entries) {
      heard.take(life.number, entry);
      if (entry.what === "renewal")
        life.renewals.push({ member: entry.member, sentAt: entry.sentAt, knownAt: entry.at });
    }
  }
  heard.runs.sort((a, b) => a.start.at - b.start.at);
  return heard;
}

class Hearing {
  readonly runs: JobRun[] = [];
  readonly logLines: LogLine[] = [];
  readonly commitCalls: CommitCall[] = [];
  readonly claimCalls: ClaimCall[] = [];
  /** By life and number. */
  readonly #runs = new Map<string, JobRun>();
  readonly #calls = new Map<string, CommitCall | ClaimCall>();

  take(life: number, entry: Entry): void {
    const moment = { at: entry.at, order: entry.at };
    switch (entry.what) {
      case "run":
        return this.#begin(life, entry);
      case "aborted": {
        const run = this.#runs.get(`${life}/${entry.run}`);
        if (run !== undefined) run.abort ??= moment;
        return;
      }
      case "ended": {
        const run = this.#runs.get(`${life}/${entry.run}`);
        if (run !== undefined) run.end = { ...moment, how: entry.how };
        return;
      }
      case "commit": {
        const { batch, call } = entry;
        const sent: CommitCall = { life, sentAt: entry.at, answeredAt: undefined, code: undefined, batch };
        this.commitCalls.push(sent);
        return void this.#calls.set(`${life}/${call}`, sent);
      }
      case "claim": {
        const { shard, owner, call } = entry;
        const unanswered = { answeredAt: undefined, code: undefined, claim: undefined };
        const sent: ClaimCall = { life, sentAt: entry.at, shard, owner, ...unanswered };
        this.claimCalls.push(sent);
        return void this.#calls.set(`${life}/${call}`, sent);
      }
      case "answer":
        return this.#answer(this.#calls.get(`${life}/${entry.call}`), entry);
      case "log": {
        const { level, fields, message } = entry;
        return void this.logLines.push({ ...moment, life, level, fields, message });
      }
      case "renewal":
    }
  }

  #begin(life: number, entry: Entry & { what: "run" }): void {
    const { attemptId, taskName, workflow, job, params, at } = entry;
    const start = { at, order: at };
    const name = attemptName(attemptId);
    const run: JobRun = {
      attemptId,
      name,
      taskName,
      workflow,
      job,
      params,
      life,
      start,
      found: undefined,
      heartbeats: [],
      abort: undefined,
      end: undefined,
      acknowledged: undefined,
    };
    this.runs.push(run);
    this.#runs.set(`${life}/${entry.run}`, run);
  }

  #answer(call: CommitCall | ClaimCall | undefined, entry: Entry & { what: "answer" }): void {
    if (call === undefined) return;
    call.answeredAt = entry.at;
    call.code = entry.code;
    if ("shard" in call) call.claim = entry.claim;
  }
}
