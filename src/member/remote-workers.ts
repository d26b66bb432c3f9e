import type { JobDetails } from "../dispatch/session-message.ts";
import type { Clock } from "../base/clock.ts";
import { messageOf } from "../base/error.ts";
import type { Logger } from "../base/logger.ts";
import type { WorkerTimings } from "../cluster/timings.ts";
import type { AttemptDescriptor } from "../dispatch/attempt-descriptor.ts";
import type { AskOwner } from "../dispatch/attempt-question.ts";
import type { Dispatcher } from "../dispatch/dispatcher.ts";
import type { Link, LinkListener } from "../dispatch/link.ts";
import type { SessionCode } from "../dispatch/session-turns.ts";
import type { OnTaskLog } from "../dispatch/task-log.ts";
import type { TaskOfInstance, TaskRun } from "../dispatch/task-run.ts";
import type { OnWorkerEvent } from "../dispatch/worker-event.ts";
import type { AnnouncedAttempt } from "../dispatch/session-attempt.ts";
import type { WorkerSession } from "../dispatch/worker-session.ts";
import { type WorkerIdentity, WorkerSessions } from "../dispatch/worker-sessions.ts";
import { attemptId as attemptIdOf } from "../kernel/address.ts";
import type { Outcome } from "../kernel/input.ts";
import { hostedRun } from "../runtime/hosted-run.ts";
import type { HostedAttempts } from "../runtime/hosted-attempts.ts";
import type { InstanceTaskRun } from "../runtime/instance-task-run.ts";
import type { Region } from "../runtime/region.ts";
import type { WorkerRecords } from "./worker-records.ts";

export interface RemoteWorkersParts {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly timings: WorkerTimings;
  readonly dispatcher: Dispatcher;
  readonly region: Region;
  /** Attempts that this member hosts for other owners. */
  readonly hosts: Pick<HostedAttempts, "add" | "ask" | "renewalAgeMs" | "report">;
  readonly member: () => string;
  readonly isLeaseValid: () => boolean;
  readonly onTaskLog?: OnTaskLog | undefined;
  readonly onWorkerEvent: OnWorkerEvent;
  /** Called with the details of its jobs when a worker has connected. */
  readonly code: SessionCode | undefined;
  readonly onJobs: (jobs: readonly JobDetails[], namespace: string) => void;
  /** Resolves when attempts that run here now are counted among the slots of the domain. */
  readonly whenCounted: (domain: string) => Promise<void>;
  /** The records of workers, which an engine alone keeps. */
  readonly records?: Pick<WorkerRecords, "prepareGrant" | "onChanged" | "onGone"> | undefined;
  /** Checks the sub-tasks of an outcome before they join their instance. */
  readonly checkOutcome: (outcome: Outcome, task: TaskOfInstance) => Outcome | Promise<Outcome>;
  /** Asks the owner of an instance on behalf of an attempt that runs on a worker. */
  readonly ask: AskOwner;
}

/** What the rest of a process does for remote workers. */
export type WorkerServices = Pick<RemoteWorkersParts, "checkOutcome" | "ask">;

/**
 * The remote workers that are connected to this member. A worker may announce attempts that it runs already: shards of this
 * member take theirs back, other owners are asked first. Until the owner renews the lease of an attempt, the lease at the
 * worker runs on, and the worker stops the attempt when it expires.
 */
export class RemoteWorkers {
  readonly #parts: RemoteWorkersParts;
  readonly #sessions: WorkerSessions;
  /** Adopted, but not yet counted among the slots of their domain: their leases are not renewed. */
  readonly #uncounted = new Set<string>();

