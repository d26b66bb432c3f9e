import { randomBytes } from "node:crypto";
import type { Clock } from "../../base/clock.ts";
import { messageOf } from "../../base/error.ts";
import type { EngineNamespace } from "../../engine/engine-namespace.ts";
import type { InstanceChange } from "../../engine/instance-change.ts";
import type { RelaySubscription } from "../../engine/relay-follower.ts";
import { systemClock } from "../../engine/system-clock.ts";
import { type CatchUp, type CatchUpPlace, type HistoryEngine, missedInstances, missedTurns } from "./catch-up.ts";
import { CatchUpSlots } from "./catch-up-slots.ts";
import { ChangeRing, type RingLimits } from "./change-ring.ts";
import { Channel, type ChannelLimits } from "./channel.ts";
import type { Cursor } from "./cursor.ts";
import { HeardTopics } from "./heard-topics.ts";
import { FanOut } from "./fan-out.ts";
import { type FeedEntry, LiveEntry } from "./feed-entry.ts";
import { Follower } from "./follower.ts";
import { type Missed, MissedEntries } from "./missed.ts";
import type { Outlet } from "./outlet.ts";
import { ProgressFeed } from "./progress-feed.ts";
import { StoreListing } from "./store-listing.ts";
import { concerns, isWide, type Topic } from "./topic.ts";

export type FeedLimits = RingLimits & ChannelLimits;

export interface FeedParts {
  readonly engine: HistoryEngine &
    Pick<EngineNamespace, "subscribe" | "executor" | "listWorkflowInstances"> & {
      readonly cluster: Pick<EngineNamespace["cluster"], "follow">;
    };
  readonly clock?: Clock;
  readonly limits?: Partial<FeedLimits>;
}

/** The position of a follower that catches up. */
interface Place {
  readonly topic: Topic;
  readonly channel: Channel;
  readonly since: Cursor;
}

const megabyte = 1024 * 1024;

const defaultLimits: FeedLimits = {
  entriesMax: 50_000,
  bytesMax: 64 * megabyte,
  heldBytes: megabyte / 4,
  behindBytesMax: 4 * megabyte,
  lateMsMax: 10_000,
  catchUpMsMax: 60_000,
};

/** Limit of concurrent catch-ups per client. */
const catchUpsPerClientMax = 4;

/** Bytes per round for all followers together. */
const roundBytes = 32 * megabyte;
/** Minimum bytes per round for each follower. */
const shareBytesMin = 8 * 1024;
const shareBytesMax = megabyte;

/**
 * Distributes durable changes to all followers: those of this engine, from one subscription, and those of other members that
 * somebody here follows.
 */
export class ChangeFeed {
  /** Identifies this run of the server in cursors. */
  readonly id = randomBytes(6).toString("hex");
  readonly #engine: FeedParts["engine"];
  readonly #clock: Clock;
  readonly #limits: FeedLimits;
  readonly #ring: ChangeRing;
  readonly #fanOut: FanOut;
  readonly #all: Channel;
  readonly #byWorkflow = new Map<string, Channel>();
  readonly #byInstance = new Map<string, Channel>();
  /** Channels with something to send. */
  readonly #due = new Set<Channel>();
  readonly #listing: StoreListing;
  readonly #slots = new CatchUpSlots(catchUpsPerClientMax);
  readonly #relay: RelaySubscription | undefined;
  readonly #heard: HeardTopics;
  readonly #unsubscribe: () => void;
  readonly #progress: ProgressFeed;
  readonly #unsubscribeProgress: () => void;

