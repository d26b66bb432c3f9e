import type { Clock, Timer } from "../base/clock.ts";
import { localName, namespaceOf, qualify } from "../base/namespace.ts";
import type { CommittedTurn } from "../runtime/message.ts";
import type { Region } from "../runtime/region.ts";
import type { WorkerEvent } from "../dispatch/worker-event.ts";
import { changeOf, type InstanceChange } from "./instance-change.ts";
import type { ProgressListeners, TaskProgressReport } from "./progress-listeners.ts";
import { type RelayTopics, TopicFilter, topicsOf } from "./relay-topics.ts";
import type { WorkerListeners } from "./worker-listeners.ts";

/** A request without news is answered after this time, and asked again. */
export const holdMs = 2000;

/** A follower that has not asked for this long is forgotten. */
const forgetMs = 30_000;
const sweepMs = 10_000;

/** The pause between two messages about progress. */
const progressPauseMs = 500;

/** Limit of the changes that one follower has not fetched, in characters; beyond it they are dropped, and it is told that some are lost. */
const keptLengthMax = 8 * 1024 * 1024;
const pageMax = 500;
const pageLength = 200 * 1024;

export interface FollowRequest {
  /** Names one run of the follower's relay. */
  readonly follower: string;
  /** Grows with each change of the topics. */
  readonly version: number;
  /** Absent if the source knows this version. */
  readonly topics?: RelayTopics | undefined;
  /** The number of the last change that the follower has. */
  readonly after: number;
}

export interface FollowAnswer {
  /** The source does not know this version of the topics: they are to be sent. */
  readonly needsTopics?: true | undefined;
  /** Changes before these were lost. */
  readonly isLost?: true | undefined;
  /** Each is the JSON text of an `InstanceChange` or of other `RelayedNews`; oldest first. */
  readonly changes: readonly string[];
  /** The number of the last of them, or of the last change that the follower has. */
  readonly last: number;
  /**
   * Number of shards that the source has opened so far. If it has grown, the turns before the first ones of these changes
   * may be with the owner before.
   */
  readonly shardsOpened?: number | undefined;
}

/** A change of a remote worker among the changes that a follower fetches. */
export interface RelayedWorkerEvent {
  readonly workerEvent: WorkerEvent;
  readonly namespace: string;
}

/** The progress of a running task, for followers of its instance. */
export interface RelayedProgress {
  readonly progressOf: TaskProgressReport;
  readonly namespace: string;
}

/** Lines were written to the task log of an instance. */
export interface RelayedLogLines {
  readonly linesOf: string;
  readonly namespace: string;
}

/** What followers fetch beside the changes of instances. */
export type RelayedNews = RelayedWorkerEvent | RelayedProgress | RelayedLogLines;

export interface RelaySourceParts {
  readonly region: Pick<Region, "subscribe" | "shardsOpened">;
  readonly workers: Pick<WorkerListeners, "add">;
  readonly progress: Pick<ProgressListeners, "add">;
  readonly clock: Clock;
}

interface Session {
  version: number;
  filter: TopicFilter;
  askedAt: number;
  /** The number of the last change that the follower has. */
  after: number;
  /** The changes after that, as far as they are kept, their length, and the number of the first. */
  log: string[];
  length: number;
  first: number;
  waiting: ((answer: FollowAnswer) => void) | undefined;
  timer: Timer | undefined;
}

/**
 * Relays turns of this member, the progress of its tasks, what happens to its remote workers, and news of task logs, to
 * other members whose clients follow them. Followers fetch: each has one request here that is answered when there is news,
 * and confirms with its next request what it got. Without followers nothing is subscribed, so that turns cost nothing more.
 */
export class RelaySource {
  readonly #parts: RelaySourceParts;
  readonly #sessions = new Map<string, Session>();
  readonly #due = new Set<Session>();
  #unsubscribe: (() => void)[] = [];
  #sweepTimer: Timer | undefined;
  /** The last progress of each task that somebody follows, by namespace, instance and task, and when it is sent. */
  readonly #progress = new Map<string, RelayedProgress>();
  #progressTimer: Timer | undefined;

  constructor(parts: RelaySourceParts) {
    this.#parts = parts;
  }

  /** Number of members that follow something here. */
  get followers(): number {
    return this.#sessions.size;
  }

  async follow({ follower, version, topics, after }: FollowRequest): Promise<FollowAnswer> {
    let session = this.#sessions.get(follower);
    const isKnown = session?.version === version;
    // A late copy of an earlier request.
    if (session !== undefined && version < session.version) return { changes: [], last: after };
    if (!isKnown && topics === undefined) return { needsTopics: true, changes: [], last: after };
    session ??= this.#begin(follower, after);
    if (topics !== undefined && !isKnown) {
      session.version = version;
      session.filter = new TopicFilter(topics);
    }
    session.askedAt = this.#parts.clock.monotonic();
    // The request before was given up, or its answer was lost.
    this.#answer(session);
    confirm(session, after);
    // A follower that sends its topics waits for their confirmation.
    if (session.log.length > 0 || hasLost(session) || topics !== undefined) return this.#pageOf(session);
    return await this.#hold(session);
  }

