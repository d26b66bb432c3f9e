import type { Clock, Timer } from "../base/clock.ts";
import type { Logger } from "../base/logger.ts";
import type { WorkerTimings } from "../cluster/timings.ts";
import type { Dispatcher } from "../dispatch/dispatcher.ts";
import type { Link, LinkListener } from "../dispatch/link.ts";
import type { OnTaskLog } from "../dispatch/task-log.ts";
import type { TaskRun } from "../dispatch/task-run.ts";
import type { WorkerConnection } from "../dispatch/worker.ts";
import type { WorkerIdentity } from "../dispatch/worker-sessions.ts";
import type { CallClient } from "../runtime/call-client.ts";
import type { AttemptHosting } from "../runtime/delegated-attempts.ts";
import { noHosting } from "../runtime/hosted-attempts.ts";
import type { Region } from "../runtime/region.ts";
import { delegate } from "./delegate.ts";
import { WorkerRecords, type WorkerRecordsParts } from "./worker-records.ts";
import { RemoteWorkers, type RemoteWorkersParts, type WorkerServices } from "./remote-workers.ts";

export interface LoneWorkersParts {
  readonly store: WorkerRecordsParts["store"];
  readonly clock: Clock;
  readonly logger: Logger;
  readonly timings: WorkerTimings;
  readonly dispatcher: Dispatcher;
  /** The name of this process in histories. */
  readonly address: string;
  /** False once another engine has taken over the store: no lease is renewed then. */
  readonly mayServe: () => boolean;
  readonly onTaskLog?: OnTaskLog | undefined;
  readonly onJobs: RemoteWorkersParts["onJobs"];
  readonly onWorkerEvent: RemoteWorkersParts["onWorkerEvent"];
  readonly code: RemoteWorkersParts["code"];
}

/**
 * The remote workers of an engine alone on its store. It owns every shard, so an attempt that a worker announces is its own
 * or is not wanted. Workers outlive the process: the next one on the same store waits for them to announce the attempts
 * that they run, as a new owner of a shard does in a cluster.
 */
export class LoneWorkers {
  readonly hosting: AttemptHosting;
  readonly onDetached = delegate;
  readonly #parts: LoneWorkersParts;
  readonly #records: WorkerRecords;
  #region: Region | undefined;
  #workers: RemoteWorkers | undefined;
  #timer: Timer | undefined;

  constructor(parts: LoneWorkersParts) {
    this.#parts = parts;
    this.#records = new WorkerRecords({ ...parts, lostMs: parts.timings.workerLostMs });
    this.hosting = { ...noHosting, lostMs: parts.timings.workerLostMs, hold: (run) => this.#hold(run) };
  }

  /** Called once, before `start`. */
  attach({ region, client }: { readonly region: Region; readonly client: CallClient }, services: WorkerServices): void {
    const { address, mayServe, ...parts } = this.#parts;
    this.#region = region;
    this.#workers = new RemoteWorkers({
      ...parts,
      region,
      hosts: {
        renewalAgeMs: () => 0,
        ask: (shard, attemptId, connection) => this.#ask(client, shard, { attemptId, connection }),
        add: () => undefined,
        report: () => undefined,
      },
      member: () => address,
      isLeaseValid: mayServe,
      whenCounted: () => Promise.resolve(),
      records: this.#records,
      ...services,
    });
  }

  /** Accepts the connection of a worker. Messages from it go to the returned listener. */
  acceptWorker(link: Link, identity: WorkerIdentity): LinkListener | undefined {
    return this.#workers?.accept(link, identity);
  }

  get refusedMessages(): number {
    return this.#workers?.refusedMessages ?? 0;
  }

  /** Counts the slots of workers that an earlier process has granted attempts. Called before anything starts. */
  async restore(): Promise<void> {
    await this.#records.restore();
  }

  start(): void {
    const { clock, timings } = this.#parts;
    this.#timer = clock.after(timings.workerBeatMs, () => {
      this.#region?.sweepDelegatedAttempts();
      this.start();
    });
  }

  /** Resolves when the store knows which workers run nothing. Called just before the dispatcher is shut down. */
  async stop(): Promise<void> {
    this.#timer?.cancel();
    this.#records.stop();
    const busy = new Set(this.#parts.dispatcher.status.listRunning().map(({ worker }) => worker));
    const idle = (this.#workers?.sessions ?? []).filter(({ address, hasStrays }) => !busy.has(address) && !hasStrays);
    await Promise.all(idle.map(({ id }) => this.#records.forget(id)));
  }

  /** A worker stops an attempt that is not wanted when it connects, or else when its lease expires. */
  #hold(run: TaskRun): (isOver: boolean) => void {
    const { clock, dispatcher, timings } = this.#parts;
    const free = dispatcher.holdSlot(run);
    return (isOver) => (isOver ? free() : void clock.after(timings.workerLostMs, free));
  }

  /** Returns undefined once it is durable that the attempt is not wanted. Throws what the store throws. */
  async #ask(
    client: CallClient,
    shard: number,
    { attemptId, connection }: { readonly attemptId: string; readonly connection: WorkerConnection },
  ): Promise<number | undefined> {
    const { address: host, clock } = this.#parts;
    const askedAt = clock.monotonic();
    const connections = { [attemptId]: connection };
    const unwanted = await client.callShard(shard, {
      type: "RenewAttempts",
      host,
      attemptIds: [attemptId],
      connections,
    });
    return unwanted.includes(attemptId) ? undefined : askedAt;
  }
}
