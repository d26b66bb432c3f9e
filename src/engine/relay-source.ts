import type { Clock, Timer } from "../base/clock.ts";
import type { CommittedTurn } from "../runtime/message.ts";
import type { Region } from "../runtime/region.ts";
import type { WorkerEvent } from "../dispatch/worker-event.ts";
import { changeOf, type InstanceChange } from "./instance-change.ts";
import { type RelayTopics, TopicFilter } from "./relay-topics.ts";
import type { WorkerListeners } from "./worker-listeners.ts";

/** A request without news is answered after this time, and asked again. */
export const holdMs = 2000;

/** A follower that has not asked for this long is forgotten. */
const forgetMs = 30_000;
const sweepMs = 10_000;

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
  /** Each is the JSON text of an `InstanceChange` or a `RelayedWorkerEvent`; oldest first. */
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
 * Relays turns of this member, and what happens to its remote workers, to other members whose clients follow them. Followers fetch: each has one request here that
 * is answered when there is news, and confirms with its next request what it got. Without followers nothing is subscribed,
 * so that turns cost nothing more.
 */
export class RelaySource {
  readonly #region: Pick<Region, "subscribe" | "shardsOpened">;
  readonly #workers: Pick<WorkerListeners, "add">;
  readonly #clock: Clock;
  readonly #sessions = new Map<string, Session>();
  readonly #due = new Set<Session>();
  #unsubscribe: (() => void)[] = [];
  #sweepTimer: Timer | undefined;

  constructor(parts: {
    readonly region: Pick<Region, "subscribe" | "shardsOpened">;
    readonly workers: Pick<WorkerListeners, "add">;
    readonly clock: Clock;
  }) {
    this.#region = parts.region;
    this.#workers = parts.workers;
    this.#clock = parts.clock;
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
    session.askedAt = this.#clock.monotonic();
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
      filter: new TopicFilter({ namespaces: [], workflows: [], instances: [], withEvents: [] }),
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
      this.#unsubscribe = [
        this.#region.subscribe((turn) => this.#onTurn(turn)),
        this.#workers.add((event, namespace) => this.#onWorkerEvent(event, namespace)),
      ];
    }
    this.#sweepTimer ??= this.#clock.after(sweepMs, () => this.#sweep());
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
    for (const session of this.#sessions.values()) {
      if (!session.filter.wantsWorkers(namespace)) continue;
      this.#keep(session, JSON.stringify({ workerEvent, namespace } satisfies RelayedWorkerEvent));
    }
  }

  #keep(session: Session, text: string): void {
    if (session.length + text.length > keptLengthMax) drop(session);
    session.log.push(text);
    session.length += text.length;
    if (session.waiting === undefined) return;
    if (this.#due.size === 0) this.#clock.soon(() => this.#answerDue());
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
    session.timer = this.#clock.after(holdMs, () => this.#answer(session));
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
    return { ...pageOf(session), shardsOpened: this.#region.shardsOpened };
  }

  #sweep(): void {
    this.#sweepTimer = undefined;
    const since = this.#clock.monotonic() - forgetMs;
    for (const [follower, session] of this.#sessions) {
      if (session.askedAt >= since) continue;
      this.#answer(session);
      this.#sessions.delete(follower);
    }
    if (this.#sessions.size === 0) this.#rest();
    else this.#sweepTimer = this.#clock.after(sweepMs, () => this.#sweep());
  }

  #rest(): void {
    this.#sweepTimer?.cancel();
    this.#sweepTimer = undefined;
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
