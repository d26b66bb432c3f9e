import type { Clock, Timer } from "../base/clock.ts";
import { messageOf } from "../base/error.ts";
import type { Logger } from "../base/logger.ts";
import type { Random } from "../base/random.ts";
import { type ClusterTimings, defaultTimings, ownPatience } from "../cluster/timings.ts";
import type { Link, LinkListener } from "../dispatch/link.ts";
import {
  formatMessage,
  type MemberMessage,
  type LeaseRenewal,
  type WorkerMessage,
} from "../dispatch/session-message.ts";
import { parseMemberMessage } from "../dispatch/session-schema.ts";
import { Backoff } from "./backoff.ts";
import { type AroundJob, EmbeddedWorker, type JobLookup } from "./embedded-worker.ts";
import { GrantedRuns } from "./granted-runs.ts";
import { loggedLine } from "./logged-line.ts";
import { type Moment, momentOf } from "../base/moment.ts";
import type { ThreadWorker } from "./thread-worker.ts";

/** Jobs by their ids, all of which are announced. A `Map` fits as it is. */
export interface JobCatalogue extends JobLookup {
  keys(): Iterable<string>;
}

export interface RemoteWorkerOptions {
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly jobs: JobCatalogue;
  /** A link to a member. What comes in goes to the listener. */
  readonly connect: (listener: LinkListener) => Link;
  readonly timings?: Pick<ClusterTimings, "workerBeatMs" | "workerLostMs">;
  /** How many attempts run at a time. Default 10. */
  readonly slots?: number;
  readonly aroundJob?: AroundJob;
  readonly threads?: ThreadWorker;
  /** How many sub-tasks one attempt may generate. */
  readonly maxSubTasks?: number;
  /** How long `stop` waits for jobs to end, and then for their results to be acknowledged. */
  readonly graceMs?: number;
}

/** Whatever waits for an answer is sent again this often within a beat. */
const ticksInBeat = 4;

/**
 * The worker's end of a session: connects to a member, runs what it is granted and reports what came of it. The jobs
 * themselves run as in the engine's own process, through an `EmbeddedWorker`.
 *
 * It connects again, perhaps to another member, when its link closes, when nothing was heard for two beats, or when it is sent away; whatever
 * it runs goes on, and the next member hears of it first. What nobody vouches for is stopped (`GrantedRuns`).
 */
export class RemoteWorker {
  /** New for each process: who has this id has run all that it ever ran. */
  readonly id: string;
  readonly #options: RemoteWorkerOptions;
  readonly #worker: EmbeddedWorker;
  readonly #runs: GrantedRuns;
  readonly #backoff: Backoff;
  readonly #beatMs: number;
  readonly #slots: number;
  #link: Link | undefined;
  /** Counts the links, so that what comes over an earlier one is told from what comes over this. */
  #connection = 0;
  #isWelcome = false;
  #lastWelcome: string | undefined;
  /** Why it connected again the last time, until it is welcomed. */
  #lastWhy: string | undefined;
  #heardAt = 0;
  #sequence = 0;
  /** When each beat was sent that is not answered yet. */
  readonly #sent = new Map<number, Moment>();
  /** For which the member has vouched last. */
  #renewedAt: Moment;
  #ticks = 0;
  #tickTimer: Timer | undefined;
  #reconnectTimer: Timer | undefined;
  /** It has no slots any more, and says so. */
  #isStopping = false;
  #stopped: Promise<void> | undefined;