  constructor(parts: RemoteWorkersParts) {
    this.#parts = parts;
    const { clock, logger, timings, dispatcher, member, isLeaseValid, checkOutcome, ask, onTaskLog, onJobs } = parts;
    const { records, code, onWorkerEvent } = parts;
    this.#sessions = new WorkerSessions({
      clock,
      logger,
      timings,
      dispatcher,
      addressOf: (worker) => `${member()}/${worker}`,
      mayServe: isLeaseValid,
      fenceOf: (run) => run.fence,
      checkOutcome,
      ask,
      onTaskLog,
      onJobs,
      onWorkerEvent,
      code,
      renewalAgeMs: (attemptId) => this.#renewalAgeMs(attemptId),
      onAnnounced: (attempt) => void this.#onAnnounced(attempt),
      ...(records !== undefined && {
        prepareGrant: (session, domain) => records.prepareGrant(session, domain),
        onWorkerChanged: (session) => records.onChanged(session),
        onWorkerGone: ({ id }) => records.onGone(id),
      }),
    });
  }

  /** Accepts the connection of a worker. Messages from it go to the returned listener. */
  accept(link: Link, identity?: WorkerIdentity): LinkListener {
    return this.#sessions.accept(link, identity);
  }

  get sessions(): readonly WorkerSession[] {
    return this.#sessions.all;
  }

  get refusedMessages(): number {
    return this.#sessions.refusedMessages;
  }

  #renewalAgeMs(attemptId: string): number {
    const { timings, hosts } = this.#parts;
    return this.#uncounted.has(attemptId) ? timings.workerLostMs : hosts.renewalAgeMs(attemptId);
  }

  async #onAnnounced(announced: AnnouncedAttempt): Promise<void> {
    try {
      if (!(await this.#takeIn(announced))) announced.decline();
    } catch (error) {
      // The attempt may still be wanted: the worker announces it again.
      const fields = { attemptId: announced.descriptor.attemptId, error: messageOf(error) };
      this.#parts.logger.warn(
        fields,
        "the owner of an attempt that a worker announced could not be asked; the worker announces it again",
      );
    }
  }

  /** False if its owner does not want it. */
  async #takeIn(announced: AnnouncedAttempt): Promise<boolean> {
    const { region, hosts, dispatcher } = this.#parts;
    const { descriptor, worker } = announced;
    const { attemptId, instanceId } = descriptor;
    const shard = region.shardOf(instanceId);
    if (!namesItself(descriptor)) return false;
    const own = region.reclaimAttempt(shard, attemptId, worker.address);
    if (own !== undefined) return await this.#adoptOwn(announced, own);
    const renewedAt = await hosts.ask(shard, attemptId, worker.connection);
    // The attempt was announced again and adopted meanwhile.
    if (dispatcher.status.isRunningOn(attemptId, worker)) return true;
    if (renewedAt === undefined) return false;
    // The shard may have come here meanwhile, so that this member gave the answer.
    const run = region.reclaimAttempt(shard, attemptId, worker.address);
    if (run !== undefined) return await this.#adoptOwn(announced, run);
    const foreign = hostedRun(descriptor, (...report) => hosts.report(...report));
    return await this.#adopt(announced, foreign, () => hosts.add(shard, [attemptId], renewedAt));
  }

  /**
   * Adopts an attempt of a shard of this member. If its worker does not run it any more, the shard waits for it as
   * before.
   */
  async #adoptOwn(announced: AnnouncedAttempt, run: InstanceTaskRun): Promise<boolean> {
    if (await this.#adopt(announced, run)) return true;
    run.actor.shard.trackDelegated(run, announced.worker.address);
    return false;
  }

  /** Adopts an attempt, and renews its lease once its slot is counted. */
  async #adopt(announced: AnnouncedAttempt, run: TaskRun, onAdopted?: () => void): Promise<boolean> {
    const { dispatcher, whenCounted } = this.#parts;
    const { descriptor, worker, outcome } = announced;
    const { attemptId, startedAt } = descriptor;
    if (!dispatcher.adopt(run, worker, outcome, startedAt)) return false;
    this.#uncounted.add(attemptId);
    try {
      onAdopted?.();
      await whenCounted(run.domain);
    } finally {
      this.#uncounted.delete(attemptId);
    }
    return true;
  }
}

/** True if its id matches its task: results are reported for the task, but the owner is asked by the id alone. */
function namesItself(descriptor: AttemptDescriptor): boolean {
  const { instanceId: id, generation, task, attempt } = descriptor;
  return descriptor.attemptId === attemptIdOf({ id, key: 0, generation }, task, attempt);
}