  stop(): void {
    for (const session of this.#sessions.values()) this.#answer(session);
    this.#sessions.clear();
    this.#rest();
  }

  #begin(follower: string, after: number): Session {
    const session: Session = {
      version: -1,
      filter: new TopicFilter(topicsOf([])),
      askedAt: 0,
      after,
      log: [],
      length: 0,
      // Changes since the last that it has may have been kept for it, and are forgotten: one number is never given.
      first: after === 0 ? 1 : after + 2,
      waiting: undefined,
      timer: undefined,
    };
    this.#sessions.set(follower, session);
    if (this.#unsubscribe.length === 0) {
      const { region, workers, progress } = this.#parts;
      this.#unsubscribe = [
        region.subscribe((turn) => this.#onTurn(turn)),
        workers.add((event, namespace) => this.#onWorkerEvent(event, namespace)),
        progress.add((report, namespace) => this.#onProgress(report, namespace)),
      ];
    }
    this.#sweepTimer ??= this.#parts.clock.after(sweepMs, () => this.#sweep());
    return session;
  }

  #onTurn(turn: CommittedTurn): void {
    let change: InstanceChange | undefined;
    for (const session of this.#sessions.values()) {
      if (!session.filter.wants(turn)) continue;
      change ??= changeOf(turn);
      const sent = session.filter.wantsEvents(turn.instanceId) ? change : withoutPayloads(change);
      this.#keep(session, JSON.stringify(sent));
    }
  }

  #onWorkerEvent(workerEvent: WorkerEvent, namespace: string): void {
    this.#tell({ workerEvent, namespace }, (filter) => filter.wantsWorkers(namespace));
  }

  /** Tells followers of its task log that lines of an instance are in the store. */
  onLogLines(instanceId: string): void {
    const [linesOf, namespace] = [localName(instanceId), namespaceOf(instanceId)];
    this.#tell({ linesOf, namespace }, (filter) => filter.wantsLogsOf(instanceId));
  }

  /** Jobs may report as often as they like: the last report of each task is sent, twice a second at most. */
  #onProgress(progressOf: TaskProgressReport, namespace: string): void {
    const id = qualify(namespace, progressOf.instanceId);
    const isWanted = [...this.#sessions.values()].some(({ filter }) => filter.wantsProgressOf(id));
    if (!isWanted) return;
    this.#progress.set(`${progressOf.task} ${id}`, { progressOf, namespace });
    if (this.#progressTimer === undefined) this.#sendProgress();
  }

  #sendProgress(): void {
    this.#progressTimer = undefined;
    if (this.#progress.size === 0) return;
    for (const report of this.#progress.values()) {
      const id = qualify(report.namespace, report.progressOf.instanceId);
      this.#tell(report, (filter) => filter.wantsProgressOf(id));
    }
    this.#progress.clear();
    this.#progressTimer = this.#parts.clock.after(progressPauseMs, () => this.#sendProgress());
  }

  #tell(news: RelayedNews, isWantedBy: (filter: TopicFilter) => boolean): void {
    let text: string | undefined;
    for (const session of this.#sessions.values())
      if (isWantedBy(session.filter)) this.#keep(session, (text ??= JSON.stringify(news)));
  }

  #keep(session: Session, text: string): void {
    if (session.length + text.length > keptLengthMax) drop(session);
    session.log.push(text);
    session.length += text.length;
    if (session.waiting === undefined) return;
    if (this.#due.size === 0) this.#parts.clock.soon(() => this.#answerDue());
    this.#due.add(session);
  }

  /** Changes of one commit go out together. */
  #answerDue(): void {
    for (const session of this.#due) this.#answer(session);
    this.#due.clear();
  }

  #hold(session: Session): Promise<FollowAnswer> {
    const { promise, resolve } = Promise.withResolvers<FollowAnswer>();
    session.waiting = resolve;
    session.timer = this.#parts.clock.after(holdMs, () => this.#answer(session));
    return promise;
  }

  #answer(session: Session): void {
    const { waiting } = session;
    if (waiting === undefined) return;
    session.timer?.cancel();
    session.waiting = undefined;
    waiting(this.#pageOf(session));
  }

  #pageOf(session: Session): FollowAnswer {
    return { ...pageOf(session), shardsOpened: this.#parts.region.shardsOpened };
  }

  #sweep(): void {
    this.#sweepTimer = undefined;
    const since = this.#parts.clock.monotonic() - forgetMs;
    for (const [follower, session] of this.#sessions) {
      if (session.askedAt >= since) continue;
      this.#answer(session);
      this.#sessions.delete(follower);
    }
    if (this.#sessions.size === 0) this.#rest();
    else this.#sweepTimer = this.#parts.clock.after(sweepMs, () => this.#sweep());
  }

  #rest(): void {
    this.#sweepTimer?.cancel();
    this.#sweepTimer = undefined;
    this.#progressTimer?.cancel();
    this.#progressTimer = undefined;
    this.#progress.clear();
    for (const unsubscribe of this.#unsubscribe.splice(0)) unsubscribe();
  }
}

/** Forgets what the follower has. */
function confirm(session: Session, after: number): void {
  session.after = after;
  const count = after - session.first + 1;
  if (count <= 0) return;
  for (const text of session.log.splice(0, count)) session.length -= text.length;
  session.first += count;
}

function drop(session: Session): void {
  // One number more than was dropped, so that a loss shows even if the log was empty.
  session.first += session.log.length + 1;
  session.log = [];
  session.length = 0;
}

function hasLost({ after, first }: Session): boolean {
  return after < first - 1;
}

function pageOf(session: Session): FollowAnswer {
  const changes: string[] = [];
  let length = 0;
  for (const text of session.log) {
    if (changes.length > 0 && (changes.length >= pageMax || length + text.length > pageLength)) break;
    changes.push(text);
    length += text.length;
  }
  const last = session.first + changes.length - 1;
  return hasLost(session) ? { isLost: true, changes, last } : { changes, last };
}

/** Followers of status changes get no outputs. */
function withoutPayloads(change: InstanceChange): object {
  return { ...change, events: change.events.map(({ type }) => ({ type })) };
}