  constructor(options: RemoteWorkerOptions) {
    const { clock, random, logger, jobs, threads, maxSubTasks, timings = defaultTimings, slots = 10 } = options;
    this.id = random.uuid(clock.now());
    this.#options = options;
    this.#worker = new EmbeddedWorker({
      jobs,
      logger,
      address: this.id,
      onTaskLog: (line) => this.#send({ type: "Logged", lines: [loggedLine(line)] }),
      aroundJob: options.aroundJob,
      ...(threads === undefined ? {} : { threads }),
      ...(maxSubTasks === undefined ? {} : { maxSubTasks }),
    });
    this.#slots = slots;
    this.#beatMs = timings.workerBeatMs;
    this.#renewedAt = momentOf(clock);
    this.#backoff = new Backoff(random, { firstMs: this.#beatMs / 40, lastMs: this.#beatMs / 2 });
    this.#runs = new GrantedRuns({
      clock,
      worker: this.#worker,
      slots,
      leaseMs: ownPatience * timings.workerLostMs,
      send: (message) => this.#send(message),
    });
  }

  /** A member has welcomed it, and was heard of lately. */
  get isConnected(): boolean {
    return this.#isWelcome;
  }

  /** A member has welcomed it at least once. */
  get hasConnected(): boolean {
    return this.#lastWelcome !== undefined;
  }

  get runningCount(): number {
    return this.#runs.runningCount;
  }

  /** Results that no member has made durable yet. */
  get resultCount(): number {
    return this.#runs.resultCount;
  }

  start(): void {
    this.#open();
    this.#tick();
  }

  /** The worker knows other jobs than before. */
  onJobsChanged(): void {
    if (this.#link !== undefined) this.#announce();
  }

  /** Takes nothing more, tells what runs to stop, gives back what does not end as a success, and leaves. */
  stop(): Promise<void> {
    return (this.#stopped ??= this.#stop());
  }

  // The connection

  #open(): void {
    const connection = ++this.#connection;
    const isThis = (): boolean => connection === this.#connection;
    this.#isWelcome = false;
    this.#heardAt = this.#options.clock.monotonic();
    this.#sent.clear();
    this.#runs.onReconnect();
    try {
      const link = this.#options.connect({
        receive: (text) => {
          if (isThis()) this.#receive(text);
        },
        onClosed: (reason) => {
          if (isThis()) this.#onClosed(reason);
        },
      });
      if (!isThis()) return link.close();
      this.#link = link;
    } catch (error) {
      return this.#reconnect(messageOf(error), "warn");
    }
    this.#announce();
  }

  /** A member that restarts closes its links without a word. */
  #onClosed(reason: string | undefined): void {
    if (reason === undefined && this.#isWelcome) this.#reconnect("the link was closed");
    else this.#reconnect(reason ?? "the link was closed before the member answered", "warn");
  }

  /** A reason that comes again and again is logged once. */
  #reconnect(why: string, level: "info" | "warn" = "info"): void {
    const { clock, logger } = this.#options;
    this.#connection++;
    this.#isWelcome = false;
    this.#link?.close();
    this.#link = undefined;
    const pauseMs = this.#backoff.next();
    const isRepeated = why === this.#lastWhy;
    this.#lastWhy = why;
    logger[isRepeated ? "debug" : level](
      { worker: this.id, why, pauseMs },
      "the worker is not connected, and tries again",
    );
    this.#reconnectTimer = clock.after(pauseMs, () => this.#open());
  }

  #receive(text: string): void {
    let message: MemberMessage;
    try {
      message = parseMemberMessage(text);
    } catch (error) {
      this.#options.logger.warn({ worker: this.id, error: messageOf(error) }, "a member sent an invalid message");
      return this.#reconnect("the member sent an invalid message");
    }
    this.#heardAt = this.#options.clock.monotonic();
    if (message.type === "Welcome") this.#welcome(message);
    else if (message.type === "Goodbye") this.#reconnect("the member cannot serve it");
    // What overtakes the welcome will be said again, once the member knows what is here.
    else if (this.#isWelcome) this.#take(message);
  }

  #welcome(message: Extract<MemberMessage, { type: "Welcome" }>): void {
    if (!this.#isWelcome) this.#options.logger.info({ worker: this.id }, "the worker is connected");
    this.#isWelcome = true;
    this.#lastWhy = undefined;
    this.#lastWelcome = message.welcome;
    this.#backoff.reset();
    this.#onRenewal(message);
  }

  #take(message: Exclude<MemberMessage, { type: "Welcome" | "Goodbye" }>): void {
    switch (message.type) {
      case "Renewed":
        return this.#onRenewal(message);
      case "Grant":
        return this.#runs.onGrant(message, this.#renewedAt);
      case "Abort":
        return this.#runs.abort(message);
      case "Acknowledged":
        return this.#runs.onAcknowledged(message);
    }
  }

  #onRenewal(renewal: LeaseRenewal): void {
    const sentAt = this.#sent.get(renewal.sequence);
    if (sentAt === undefined) return;
    for (const sequence of this.#sent.keys()) if (sequence <= renewal.sequence) this.#sent.delete(sequence);
    this.#renewedAt = sentAt;
    this.#runs.applyRenewal(renewal, sentAt);
  }

  // Signs of life

  #tick(): void {
    const { clock } = this.#options;
    this.#runs.stopExpired();
    if (this.#link !== undefined) {
      if (clock.monotonic() - this.#heardAt >= 2 * this.#beatMs) this.#reconnect("nothing was heard");
      else if (!this.#isWelcome) this.#announce();
      else this.#sendHeartbeat();
    }
    this.#tickTimer = clock.after(this.#beatMs / ticksInBeat, () => this.#tick());
  }

  #sendHeartbeat(): void {
    this.#runs.resendResults();
    if (++this.#ticks % ticksInBeat !== 0) return;
    // With the whole truth, for its first word that it stops may have been lost.
    if (this.#isStopping) return this.#announce();
    const { runningKeys: running, finishedKeys: finished } = this.#runs;
    this.#send({
      type: "Heartbeat",
      sequence: this.#nextSequence(),
      lastGrant: this.#runs.closeGrants(),
      running,
      finished,
    });
  }

  #announce(): void {
    const { jobs } = this.#options;
    const { running, results } = this.#runs.all;
    this.#send({
      type: "Hello",
      worker: this.id,
      sequence: this.#nextSequence(),
      lastGrant: this.#runs.closeGrants(),
      jobs: [...jobs.keys()],
      slots: this.#isStopping ? 0 : this.#slots,
      ...(this.#lastWelcome === undefined ? {} : { lastWelcome: this.#lastWelcome }),
      running,
      results,
    });
  }

  /** Its moment is from before it is sent. */
  #nextSequence(): number {
    this.#sent.set(++this.#sequence, momentOf(this.#options.clock));
    return this.#sequence;
  }

  #send(message: WorkerMessage): void {
    this.#link?.send(formatMessage(message));
  }

  // Stopping

  async #stop(): Promise<void> {
    const { logger, graceMs = 5000 } = this.#options;
    this.#isStopping = true;
    this.#runs.stop();
    if (this.#link !== undefined) this.#announce();
    await this.#awaitIdle(graceMs);
    const left = this.#runs.abandon().map(({ descriptor }) => descriptor.taskName);
    if (left.length > 0) logger.warn({ tasks: left }, "tasks that ignored the signal to stop are left behind");
    await this.#awaitIdle(graceMs);
    this.#connection++;
    this.#tickTimer?.cancel();
    this.#reconnectTimer?.cancel();
    this.#send({ type: "Leaving" });
    this.#link?.close();
    this.#link = undefined;
    this.#isWelcome = false;
    await this.#worker.stop();
  }

  async #awaitIdle(graceMs: number): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const grace = this.#options.clock.after(graceMs, resolve);
    await Promise.race([this.#runs.whenIdle(), promise]);
    grace.cancel();
  }
}
