/** A clock, workers, sessions and listeners of attempts, for the tests of dispatch and worker. */
import type { Clock, Timer } from "../base/clock.ts";
import type { Execution } from "../kernel/event.ts";
import type { Outcome } from "../kernel/input.ts";
import { LogBook } from "../testing/log-book.rig.ts";
import type { Abort } from "./abort.ts";
import { Dispatcher, type DispatcherOptions } from "./dispatcher.ts";
import type { AttemptListener, TaskRun } from "./task-run.ts";
import type { WorkerAnswer, ConnectedWorker, Worker, WorkerConnection } from "./worker.ts";

/** Lets everything happen that waits for nothing but its turn. */
export async function settle(): Promise<void> {
  await new Promise((resolve) => setImmediate(resolve));
}

/** Stands still until it is moved by hand. */
export class HandClock implements Clock {
  #now = 1_000_000;
  #soon: (() => void)[] = [];
  readonly #timers = new Set<{ at: number; callback: () => void }>();

  now(): number {
    return this.#now;
  }

  monotonic(): number {
    return this.#now;
  }

  after(delayMs: number, callback: () => void): Timer {
    const timer = { at: this.#now + delayMs, callback };
    this.#timers.add(timer);
    return { cancel: () => void this.#timers.delete(timer) };
  }

  soon(callback: () => void): void {
    this.#soon.push(callback);
  }

  get timerCount(): number {
    return this.#timers.size;
  }

  /** Time passes unnoticed, as while a job keeps the event loop busy. */
  skip(ms: number): void {
    this.#now += ms;
  }

  async advance(ms: number): Promise<void> {
    const end = this.#now + ms;
    await this.#runSoon();
    for (;;) {
      const due = [...this.#timers].filter((timer) => timer.at <= end).toSorted((a, b) => a.at - b.at)[0];
      if (due === undefined) break;
      this.#timers.delete(due);
      this.#now = Math.max(this.#now, due.at);
      due.callback();
      await this.#runSoon();
    }
    this.#now = end;
  }

  async #runSoon(): Promise<void> {
    await settle();
    while (this.#soon.length > 0) {
      const callbacks = this.#soon;
      this.#soon = [];
      for (const callback of callbacks) callback();
      await settle();
    }
  }
}

export interface Call {
  readonly run: TaskRun;
  readonly abort: Abort;
  readonly promise: Promise<WorkerAnswer>;
  readonly resolve: (answer: WorkerAnswer) => void;
  readonly reject: (error: unknown) => void;
}

/** Its jobs end when the test says so, or as `answer` says. */
export class HandWorker implements Worker {
  readonly address: string = "hand";
  readonly isRemote: boolean = false;
  readonly missing = new Set<string>();
  readonly tags = new Set<string>();
  readonly calls: Call[] = [];
  answer: ((run: TaskRun) => Outcome | Promise<WorkerAnswer>) | undefined;
  stopped = false;

  get freeSlots(): number {
    return Infinity;
  }

  hasJob(id: string): boolean {
    return !this.missing.has(id);
  }

  execute(run: TaskRun, abort: Abort): Outcome | Promise<WorkerAnswer> {
    const { promise, resolve, reject } = Promise.withResolvers<WorkerAnswer>();
    // Where `answer` was given instead, nobody looks at this one; it may be rejected all the same.
    promise.catch(() => undefined);
    this.calls.push({ run, abort, promise, resolve, reject });
    return this.answer?.(run) ?? promise;
  }

  async stop(): Promise<void> {
    this.stopped = true;
    await Promise.resolve();
  }

  call(attemptId: string): Call {
    const call = this.calls.findLast(({ run }) => run.attemptId === attemptId);
    if (call === undefined) throw new Error(`${attemptId} was never started`);
    return call;
  }

  get started(): string[] {
    return this.calls.map(({ run }) => run.attemptId);
  }
}

/** A worker from outside, without the messages: its jobs end, or are refused, when the test says so. */
export class HandSession extends HandWorker implements ConnectedWorker {
  override readonly address: string;
  override readonly isRemote = true;
  readonly workflows = [];
  readonly heard: string[] = [];
  /** Ids of attempts that have a slot. */
  readonly taken = new Set<string>();
  readonly followed = new Map<string, Abort>();
  /** By attempt: when the test says so, it has stopped. One that is not here stops at once. */
  readonly stops = new Map<string, PromiseWithResolvers<"stopped" | "disconnected">>();
  readonly connection: WorkerConnection;
  slots: number;
  isReachable = true;
  readonly lastHeardAt = 0;
  readonly namespace = "default";
  readonly jobs = [];
  /** What it has left to report results, once it is in touch again. */
  graceMs = 0;
  isDraining = false;
  /** It still has what is to be adopted. */
  isThere = true;

  constructor(name: string, slots = 2) {
    super();
    this.address = `here/${name}`;
    this.connection = { worker: name, since: 1 };
    this.slots = slots;
  }

  timeoutGraceMs(): number {
    return this.isReachable ? this.graceMs : Infinity;
  }

  override get freeSlots(): number {
    return this.isDraining ? 0 : Math.max(0, this.slots - this.taken.size);
  }

  drain(): void {
    this.isDraining = true;
  }

  reserve(attemptId: string): void {
    this.taken.add(attemptId);
  }

  override execute(run: TaskRun, abort: Abort): Promise<WorkerAnswer> {
    this.follow(run.attemptId, abort);
    return Promise.resolve(super.execute(run, abort)).finally(() => this.taken.delete(run.attemptId));
  }

  follow(attemptId: string, abort: Abort): boolean {
    this.taken.add(attemptId);
    this.followed.set(attemptId, abort);
    abort.signal.addEventListener("abort", () => {
      this.taken.delete(attemptId);
      this.heard.push(`${attemptId} aborted`);
    });
    return this.isThere;
  }

  whenStopped(attemptId: string): Promise<"stopped" | "disconnected"> | undefined {
    return this.stops.get(attemptId)?.promise;
  }

  forget(attemptId: string): void {
    this.taken.delete(attemptId);
    this.heard.push(`${attemptId} forgotten`);
  }

  unfollow(attemptId: string): void {
    this.taken.delete(attemptId);
    this.heard.push(`${attemptId} unfollowed`);
  }

  keepResult(attemptId: string): void {
    this.heard.push(`${attemptId} kept`);
  }

  acknowledge(attemptId: string): void {
    this.heard.push(`${attemptId} acknowledged`);
  }

  async refuse(attemptId: string): Promise<void> {
    this.call(attemptId).resolve({ kind: "refused", why: "full" });
    await settle();
  }
}

/** Records the notifications about attempts. */
export class RecordingListener implements AttemptListener {
  readonly heard: string[] = [];
  readonly outcomes = new Map<string, Outcome>();
  readonly executions = new Map<string, Execution>();
  readonly acknowledge = new Map<string, () => void>();

  onStarted(run: TaskRun): void {
    this.heard.push(`${run.attemptId} started`);
  }

  onEnded(run: TaskRun, outcome: Outcome, execution: Execution, acknowledge?: () => void): void {
    if (acknowledge !== undefined) this.acknowledge.set(run.attemptId, acknowledge);
    this.heard.push(`${run.attemptId} ${outcome.kind}`);
    this.outcomes.set(run.attemptId, outcome);
    this.executions.set(run.attemptId, execution);
  }

  onWithdrawn(run: TaskRun): void {
    this.heard.push(`${run.attemptId} withdrawn`);
  }

  /** All but the starts. */
  get ends(): string[] {
    return this.heard.filter((line) => !line.endsWith(" started"));
  }
}

const noInputs = { context: {}, outputs: {} };

export const success: Outcome = { kind: "success" };

export function makeRun(listener: AttemptListener, attemptId: string, given: Partial<TaskRun> = {}): TaskRun {
  return {
    attemptId,
    instanceId: "instance",
    workflowName: "nightly",
    taskName: attemptId,
    task: 0,
    attempt: 1,
    generation: 1,
    job: "job",
    params: "{}",
    domain: "default",
    rank: 0,
    successors: 0,
    timeoutMs: 30_000,
    interruptions: 0,
    isCautious: false,
    confirmStart: () => Promise.resolve(),
    inputs: () => noInputs,
    completionToken: undefined,
    listener,
    ...given,
  };
}

/** A dispatcher with everything around it in the hands of the test. */
export class Rig {
  readonly clock = new HandClock();
  readonly worker = new HandWorker();
  readonly listener = new RecordingListener();
  readonly log = new LogBook();
  readonly dispatcher: Dispatcher;

  constructor(options: Partial<DispatcherOptions> = {}) {
    const { clock, worker, log: logger } = this;
    this.dispatcher = new Dispatcher({ clock, worker, logger, poolSizeMax: 64, ...options });
  }

  run(attemptId: string, given: Partial<TaskRun> = {}): TaskRun {
    return makeRun(this.listener, attemptId, given);
  }

  async enqueue(...runs: readonly (TaskRun | string)[]): Promise<void> {
    for (const run of runs) this.dispatcher.enqueue(typeof run === "string" ? this.run(run) : run);
    await settle();
  }

  /** The outcome is durable at once. */
  async finish(attemptId: string, outcome: Outcome = success): Promise<void> {
    await this.finishVolatile(attemptId, outcome);
    this.listener.acknowledge.get(attemptId)?.();
    await settle();
  }

  /** All outcomes are durable, also of those that start and end because of it. */
  async acknowledgeAll(): Promise<void> {
    const { acknowledge } = this.listener;
    for (let known = -1; known < acknowledge.size;) {
      known = acknowledge.size;
      for (const each of acknowledge.values()) each();
      await settle();
    }
  }

  async finishVolatile(attemptId: string, outcome: Outcome = success): Promise<void> {
    this.worker.call(attemptId).resolve(outcome);
    await settle();
  }

  get running(): string[] {
    return this.dispatcher.status.listRunning().map(({ run }) => run.attemptId);
  }

  get waiting(): string[] {
    return this.dispatcher.status.listWaiting().map(({ run }) => run.attemptId);
  }
}
