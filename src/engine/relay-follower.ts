import type { Clock } from "../base/clock.ts";
import { messageOf } from "../base/error.ts";
import type { Logger } from "../base/logger.ts";
import { qualify } from "../base/namespace.ts";
import type { Random } from "../base/random.ts";
import { RecentMap } from "../cluster/recent-map.ts";
import type { MemberEvent } from "../cluster/member-event.ts";
import type { WorkerEvent } from "../dispatch/worker-event.ts";
import type { InstanceChange } from "./instance-change.ts";
import type { TaskProgressReport } from "./progress-listeners.ts";
import { type FollowAnswer, type FollowRequest, holdMs, type RelayedNews } from "./relay-source.ts";
import { type RelayTopic, topicKey, topicsOf } from "./relay-topics.ts";

/** A member that has not answered by then is asked again, and again, with this pause. */
const answerMs = holdMs + 3000;
const pauseMs = 500;

/** A new topic waits for its members at most this long; those that come later make a gap. */
const readyMs = 2000;

/** Limits of the memory for the last turn of each instance, by which repeats and late turns are dropped. */
const turnsKeptMs = 10 * 60_000;
const turnsMax = 50_000;

export interface RelayListener {
  readonly namespace: string;
  /** True for a listener that wants the events themselves; others get their types. */
  readonly withEvents: boolean;
  /** Called with changes that other members committed, each once and none older than the last of its instance. */
  readonly onChange: (change: InstanceChange) => void;
  /** Called with what happened to the remote workers of other members, each once. */
  readonly onWorkerEvent?: (event: WorkerEvent) => void;
  /** Called with the progress of tasks of other members whose instances are followed by their ids, twice a second at most. */
  readonly onProgress?: (report: TaskProgressReport) => void;
  /** Called when another member has written lines to the task log of an instance. */
  readonly onLogLines?: (instanceId: string) => void;
  /** Changes of other members were lost, or may have been: what is followed has to be read from the store. */
  readonly onGap: () => void;
  /** Another member has opened shards: it may send turns before those of the owner before. */
  readonly onShardsOpened?: () => void;
  /** Nothing is followed any more, because the engine stops. */
  readonly onStopped?: () => void;
}

export interface RelaySubscription {
  /** Follows a topic. Resolves when every member that lives knows of it, or after two seconds. */
  add(topic: RelayTopic): Promise<void>;
  delete(topic: RelayTopic): void;
  /** Ends everything that it follows. */
  stop(): void;
  /** Notes a turn of this member, so that a late one of the owner before is recognised. */
  noteOwn(change: Pick<InstanceChange, "namespace" | "instanceId" | "createdAt" | "turn">): void;
  /** Members that have not confirmed what is followed here. */
  readonly unheard: readonly string[];
}

/** The other members, as far as the relay needs them. */
export interface RelayMembers {
  members(): readonly { readonly id: string; readonly isSelf: boolean }[];
  ask(member: string, question: unknown, options: { timeoutMs: number; holdMs?: number }): Promise<unknown>;
  onEvent(listener: (event: MemberEvent) => void): () => void;
}

export interface RelayFollowerParts {
  readonly member: RelayMembers;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
}

interface Subscriber {
  readonly listener: RelayListener;
  readonly keys: Set<string>;
}

/**
 * Fetches from all other members the changes that somebody here follows. Each of them has a session for this follower
 * (`RelaySource`), and one request of it at a time. While nobody follows anything, nothing is asked.
 */
export class RelayFollower {
  readonly #parts: RelayFollowerParts;
  readonly #subscribers = new Set<Subscriber>();
  readonly #sources = new Map<string, Source>();
  readonly #turns: RecentMap<{ readonly createdAt: number; readonly turn: number }>;
  readonly #waiters = new Set<() => void>();
  #session = "";
  #version = 0;
  /** The version whose topics count as followed, whether or not all members have confirmed it. */
  #begun = 0;
  #unlisten: (() => void) | undefined;
  #isStopped = false;

