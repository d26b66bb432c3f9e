import type { Clock } from "../base/clock.ts";
import { messageOf } from "../base/error.ts";
import type { Logger } from "../base/logger.ts";
import type { ClusterTimings } from "../cluster/timings.ts";
import type { AttemptDescriptor } from "../dispatch/attempt-descriptor.ts";
import type { Dispatcher } from "../dispatch/dispatcher.ts";
import type { Link, LinkListener } from "../dispatch/link.ts";
import type { OnTaskLog } from "../dispatch/task-log.ts";
import type { TaskRun } from "../dispatch/task-run.ts";
import type { AnnouncedAttempt } from "../dispatch/worker-session.ts";
import { WorkerSessions } from "../dispatch/worker-sessions.ts";
import { attemptId as attemptIdOf } from "../kernel/address.ts";
import type { Outcome } from "../kernel/input.ts";
import { foreignRun } from "../runtime/foreign-run.ts";
import type { ForeignAttempts } from "../runtime/foreign-attempts.ts";
import { InstanceTaskRun } from "../runtime/instance-task-run.ts";
import type { Region } from "../runtime/region.ts";

export interface RemoteWorkersParts {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly timings: ClusterTimings;
  readonly dispatcher: Dispatcher;
  readonly region: Region;
  readonly foreignAttempts: ForeignAttempts;
  readonly member: () => string;
  readonly isLeaseValid: () => boolean;
  readonly onTaskLog?: OnTaskLog | undefined;
  /** Resolves when what runs here now is counted among the slots of the domain. */
  readonly counted: (domain: string) => Promise<void>;
  /** Sub-tasks of an outcome as they may join their instance. */
  readonly admit: (outcome: Outcome, taskName: string) => Outcome | Promise<Outcome>;
}

/**
 * The workers in processes of their own that are connected to this member. They may bring attempts along: of instances
 * that live here, which take them back, or of others, whose owners are asked first. Until its owner renews the lease of an
 * attempt its worker counts on as before, and stops it when its patience ends.
 */
export class RemoteWorkers {
  readonly #parts: RemoteWorkersParts;
  readonly #sessions: WorkerSessions;
  /** Adopted, but not yet counted among the slots of their domain: their leases are not renewed. */
  readonly #uncounted = new Set<string>();

  constructor(parts: RemoteWorkersParts) {
    this.#parts = parts;
    const { clock, logger, timings, dispatcher, member, isLeaseValid, admit, onTaskLog } = parts;
    this.#sessions = new WorkerSessions({
      clock,
      logger,
      timings,
      dispatcher,
      addressOf: (worker) => `${member()}/${worker}`,
      mayServe: isLeaseValid,
      fenceOf,
      admit,
      onTaskLog,
      renewalAgeMs: (attemptId) => this.#renewalAgeMs(attemptId),
      onAnnounced: (attempt) => void this.#announced(attempt),
    });
  }

  /** A worker has connected. What comes in over the link goes to what is given back. */
  accept(link: Link, principal?: string): LinkListener {
    return this.#sessions.accept(link, principal);
  }

  get refusedMessages(): number {
    return this.#sessions.refusedMessages;
  }

  #renewalAgeMs(attemptId: string): number {
    const { timings, foreignAttempts } = this.#parts;
    return this.#uncounted.has(attemptId) ? timings.workerLostMs : foreignAttempts.renewalAgeMs(attemptId);
  }

  async #announced(announced: AnnouncedAttempt): Promise<void> {
    try {
      if (!(await this.#takeIn(announced))) announced.decline();
    } catch (error) {
      // Whether it is wanted is not known: the worker goes on asking.
      const fields = { attemptId: announced.descriptor.attemptId, error: messageOf(error) };
      this.#parts.logger.warn(fields, "an attempt that a worker brought along found no owner yet");
    }
  }

  /** False if nobody wants it. */
  async #takeIn(announced: AnnouncedAttempt): Promise<boolean> {
    const { region, foreignAttempts, dispatcher } = this.#parts;
    const { descriptor, worker } = announced;
    const { attemptId, instanceId } = descriptor;
    const shard = region.shardOf(instanceId);
    if (!namesItself(descriptor)) return false;
    const own = region.reclaimAttempt(shard, attemptId, worker.address);
    if (own !== undefined) return await this.#adoptOwn(announced, own);
    const renewedAt = await foreignAttempts.ask(shard, attemptId, worker.connection);
    // It was announced again meanwhile, and taken in.
    if (dispatcher.isRunningOn(attemptId, worker)) return true;
    if (renewedAt === undefined) return false;
    // The shard may have come here meanwhile, and the answer from here.
    const run = region.reclaimAttempt(shard, attemptId, worker.address);
    if (run !== undefined) return await this.#adoptOwn(announced, run);
    const foreign = foreignRun(descriptor, (...report) => foreignAttempts.report(...report));
    return await this.#adopt(announced, foreign, () => foreignAttempts.add(shard, [attemptId], renewedAt));
  }

  /** If it is not with its worker any more, it is waited for as before. */
  async #adoptOwn(announced: AnnouncedAttempt, run: InstanceTaskRun): Promise<boolean> {
    if (await this.#adopt(announced, run)) return true;
    run.actor.host.runsElsewhere(run, announced.worker.address);
    return false;
  }

  /** Its lease is renewed once its slot is counted. */
  async #adopt(announced: AnnouncedAttempt, run: TaskRun, onAdopted?: () => void): Promise<boolean> {
    const { dispatcher, counted } = this.#parts;
    const { descriptor, worker, outcome } = announced;
    const { attemptId, startedAt } = descriptor;
    if (!dispatcher.adopt(run, worker, outcome, startedAt)) return false;
    this.#uncounted.add(attemptId);
    try {
      onAdopted?.();
      await counted(run.domain);
    } finally {
      this.#uncounted.delete(attemptId);
    }
    return true;
  }
}

/** Its result is reported for the task that the descriptor names, and its owner is asked by the id alone. */
function namesItself(descriptor: AttemptDescriptor): boolean {
  const { instanceId: id, generation, task, attempt } = descriptor;
  return descriptor.attemptId === attemptIdOf({ id, key: 0, generation }, task, attempt);
}

function fenceOf(run: TaskRun): { shard: number; epoch: number } | undefined {
  return run instanceof InstanceTaskRun ? run.fence : undefined;
}
