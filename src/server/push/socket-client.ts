import type { WebSocket } from "@fastify/websocket";
import type { ChangeBatch } from "./change-batch.ts";
import type { ChangeFeed } from "./change-feed.ts";
import { readMessage } from "./client-message.ts";
import { type Cursor, cursorText } from "./cursor.ts";
import type { followMembers, MembersMessage } from "./member-news.ts";
import type { DropReason, Outlet } from "./outlet.ts";
import { isWide, type Topic } from "./topic.ts";

/** The members whose changes a wide subscription receives. */
export interface Coverage {
  readonly heard: readonly string[];
  readonly unheard: readonly string[];
}

export interface SocketParts {
  readonly feed: ChangeFeed;
  readonly coverage: () => Coverage | undefined;
  readonly followMembers: (listener: (message: MembersMessage) => void) => ReturnType<typeof followMembers>;
  readonly limits?: Partial<SocketLimits> | undefined;
}

const subscriptionsMax = 100;

export interface SocketLimits {
  /** Limit of messages and pings per window. */
  readonly messagesMax: number;
  readonly windowMs: number;
  /** Limit of unread answers. */
  readonly unreadBytesMax: number;
}

const defaultLimits: SocketLimits = { messagesMax: 1000, windowMs: 10_000, unreadBytesMax: 256 * 1024 };

/** Length limit of a WebSocket close reason. */
const reasonBytesMax = 123;

export const closeCodes = { stopping: 1001, notLetIn: 4001, tooSlow: 4008, full: 4013, tooMany: 4029 } as const;

/** One WebSocket with its subscriptions. */
export class SocketClient {
  readonly #socket: WebSocket;
  readonly #parts: SocketParts;
  /** Subscriptions by their client id, with the functions that end them. */
  readonly #subscriptions = new Map<string, () => void>();
  readonly #limits: SocketLimits;
  #isAlive = true;
  #messages = 0;
  #windowEndsAt = 0;
  #unreadBytes = 0;

