import type { Dispatcher } from "../dispatch/dispatcher.ts";
import type { WorkerConnection } from "../dispatch/worker.ts";
import type { CallOf } from "./call.ts";
import { instanceOf, isRemote, type DelegatedAttempts, workerOf } from "./delegated-attempts.ts";
import type { Input } from "./input.ts";
import type { ShardInstances } from "./shard-instances.ts";

/** Handles reports of other members that run attempts of this shard's instances. */
export class AttemptReports {
  /** Counts reports of attempts that were not expected any more. */
  dropped = 0;
  readonly #dispatcher: Dispatcher;
  readonly #delegatedAttempts: DelegatedAttempts;
  readonly #instances: ShardInstances;
  /** Attempts whose reported end is being made durable. */
  readonly #ending = new Set<string>();

  constructor(parts: { dispatcher: Dispatcher; delegatedAttempts: DelegatedAttempts; instances: ShardInstances }) {
    this.#dispatcher = parts.dispatcher;
    this.#delegatedAttempts = parts.delegatedAttempts;
    this.#instances = parts.instances;
  }

  /** Handles the end of an attempt. When it resolves, the end is durable, or the attempt is not wanted any more. */
  async end({ host, attemptId, id, input }: CallOf<"ReportAttempt">): Promise<void> {
    const here = this.#dispatcher.status.connectionOf(attemptId);
    const ranOn = input.type === "AttemptEnded" ? (input.worker ?? "") : "";
    // The worker that ran the attempt here has since connected there, and its result arrived before that news: it is
    // the result of the same run.
    if (input.type === "AttemptEnded" && here?.worker === workerOf(ranOn)) this.#dispatcher.detach([attemptId]);
    const worker = isRemote(ranOn) ? workerOf(ranOn) : undefined;
    const isWanted = !this.#isStaleLoss(attemptId, input) && this.#delegatedAttempts.delete(attemptId, host, worker);
    if (isWanted) return await this.#record(attemptId, () => this.#instances.tell(id, () => input));
    this.dropped++;
    await this.#instances.flush(id);
  }

  async #record(attemptId: string, record: () => Promise<void>): Promise<void> {
    this.#ending.add(attemptId);
    try {
      await record();
    } finally {
      this.#ending.delete(attemptId);
    }
  }

  #isStaleLoss(attemptId: string, input: Input): boolean {
    if (input.type !== "AttemptEnded" || input.outcome.kind !== "lost") return false;
    return this.#delegatedAttempts.isOfEarlierRun(attemptId, input);
  }

  /**
   * Renews the attempts that a member runs; returns those that are not wanted any more. A worker forgets the results of
   * unwanted attempts, so whatever made them unwanted must be durable before that. An attempt whose reported end is not
   * durable yet counts as wanted: the end may have to wait for the instance's code, and the answer is about other
   * attempts, too.
   */
  async renew({ host, attemptIds, connections, ...news }: CallOf<"RenewAttempts">): Promise<string[]> {
    const { progress = {}, heartbeats = {} } = news;
    const unwanted = attemptIds.filter((id) => !this.#renewOne(id, host, connections[id]));
    for (const [id, report] of Object.entries(progress)) this.#delegatedAttempts.noteProgress(id, host, report);
    for (const [id, details] of Object.entries(heartbeats)) this.#delegatedAttempts.onHeartbeat(id, details);
    await Promise.all(unwanted.map((id) => this.#instances.flush(instanceOf(id))));
    return unwanted;
  }

  #renewOne(attemptId: string, host: string, there: WorkerConnection | undefined): boolean {
    if (this.#delegatedAttempts.renew(attemptId, host, there?.worker)) return true;
    if (this.#ending.has(attemptId)) return true;
    const here = this.#dispatcher.status.connectionOf(attemptId);
    // A worker that was connected here has taken the attempt along; or had taken it along before it connected here.
    const hasGone = here !== undefined && here.worker === there?.worker && here.since < there.since;
    if (!hasGone) return false;
    this.#dispatcher.detach([attemptId]);
    return this.#delegatedAttempts.renew(attemptId, host, there.worker);
  }
}
