import type { Clock, Timer } from "../base/clock.ts";
import { messageOf } from "../base/error.ts";
import type { Logger } from "../base/logger.ts";
import type { Random } from "../base/random.ts";
import { localName } from "../base/namespace.ts";
import { defaultTimings, ownPatience, type WorkerTimings } from "../cluster/timings.ts";
import type { Link, LinkListener } from "../dispatch/link.ts";
import {
  formatMessage,
  type JobDetails,
  type MemberMessage,
  type LeaseRenewal,
  type WorkerMessage,
} from "../dispatch/session-message.ts";
import { parseMemberMessage } from "../dispatch/session-schema.ts";
import { Backoff } from "../base/backoff.ts";
import { AskedTurns, type CodeAnswerer } from "./asked-turns.ts";
import { EmbeddedWorker, type JobLookup } from "./embedded-worker.ts";
import type { AroundJob } from "./job-call.ts";
import { GrantedRuns } from "./granted-runs.ts";
import { loggedLine } from "./logged-line.ts";
import { SentHeartbeats } from "./sent-heartbeats.ts";
import { SentQuestions } from "./sent-questions.ts";
import type { ProcessWorker } from "./process-worker.ts";
import type { ThreadWorker } from "./thread-worker.ts";

/** Jobs by id; all of them are announced to members. A `Map` fits. */
export interface JobCatalogue extends JobLookup {
  keys(): Iterable<string>;
  /** Announcements of the jobs, which members keep so that workflows can use jobs that the members do not have. */
  details?(): readonly JobDetails[];
}

export interface RemoteWorkerOptions {
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly jobs: JobCatalogue;
  /** Opens a link to a member; its messages go to the listener. */
  readonly connect: (listener: LinkListener) => Link;
  /** In force until a member has welcomed the worker with its own. */
  readonly timings?: WorkerTimings;
  /** Called each time a member has welcomed the worker. */
  readonly onConnected?: () => void;
  /** Limit of concurrent attempts. Default 10. */
  readonly slots?: number;
  /** Runs code workflows. Default: it has none. */
  readonly code?: CodeAnswerer;
  /** Tasks may require a worker with certain tags. */
  readonly tags?: readonly string[];
  readonly aroundJob?: AroundJob;
  readonly threads?: ThreadWorker;
  readonly processes?: ProcessWorker;
  /** The maximum of sub-tasks that one attempt may generate. */
  readonly maxSubTasks?: number;
  /** Time `stop` waits for jobs to end, and again for their results to be acknowledged. */
  readonly graceMs?: number;
}

/** Resends of unanswered messages per heartbeat interval. */
const ticksInBeat = 4;

/**
 * The worker's end of a session: connects to a member, runs the attempts that it is granted and reports their results. Jobs
 * run in an `EmbeddedWorker`, as in the engine's own process.
 *
 * It reconnects, perhaps to another member, when its link closes, when it has received nothing for two heartbeat intervals,
 * or when the member disconnects it. Its attempts keep running, and its hello announces them to the next member. Attempts
 * whose lease is not renewed are stopped (`GrantedRuns`).
 */
export class RemoteWorker {
  /** New for each process, so the same id means the same attempts. */
  readonly id: string;
  readonly #options: RemoteWorkerOptions;
  readonly #worker: EmbeddedWorker;
  readonly #runs: GrantedRuns;
  readonly #turns: AskedTurns | undefined;
  readonly #questions = new SentQuestions((asked) => this.#send({ type: "QuestionAsked", ...asked }));
  readonly #backoff: Backoff;
  #beatMs: number;
  #link: Link | undefined;
  /** Counts the links, to ignore messages of earlier ones. */
  #connection = 0;
  #isWelcome = false;
  #lastWelcome: string | undefined;
  /** The reason of the last reconnect, until the next welcome. */
  #lastWhy: string | undefined;
  #heardAt = 0;
  readonly #heartbeats: SentHeartbeats;
  #ticks = 0;
  #tickTimer: Timer | undefined;
  #reconnectTimer: Timer | undefined;
  #drained: Promise<void> | undefined;
  #stopped: Promise<void> | undefined;