  /** Subscribes to the engine, so create it before the engine is started. */
  constructor({ engine, clock = systemClock, limits = {} }: FeedParts) {
    this.#engine = engine;
    this.#clock = clock;
    this.#limits = { ...defaultLimits, ...limits };
    this.#ring = new ChangeRing(this.#limits);
    this.#listing = new StoreListing(engine);
    this.#relay = engine.cluster.follow({
      withEvents: false,
      onChange: (change) => this.#hear(change),
      onProgress: (report) => this.#progress.hear(report),
      onGap: () => this.#onGap(),
    });
    this.#heard = new HeardTopics({ relay: this.#relay, clock, last: () => this.#ring.last });
    this.#all = this.#newChannel({ all: true });
    this.#fanOut = new FanOut(clock, (isOver) => this.#flush(isOver));
    this.#unsubscribe = engine.subscribe((change) => this.#hearOwn(change), { scope: "process" });
    this.#progress = new ProgressFeed(clock, {
      isFollowed: (instanceId) => this.#byInstance.has(instanceId),
      push: (progress) => this.#byInstance.get(progress.instanceId)?.sendProgress(progress),
    });
    this.#unsubscribeProgress = engine.executor.onTaskProgress((report) => this.#progress.hear(report));
  }

  /** Number of subscriptions. */
  get followers(): number {
    let count = this.#all.size;
    for (const channel of this.#byWorkflow.values()) count += channel.size;
    for (const channel of this.#byInstance.values()) count += channel.size;
    return count;
  }

  /** Number of subscriptions that catch up. */
  get catchUps(): number {
    return this.#slots.size;
  }

  /** The cursor after the last change. */
  get cursor(): Cursor {
    return { feed: this.id, seq: this.#ring.last, at: this.#clock.now() };
  }

  /** Members that do not send what is followed here yet. */
  get unheard(): readonly string[] {
    return this.#relay?.unheard ?? [];
  }

  /**
   * Asks all members for a topic, before `follow`: undefined if they send it already, and always for an engine alone.
   * Otherwise resolves when they do, or after two seconds: then what was missed comes from the store.
   */
  prepare(topic: Topic): Promise<void> | undefined {
    return this.#heard.prepare(topic);
  }

  /**
   * Sends changes to the outlet, from now on or since a cursor. Returns the current cursor and
   * a function that ends the subscription. The outlet receives nothing before this returns.
   */
  follow(topic: Topic, outlet: Outlet, since?: Cursor): { readonly cursor: Cursor; readonly stop: () => void } {
    const follower = new Follower(outlet, since ?? this.cursor);
    const channel = this.#channelOf(topic);
    channel.join(follower);
    this.#heard.hold(topic);
    if (since !== undefined) this.#bringUp(follower, { topic, channel, since });
    return { cursor: follower.cursor, stop: () => this.#leave(follower, { topic, channel }) };
  }

  /** Ends all subscriptions. */
  stop(): void {
    this.#unsubscribe();
    this.#unsubscribeProgress();
    this.#progress.stop();
    this.#fanOut.stop();
    this.#heard.stop();
    for (const channel of this.#channels()) {
      for (const { outlet, cursor } of channel.followers) {
        outlet.drop({ why: "stopping", message: "the server is stopping; reconnect with your cursor", cursor });
      }
    }
  }

  #channels(): Channel[] {
    return [this.#all, ...this.#byWorkflow.values(), ...this.#byInstance.values()];
  }

  #hearOwn(change: InstanceChange): void {
    this.#relay?.noteOwn(change);
    this.#hear(change);
  }

  /** Changes of other members were lost: what is followed is read from the store. */
  #onGap(): void {
    this.#heard.onGap();
    for (const channel of this.#channels()) for (const follower of channel.followers) this.#reread(follower, channel);
  }

  #reread(follower: Follower, channel: Channel): void {
    const { topic } = channel;
    // A page that it reads now may have been read before the lost changes were committed.
    if (follower.isCatchingUp || follower.missedLeft > 0) return void (follower.mustReread = true);
    const place = { topic, channel, since: follower.cursor };
    if (!isWide(topic)) return this.#catchUp(follower, place);
    follower.isCatchingUp = true;
    this.#slots.acquire(follower, () => void this.#readUp(follower, place, "changes of another member were lost"));
  }

  #onCaughtUp(follower: Follower, channel: Channel): void {
    this.#slots.release(follower);
    if (!follower.mustReread) return;
    follower.mustReread = false;
    this.#reread(follower, channel);
  }

  #hear(change: InstanceChange): void {
    const place = { feed: this.id, seq: this.#ring.last + 1, at: this.#clock.now() };
    const entry = new LiveEntry(change, place);
    this.#ring.add(entry);
    this.#append(this.#all, entry);
    this.#append(this.#byWorkflow.get(entry.workflowName), entry);
    this.#append(this.#byInstance.get(entry.instanceId), entry);
  }

  #append(channel: Channel | undefined, entry: FeedEntry): void {
    if (channel === undefined || channel.size === 0) return;
    channel.append(entry);
    this.#isDue(channel);
  }

  #isDue(channel: Channel): void {
    this.#due.add(channel);
    this.#fanOut.requestRound();
  }

  #flush(isOver: () => boolean): boolean {
    const now = this.#clock.now();
    let followers = 0;
    for (const channel of this.#due) followers += channel.size;
    const allowanceBytes = Math.min(Math.max(roundBytes / Math.max(followers, 1), shareBytesMin), shareBytesMax);
    // A copy, because channels with more to send are moved to the end.
    for (const channel of Array.from(this.#due)) {
      if (isOver()) break;
      this.#due.delete(channel);
      if (channel.flush({ allowanceBytes, now, isOver })) this.#due.add(channel);
    }
    return this.#due.size > 0;
  }

  #bringUp(follower: Follower, place: Place): void {
    follower.isCatchingUp = true;
    this.#slots.acquire(follower, () => {
      if (!this.#replay(follower, place)) void this.#readUp(follower, place, this.#whyNotKept(place.since));
    });
  }

  /** Catches up without a resync notice: turns of another member only arrive late. */
  #catchUp(follower: Follower, place: Place): void {
    follower.isCatchingUp = true;
    this.#slots.acquire(follower, () => void this.#readUp(follower, place));
  }

  /** Replays missed changes from the ring; false if it does not have all of them. */
  #replay(follower: Follower, { topic, channel, since }: Place): boolean {
    if (since.feed !== this.id || !this.#heard.isHeardSince(topic, since.seq)) return false;
    const kept = this.#ring.after(since.seq, (entry) => concerns(topic, entry) && !isHeard(entry, topic, since));
    if (kept === undefined) return false;
    channel.moveToEnd(follower);
    if (kept.length === 0) follower.cursor = { ...since, seq: this.#ring.last, at: this.#clock.now() };
    this.#give(follower, { channel, missed: new MissedEntries(kept) });
    return true;
  }

  #whyNotKept({ feed }: Cursor): string {
    return feed === this.id ? "the server does not remember all since that cursor" : "the server was restarted";
  }

  /** Reads missed changes from the store, while live changes buffer in the channel. */
  async #readUp(follower: Follower, place: Place, why?: string): Promise<void> {
    const { topic, channel, since } = place;
    const isWanted = (): boolean => channel.has(follower);
    channel.moveToEnd(follower);
    try {
      const until = this.cursor;
      const { missed, isComplete } = await this.#readMissed(topic, { since, until, isWanted });
      if (!isWanted()) return;
      const { end } = missed;
      if (end === undefined) follower.cursor = until;
      else if (!isWide(topic)) channel.advanceWhile(follower, (entry) => isHeard(entry, topic, end));
      if (why !== undefined) {
        const reason = `${why}: what follows comes from the store`;
        follower.outlet.sendResync({ cursor: follower.cursor, reason, isComplete });
      }
      this.#give(follower, { channel, missed });
    } catch (error) {
      if (!isWanted()) return;
      channel.leave(follower);
      this.#slots.release(follower);
      const message = `what happened since the cursor could not be read: ${messageOf(error)}`;
      follower.outlet.drop({ why: "failed", message, cursor: since });
    }
  }

  #give(follower: Follower, { channel, missed }: { channel: Channel; missed: Missed }): void {
    follower.isCatchingUp = false;
    follower.missedSince = this.#clock.now();
    follower.setMissed(missed);
    if (missed.left === 0) this.#onCaughtUp(follower, channel);
    this.#isDue(channel);
  }

  #readMissed(topic: Topic, place: CatchUpPlace): Promise<CatchUp> {
    if ("instanceId" in topic) return missedTurns(this.#engine, topic.instanceId, place);
    return missedInstances(this.#listing, "workflow" in topic ? topic.workflow : undefined, place);
  }

  #channelOf(topic: Topic): Channel {
    if ("all" in topic) return this.#all;
    const [channels, name] =
      "workflow" in topic ? [this.#byWorkflow, topic.workflow] : [this.#byInstance, topic.instanceId];
    let channel = channels.get(name);
    if (channel === undefined) channels.set(name, (channel = this.#newChannel(topic)));
    return channel;
  }

  #newChannel(topic: Topic): Channel {
    const channel: Channel = new Channel({
      topic,
      limits: this.#limits,
      onGap: (follower) => this.#catchUp(follower, { topic, channel, since: follower.cursor }),
      onCaughtUp: (follower) => this.#onCaughtUp(follower, channel),
    });
    return channel;
  }

  #leave(follower: Follower, { topic, channel }: { topic: Topic; channel: Channel }): void {
    // Called again for a follower that was dropped.
    if (follower.hasLeft) return;
    follower.hasLeft = true;
    channel.leave(follower);
    this.#slots.release(follower);
    this.#heard.release(topic);
    if (channel.size > 0 || channel === this.#all) return;
    this.#due.delete(channel);
    if ("workflow" in topic && this.#byWorkflow.get(topic.workflow) === channel)
      this.#byWorkflow.delete(topic.workflow);
    if ("instanceId" in topic && this.#byInstance.get(topic.instanceId) === channel)
      this.#byInstance.delete(topic.instanceId);
  }
}

/** True if the catch-up from the history has already included this live change. */
function isHeard({ turn, createdAt }: FeedEntry, topic: Topic, since: Cursor): boolean {
  return !isWide(topic) && since.turn !== undefined && createdAt === since.createdAt && turn <= since.turn;
}