  constructor(socket: WebSocket, parts: SocketParts) {
    this.#socket = socket;
    this.#parts = parts;
    this.#limits = { ...defaultLimits, ...parts.limits };
    socket.on("message", (data: Buffer) => this.#hear(data));
    socket.on("ping", () => void this.#mayGoOn());
    socket.on("pong", () => {
      if (this.#mayGoOn()) this.#isAlive = true;
    });
    socket.on("error", () => this.#endAll());
    socket.on("close", () => this.#endAll());
  }

  /** Heartbeat: pings the client, and closes the socket if the last ping was not answered. */
  beat(): void {
    if (!this.#isAlive) return this.#socket.terminate();
    this.#isAlive = false;
    this.#socket.ping();
  }

  close(code: number, reason: string): void {
    this.#endAll();
    this.#socket.close(code, Buffer.from(reason).subarray(0, reasonBytesMax).toString().replace(/�$/, ""));
  }

  /** Destroys the socket without a close frame. */
  cut(): void {
    this.#socket.terminate();
  }

  /** Counts a message; a client above the rate limit is disconnected. */
  #mayGoOn(): boolean {
    if (this.#socket.readyState !== this.#socket.OPEN) return false;
    const { messagesMax, windowMs } = this.#limits;
    const now = performance.now();
    if (now >= this.#windowEndsAt) {
      this.#windowEndsAt = now + windowMs;
      this.#messages = 0;
    }
    if (++this.#messages <= messagesMax) return true;
    this.close(closeCodes.tooMany, `too many messages: ${messagesMax} within ${windowMs / 1000} s are allowed`);
    return false;
  }

  #hear(data: Buffer): void {
    if (!this.#mayGoOn()) return;
    const message = readMessage(data.toString());
    if ("problem" in message) return this.#refuse(message.problem, message.id);
    switch (message.type) {
      case "ping":
        return this.#say({ type: "pong" });
      case "subscribe":
        return this.#subscribe(message.id, message.topic, message.since);
      case "subscribe-members":
        return this.#subscribeMembers(message.id);
      case "unsubscribe":
        return this.#unsubscribe(message.id);
      default:
    }
  }

  #subscribe(id: string, topic: Topic, since: Cursor | undefined): void {
    if (!this.#hasRoomFor(id)) return;
    const preparing = this.#parts.feed.prepare(topic);
    if (preparing === undefined) return this.#follow(id, topic, since);
    let isWanted = true;
    this.#subscriptions.set(id, () => (isWanted = false));
    void preparing.then(() => {
      if (isWanted) this.#follow(id, topic, since);
    });
  }

  #follow(id: string, topic: Topic, since: Cursor | undefined): void {
    const { feed, coverage } = this.#parts;
    const { cursor, stop } = feed.follow(topic, this.#outlet(id, topic), since);
    this.#subscriptions.set(id, stop);
    const members = isWide(topic) ? coverage() : undefined;
    this.#say({ type: "subscribed", id, cursor: textOf(cursor, topic), members });
  }

  #subscribeMembers(id: string): void {
    if (!this.#hasRoomFor(id)) return;
    const { ready, stop } = this.#parts.followMembers((message) => this.#say({ id, ...message }));
    this.#subscriptions.set(id, stop);
    void ready.then(() => {
      if (this.#subscriptions.get(id) === stop) this.#say({ type: "subscribed", id });
    });
  }

  /** Refuses a duplicate id, and a subscription above the limit. */
  #hasRoomFor(id: string): boolean {
    const isTaken = this.#subscriptions.has(id);
    if (!isTaken && this.#subscriptions.size < subscriptionsMax) return true;
    const problem = isTaken
      ? `there is a subscription "${id}" already`
      : `a socket has ${subscriptionsMax} subscriptions at most: open another one`;
    this.#refuse(problem, id);
    return false;
  }

  #unsubscribe(id: string): void {
    const stop = this.#subscriptions.get(id);
    if (stop === undefined) return this.#refuse(`there is no subscription "${id}"`, id);
    this.#subscriptions.delete(id);
    stop();
    this.#say({ type: "unsubscribed", id });
  }

  #outlet(id: string, topic: Topic): Outlet {
    const socket = this.#socket;
    const write = ({ cursor, entries }: ChangeBatch): string =>
      `{"type":"changes","id":${JSON.stringify(id)},"cursor":"${textOf(cursor, topic)}","changes":[${entries.map(({ text }) => text).join(",")}]}`;
    return {
      client: this,
      get bufferedBytes() {
        return socket.bufferedAmount;
      },
      sendChanges: (batch) => socket.send(batch.as(id, write), { binary: false }),
      sendResync: ({ cursor, reason, isComplete }) =>
        this.#say({ type: "resync", id, cursor: textOf(cursor, topic), reason, isComplete }),
      sendSkipped: ({ from, cursor, changes }) =>
        this.#say({ type: "skipped", id, from: textOf(from, topic), cursor: textOf(cursor, topic), changes }),
      sendProgress: (progress) => this.#say({ type: "progress", id, ...progress }),
      drop: (reason) => this.#drop(id, reason),
    };
  }

  #drop(id: string, { why, message }: DropReason): void {
    if (why === "too-slow") return this.close(closeCodes.tooSlow, message);
    if (why === "stopping") return this.close(closeCodes.stopping, message);
    this.#subscriptions.get(id)?.();
    this.#subscriptions.delete(id);
    this.#say({ type: "error", id, code: "STORE_UNAVAILABLE", message });
  }

  #refuse(message: string, id: string | undefined): void {
    this.#say({ type: "error", id, code: "REQUEST_INVALID", message });
  }

  #say(message: object): void {
    if (this.#socket.readyState !== this.#socket.OPEN) return;
    const bytes = Buffer.from(JSON.stringify(message));
    this.#unreadBytes += bytes.length;
    this.#socket.send(bytes, { binary: false }, () => (this.#unreadBytes -= bytes.length));
    const { unreadBytesMax } = this.#limits;
    if (this.#unreadBytes > unreadBytesMax) {
      this.close(closeCodes.tooSlow, `too slow: ${unreadBytesMax} bytes of answers were not read`);
    }
  }

  #endAll(): void {
    for (const stop of this.#subscriptions.values()) stop();
    this.#subscriptions.clear();
  }
}

/** Serializes a cursor; only subscriptions of one instance have a turn. */
export function textOf({ feed, seq, at, turn, createdAt }: Cursor, topic: Topic): string {
  if (isWide(topic) || turn === undefined || createdAt === undefined) return cursorText({ feed, seq, at });
  return cursorText({ feed, seq, at, turn, createdAt });
}