  constructor(options: RemoteWorkerOptions) {
    const { clock, random, logger, jobs, maxSubTasks, timings = defaultTimings, slots = 10 } = options;
    const { threads, processes } = options;
    this.id = random.uuid(clock.now());
    this.#options = options;
    this.#worker = new EmbeddedWorker({
      // Grants have the qualified id of the job.
      jobs: { get: (id) => jobs.get(localName(id)) },
      clock,
      logger,
      address: this.id,
      onTaskLog: (line) => this.#send({ type: "Logged", lines: [loggedLine(line)] }),
      onReport: (attemptId, report) => this.#runs.report(attemptId, report),
      onSilent: (attemptId, error) => this.#runs.timeOut(attemptId, error),
      ask: (attempt, question) => this.#questions.ask(attempt, question),
      aroundJob: options.aroundJob,
      ...(threads === undefined ? {} : { threads }),
      ...(processes === undefined ? {} : { processes }),
      ...(maxSubTasks === undefined ? {} : { maxSubTasks }),
    });
    this.#beatMs = timings.workerBeatMs;
    this.#heartbeats = new SentHeartbeats(clock);
    this.#backoff = new Backoff(random, { firstMs: this.#beatMs / 40, lastMs: this.#beatMs / 2 });
    const parts = { clock, worker: this.#worker, slots, send: (message: WorkerMessage) => this.#send(message) };
    this.#runs = new GrantedRuns(parts, ownPatience * timings.workerLostMs);
    const { code } = options;
    this.#turns = code && new AskedTurns({ code, logger, send: (message) => this.#send(message) });
  }

  /** A member has welcomed it, and the link is alive. */
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

  /** Called when the worker has other jobs than before. */
  onJobsChanged(): void {
    if (this.#link !== undefined) this.#announce();
  }

  /** Refuses new grants. Resolves when all running attempts have ended and their results are acknowledged. */
  drain(): Promise<void> {
    return (this.#drained ??= this.#drain());
  }

  /** Refuses new grants, aborts running attempts, refuses those that do not succeed, and leaves. */
  stop(): Promise<void> {
    return (this.#stopped ??= this.#stop());
  }

  // The connection

  #open(): void {
    const connection = ++this.#connection;
    const isThis = (): boolean => connection === this.#connection;
    this.#isWelcome = false;
    this.#heardAt = this.#options.clock.monotonic();
    this.#heartbeats.onReconnect();
    this.#runs.onReconnect();
    this.#turns?.onReconnect();
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

  /** A member that restarts closes its links without a reason. */
  #onClosed(reason: string | undefined): void {
    if (reason === undefined && this.#isWelcome) this.#reconnect("the link was closed");
    else this.#reconnect(reason ?? "the link was closed before the member answered", "warn");
  }

  /** Reconnects after a backoff. A repeated reason is logged once at its level. */
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
      { worker: this.id, why, pauseMs: Math.round(pauseMs) },
      "the worker is not connected and will try again",
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
    // The member repeats messages that overtook its welcome once it knows what runs here.
    else if (this.#isWelcome) this.#take(message);
  }

  #welcome(message: Extract<MemberMessage, { type: "Welcome" }>): void {
    if (!this.#isWelcome) this.#options.logger.info({ worker: this.id }, "the worker is connected");
    this.#isWelcome = true;
    this.#lastWhy = undefined;
    this.#lastWelcome = message.welcome;
    this.#setBeat(message.beatMs);
    this.#runs.setLease(ownPatience * message.lostMs);
    this.#backoff.reset();
    this.#onRenewal(message);
    this.#options.onConnected?.();
  }

  #take(message: Exclude<MemberMessage, { type: "Welcome" | "Goodbye" }>): void {
    switch (message.type) {
      case "Renewed":
        return this.#onRenewal(message);
      case "Grant":
        return this.#runs.onGrant(message, this.#heartbeats.renewedAt);
      case "Abort":
        return this.#runs.abort(message);
      case "Acknowledged":
        return this.#runs.onAcknowledged(message);
      case "TurnAsked":
        return this.#turns?.onAsked(message);
      case "TurnWithdrawn":
        return this.#turns?.onWithdrawn(message.turn);
      case "History":
        return this.#turns?.onHistory(message);
      case "QuestionAnswered":
        return this.#questions.onAnswered(message);
    }
  }

  #onRenewal(renewal: LeaseRenewal): void {
    if (this.#heartbeats.onRenewal(renewal.sequence)) this.#runs.applyRenewal(renewal, this.#heartbeats.renewedAt);
  }

  // Heartbeats

  #tick(): void {
    const { clock } = this.#options;
    this.#runs.stopExpired();
    if (this.#link !== undefined) {
      if (clock.monotonic() - this.#heardAt >= 2 * this.#beatMs) this.#reconnect("the member does not answer");
      else if (!this.#isWelcome) this.#announce();
      else this.#sendHeartbeat();
    }
    this.#armTick();
  }

  #armTick(): void {
    this.#tickTimer?.cancel();
    this.#tickTimer = this.#options.clock.after(this.#beatMs / ticksInBeat, () => this.#tick());
  }

  /** The next heartbeat is due by the new interval: a member with a shorter one would miss it otherwise. */
  #setBeat(beatMs: number): void {
    if (beatMs === this.#beatMs) return;
    this.#beatMs = beatMs;
    this.#armTick();
  }

  #sendHeartbeat(): void {
    this.#runs.resendResults();
    this.#turns?.repeatReads();
    this.#questions.repeat((attemptId) => this.#runs.isRunning(attemptId));
    if (++this.#ticks % ticksInBeat !== 0) return;
    // A draining worker repeats its hello, because the first one without slots may have been lost.
    if (this.#runs.isClosed) return this.#announce();
    const { runningKeys: running, finishedKeys: finished } = this.#runs;
    this.#send({
      type: "Heartbeat",
      sequence: this.#heartbeats.nextSequence(),
      lastGrant: this.#runs.closeGrants(),
      running,
      finished,
      ...(this.#turns !== undefined && { turns: this.#turns.numbers }),
    });
  }

  #announce(): void {
    const { jobs, code, tags = [] } = this.#options;
    const { running, results } = this.#runs.all;
    this.#send({
      type: "Hello",
      worker: this.id,
      sequence: this.#heartbeats.nextSequence(),
      lastGrant: this.#runs.closeGrants(),
      jobs: [...jobs.keys()],
      // A member that has welcomed the worker knows them.
      ...(!this.#isWelcome && jobs.details !== undefined && { jobDetails: jobs.details() }),
      ...(code !== undefined && { workflows: code.workflows, turns: this.#runs.isClosed ? 0 : code.turnsMax }),
      slots: this.#runs.slots,
      ...(tags.length > 0 && { tags }),
      ...(this.#lastWelcome === undefined ? {} : { lastWelcome: this.#lastWelcome }),
      running,
      results,
    });
  }

  #send(message: WorkerMessage): void {
    this.#link?.send(formatMessage(message));
  }

  // Stopping

  async #drain(): Promise<void> {
    this.#runs.close();
    if (this.#link !== undefined) this.#announce();
    await this.#runs.whenIdle();
  }

  async #stop(): Promise<void> {
    const { logger, graceMs = 5000 } = this.#options;
    this.#runs.stop();
    void this.drain();
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
