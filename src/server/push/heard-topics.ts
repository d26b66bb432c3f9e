import type { Clock, Timer } from "../../base/clock.ts";
import type { RelaySubscription } from "../../engine/relay-follower.ts";
import type { Topic } from "./topic.ts";

/** A topic whose last client has left is followed for this long: the client may only have lost its connection. */
const lingerMs = 30_000;

interface HeardTopic {
  readonly topic: Topic;
  clients: number;
  /** The last change of the feed before this server heard all members about the topic; undefined until it does. */
  since: number | undefined;
  ready: Promise<void> | undefined;
  timer: Timer | undefined;
}

export interface HeardTopicsParts {
  /** Undefined for an engine alone, which hears everything. */
  readonly relay: RelaySubscription | undefined;
  readonly clock: Clock;
  /** The number of the last change of the feed. */
  readonly last: () => number;
}

/** The topics that clients of this server follow, and since when all members send it their changes. */
export class HeardTopics {
  readonly #parts: HeardTopicsParts;
  readonly #topics = new Map<string, HeardTopic>();

  constructor(parts: HeardTopicsParts) {
    this.#parts = parts;
  }

  /** Asks all members for a topic. Undefined if they send it already; otherwise resolves when they do, or after a while. */
  prepare(topic: Topic): Promise<void> | undefined {
    if (this.#parts.relay === undefined) return undefined;
    const heard = this.#find(topic, this.#parts.relay);
    if (heard.clients === 0) this.#linger(heard);
    return heard.ready;
  }

  /** A client follows the topic. */
  hold(topic: Topic): void {
    const { relay } = this.#parts;
    if (relay === undefined) return;
    const heard = this.#find(topic, relay);
    heard.clients++;
    heard.timer?.cancel();
  }

  /** A client has left it. */
  release(topic: Topic): void {
    const heard = this.#topics.get(keyOf(topic));
    if (heard !== undefined && --heard.clients === 0) this.#linger(heard);
  }

  /** True if the feed has every change of the topic after that number. */
  isHeardSince(topic: Topic, seq: number): boolean {
    if (this.#parts.relay === undefined) return true;
    const since = this.#topics.get(keyOf(topic))?.since;
    return since !== undefined && since <= seq;
  }

  /** Changes of other members were lost: the feed does not have all of them before this moment. */
  onGap(): void {
    for (const heard of this.#topics.values()) if (heard.since !== undefined) heard.since = this.#parts.last() + 1;
  }

  stop(): void {
    for (const { timer } of this.#topics.values()) timer?.cancel();
    this.#topics.clear();
    this.#parts.relay?.stop();
  }

  #find(topic: Topic, relay: RelaySubscription): HeardTopic {
    const key = keyOf(topic);
    const found = this.#topics.get(key);
    if (found !== undefined) return found;
    const heard: HeardTopic = { topic, clients: 0, since: undefined, ready: undefined, timer: undefined };
    heard.ready = relay.add(topic).then(() => {
      heard.ready = undefined;
      heard.since = this.#parts.last();
    });
    this.#topics.set(key, heard);
    return heard;
  }

  #linger(heard: HeardTopic): void {
    heard.timer?.cancel();
    heard.timer = this.#parts.clock.after(lingerMs, () => {
      this.#topics.delete(keyOf(heard.topic));
      this.#parts.relay?.delete(heard.topic);
    });
  }
}

function keyOf(topic: Topic): string {
  if ("instanceId" in topic) return `instance ${topic.instanceId}`;
  return "workflow" in topic ? `workflow ${topic.workflow}` : "all";
}