  constructor(parts: RelayFollowerParts) {
    this.#parts = parts;
    const { clock } = parts;
    this.#turns = new RecentMap({ clock, ageMsMax: turnsKeptMs, countMax: turnsMax });
  }

  subscribe(listener: RelayListener): RelaySubscription {
    const subscriber: Subscriber = { listener, keys: new Set() };
    this.#subscribers.add(subscriber);
    const unheard = (): string[] =>
      [...this.#sources.values()].flatMap(({ id, heard }) => (heard >= this.#begun ? [] : [id]));
    return {
      add: (topic) => {
        subscriber.keys.add(topicKey(listener.namespace, topic));
        return this.#whenReady(this.#onTopics());
      },
      delete: (topic) => {
        if (subscriber.keys.delete(topicKey(listener.namespace, topic))) this.#onTopics();
      },
      stop: () => {
        if (this.#subscribers.delete(subscriber) && subscriber.keys.size > 0) this.#onTopics();
      },
      noteOwn: (change) => {
        if (this.#sources.size > 0) this.#isNew(change);
      },
      get unheard() {
        return unheard();
      },
    };
  }

  stop(): void {
    this.#isStopped = true;
    this.#rest();
    for (const { listener } of this.#subscribers) listener.onStopped?.();
  }

  #rest(): void {
    this.#unlisten?.();
    this.#unlisten = undefined;
    for (const source of this.#sources.values()) source.stop();
    this.#sources.clear();
    this.#wakeWaiters();
  }

  /** Tells all members what is followed now; returns the version of it. */
  #onTopics(): number {
    this.#version++;
    const isIdle = [...this.#subscribers].every(({ keys }) => keys.size === 0);
    if (isIdle || this.#isStopped) {
      for (const source of this.#sources.values()) source.leave();
      this.#rest();
      return this.#version;
    }
    const isBeginning = this.#unlisten === undefined;
    if (isBeginning) {
      const { member, random, clock } = this.#parts;
      this.#session = random.uuid(clock.now());
      this.#unlisten = member.onEvent((event) => {
        if (!("address" in event)) return;
        this.#findSources(true);
        if (event.type === "joined" && this.#isSelf(event.member)) this.#onGap();
      });
    }
    for (const source of this.#sources.values()) source.onTopics();
    this.#findSources(!isBeginning);
    return this.#version;
  }

  /**
   * Begins to ask members that have joined, and forgets those that are gone. Turns that a member committed before it
   * heard what is followed here, or that nobody fetched before it was gone, are a gap.
   */
  #findSources(isBehind: boolean): void {
    const others = this.#parts.member.members().filter(({ isSelf }) => !isSelf);
    const living = new Set(others.map(({ id }) => id));
    let hasGone = false;
    for (const [id, source] of this.#sources) {
      if (living.has(id)) continue;
      source.stop();
      this.#sources.delete(id);
      hasGone = true;
    }
    for (const id of living) {
      if (this.#sources.has(id)) continue;
      const source = new Source({
        ...this.#parts,
        id,
        isBehind,
        session: this.#session,
        version: () => this.#version,
        topics: () => this.#topics(),
        onChange: (change) => this.#deliver(change),
        onNews: (news) => this.#deliverNews(news),
        onGap: () => this.#onGap(),
        onShardsOpened: () => this.#onShardsOpened(),
        onHeard: () => this.#wakeWaiters(),
      });
      this.#sources.set(id, source);
      void source.run();
    }
    this.#wakeWaiters();
    if (hasGone) this.#onGap();
  }

  /** A member that joins again may have committed turns, before it was removed, without hearing so: nobody was told of them. */
  #isSelf(member: string): boolean {
    return this.#parts.member.members().some(({ id, isSelf }) => isSelf && id === member);
  }

  #topics(): FollowRequest["topics"] {
    const subscribers = [...this.#subscribers];
    const keys = subscribers.flatMap((subscriber) => [...subscriber.keys]);
    const namespacesOf = (wants: (listener: RelayListener) => boolean): string[] =>
      subscribers.flatMap(({ listener, keys: own }) => (wants(listener) && own.size > 0 ? [listener.namespace] : []));
    return topicsOf(keys, {
      withEvents: namespacesOf(({ withEvents }) => withEvents),
      withProgress: namespacesOf(({ onProgress }) => onProgress !== undefined),
    });
  }

  async #whenReady(version: number): Promise<void> {
    const { clock } = this.#parts;
    const late = Promise.withResolvers<"late">();
    const timer = clock.after(readyMs, () => late.resolve("late"));
    const isReady = (): boolean => [...this.#sources.values()].every(({ heard }) => heard >= version);
    while (!this.#isStopped && !isReady()) {
      const changed = new Promise<void>((resolve) => void this.#waiters.add(resolve));
      if ((await Promise.race([changed, late.promise])) === "late") break;
    }
    timer.cancel();
    this.#begun = Math.max(this.#begun, version);
    // A member that hears of the topic later has not sent what happened until then.
    for (const source of this.#sources.values()) if (source.heard < version) source.isBehind = true;
  }

  #wakeWaiters(): void {
    for (const wake of this.#waiters) wake();
    this.#waiters.clear();
  }

  #deliver(change: InstanceChange): void {
    if (!this.#isNew(change)) return;
    const { namespace, instanceId, workflowName } = change;
    const keys = [
      topicKey(namespace, { all: true }),
      topicKey(namespace, { workflow: workflowName }),
      topicKey(namespace, { instanceId }),
    ];
    for (const { listener, keys: own } of this.#subscribers) {
      if (!keys.some((key) => own.has(key))) continue;
      this.#protect(() => listener.onChange(change));
    }
  }

  #deliverNews(news: RelayedNews): void {
    const { topic, tell } = partsOf(news);
    const key = topicKey(news.namespace, topic);
    for (const { listener, keys } of this.#subscribers) if (keys.has(key)) this.#protect(() => tell(listener));
  }

  /** False for a turn that came before, or that is older than the last of its instance. */
  #isNew({ namespace, instanceId, createdAt, turn }: Parameters<RelaySubscription["noteOwn"]>[0]): boolean {
    const id = qualify(namespace, instanceId);
    const last = this.#turns.get(id);
    if (last !== undefined && (createdAt < last.createdAt || (createdAt === last.createdAt && turn <= last.turn)))
      return false;
    this.#turns.set(id, { createdAt, turn });
    return true;
  }

  #onGap(): void {
    for (const { listener, keys } of this.#subscribers) if (keys.size > 0) this.#protect(() => listener.onGap());
  }

  #onShardsOpened(): void {
    for (const { listener, keys } of this.#subscribers)
      if (keys.size > 0) this.#protect(() => listener.onShardsOpened?.());
  }

  #protect(call: () => void): void {
    try {
      call();
    } catch (error) {
      this.#parts.logger.warn(
        { error: messageOf(error) },
        "a subscriber threw; it is called again for the next change",
      );
    }
  }
}

/** The topic that news belong to, and how a listener is told of them. */
function partsOf(news: RelayedNews): {
  readonly topic: RelayTopic;
  readonly tell: (listener: RelayListener) => void;
} {
  if ("workerEvent" in news)
    return { topic: { workers: true }, tell: ({ onWorkerEvent }) => onWorkerEvent?.(news.workerEvent) };
  if ("linesOf" in news)
    return { topic: { logsOf: news.linesOf }, tell: ({ onLogLines }) => onLogLines?.(news.linesOf) };
  const { progressOf } = news;
  return { topic: { instanceId: progressOf.instanceId }, tell: ({ onProgress }) => onProgress?.(progressOf) };
}

interface SourceParts extends RelayFollowerParts {
  readonly id: string;
  readonly isBehind: boolean;
  readonly session: string;
  readonly version: () => number;
  readonly topics: () => FollowRequest["topics"];
  readonly onChange: (change: InstanceChange) => void;
  readonly onNews: (news: RelayedNews) => void;
  readonly onGap: () => void;
  readonly onShardsOpened: () => void;
  readonly onHeard: () => void;
}

/** One member that is asked for its changes. */
class Source {
  readonly id: string;
  /** The version of the topics that the member has confirmed. */
  heard = -1;
  /** True if something that it has not confirmed counts as followed already: what it missed is a gap. */
  isBehind: boolean;
  readonly #parts: SourceParts;
  #after = 0;
  #shardsOpened: number | undefined;
  #isStopped = false;
  readonly #stopped = Promise.withResolvers<void>();
  #changed = Promise.withResolvers<"changed">();

  constructor(parts: SourceParts) {
    this.#parts = parts;
    this.id = parts.id;
    this.isBehind = parts.isBehind;
  }

  stop(): void {
    this.#isStopped = true;
    this.#stopped.resolve();
    this.#changed.resolve("changed");
  }

  /** Nothing is followed any more. If the member does not hear of it, it forgets its follower after a while. */
  leave(): void {
    const { member, session, version } = this.#parts;
    const topics = topicsOf([]);
    const request = { type: "FollowChanges", follower: session, version: version(), topics, after: this.#after };
    member.ask(this.id, request, { timeoutMs: answerMs, holdMs }).catch(() => undefined);
  }

  /** The topics have changed: the request under way is given up, and its answer ignored. */
  onTopics(): void {
    this.#changed.resolve("changed");
  }

  async run(): Promise<void> {
    const { clock, logger } = this.#parts;
    while (!this.#isStopped) {
      try {
        await this.#ask();
      } catch (error) {
        logger.debug(
          { member: this.id, error: messageOf(error) },
          "changes of a member could not be fetched; retrying",
        );
        await this.#pause(clock);
      }
    }
  }

  async #pause(clock: Clock): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const timer = clock.after(pauseMs, resolve);
    await Promise.race([promise, this.#stopped.promise]);
    timer.cancel();
  }

  async #ask(): Promise<void> {
    const { member, session, version, topics } = this.#parts;
    const asked = version();
    this.#changed = Promise.withResolvers();
    const request: FollowRequest & { type: string } = {
      type: "FollowChanges",
      follower: session,
      version: asked,
      ...(this.heard !== asked && { topics: topics() }),
      after: this.#after,
    };
    const answered = member.ask(this.id, request, { timeoutMs: answerMs, holdMs }) as Promise<FollowAnswer>;
    const answer = await Promise.race([answered, this.#changed.promise]);
    if (answer === "changed" || this.#isStopped) return void answered.catch(() => undefined);
    if (answer.needsTopics === true) this.#onForgotten();
    else this.#take(answer, asked);
  }

  /** The member knew the topics and has forgotten this follower: what it committed since is lost. */
  #onForgotten(): void {
    this.heard = -1;
    this.isBehind = true;
  }

  #take({ isLost, changes, last, shardsOpened }: FollowAnswer, asked: number): void {
    const { onChange, onNews, onGap, onShardsOpened, onHeard } = this.#parts;
    const isNews = this.heard !== asked;
    // The changes of the answer come after the gap: a subscriber takes them for the first ones if it does not know of it.
    if (isLost === true || (isNews && this.isBehind)) {
      this.isBehind = false;
      onGap();
    }
    const hadOpened = this.#shardsOpened;
    this.#shardsOpened = shardsOpened ?? hadOpened;
    if (hadOpened !== undefined && this.#shardsOpened !== hadOpened) onShardsOpened();
    for (const text of changes) {
      const news = JSON.parse(text) as InstanceChange | RelayedNews;
      if ("instanceId" in news) onChange(news);
      else onNews(news);
    }
    this.#after = last;
    this.heard = asked;
    if (isNews) onHeard();
  }
}
