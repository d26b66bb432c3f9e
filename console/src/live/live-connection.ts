import type { WatchedChange } from "../../../src/client/watch.ts";

export type LiveTopic = { readonly instanceId: string } | { readonly workflow: string } | { readonly all: true };

export type LiveStatus =
  | { readonly kind: "connecting" | "live" }
  | { readonly kind: "waiting"; readonly retryAt: number }
  /** A cluster: changes of the other members' instances do not arrive here. */
  | { readonly kind: "partial"; readonly heard: number; readonly members: number };

export interface LiveListener {
  readonly onChanges: (changes: readonly WatchedChange[]) => void;
  /** Changes were missed: what is shown must be read again. */
  readonly onGap: () => void;
}

interface Subscription extends LiveListener {
  readonly topic: LiveTopic;
  cursor: string | undefined;
}

interface Frame {
  readonly type: string;
  readonly id?: string;
  readonly cursor?: string;
  readonly changes?: readonly WatchedChange[] | number;
  readonly members?: { readonly heard: readonly string[]; readonly unheard: readonly string[] };
}

const firstWaitMs = 250;
const lastWaitMs = 5000;
const pingMs = 15_000;

/** One WebSocket for all subscriptions of the page. It reconnects, and resumes each subscription from its cursor. */
export class LiveConnection {
  readonly #url: string;
  readonly #subscriptions = new Map<string, Subscription>();
  readonly #listeners = new Set<() => void>();
  #status: LiveStatus = { kind: "connecting" };
  #socket: WebSocket | undefined;
  #retryTimer: ReturnType<typeof setTimeout> | undefined;
  #pingTimer: ReturnType<typeof setInterval> | undefined;
  #tries = 0;
  #isHeard = true;
  #nextId = 1;

  constructor(url: string) {
    this.#url = url;
  }

  get status(): LiveStatus {
    return this.#status;
  }

  readonly onStatus = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };

  open(): void {
    if (this.#socket !== undefined) return;
    const socket = new WebSocket(this.#url, "heddle");
    this.#socket = socket;
    socket.addEventListener("open", () => this.#onOpen());
    socket.addEventListener("message", ({ data }) => this.#onMessage(String(data)));
    socket.addEventListener("close", () => this.#onClose(socket));
  }

  close(): void {
    const socket = this.#socket;
    this.#socket = undefined;
    clearTimeout(this.#retryTimer);
    clearInterval(this.#pingTimer);
    socket?.close();
  }

  subscribe(topic: LiveTopic, listener: LiveListener): () => void {
    const id = String(this.#nextId++);
    this.#subscriptions.set(id, { topic, cursor: undefined, ...listener });
    if (this.#isOpen) this.#sendSubscribe(id);
    return () => {
      this.#subscriptions.delete(id);
      if (this.#isOpen) this.#send({ type: "unsubscribe", id });
    };
  }

  get #isOpen(): boolean {
    return this.#socket?.readyState === WebSocket.OPEN;
  }

  #onOpen(): void {
    this.#tries = 0;
    this.#isHeard = true;
    this.#setStatus({ kind: "live" });
    for (const id of this.#subscriptions.keys()) this.#sendSubscribe(id);
    clearInterval(this.#pingTimer);
    this.#pingTimer = setInterval(() => this.#ping(), pingMs);
  }

  /** A server that has not answered by the next ping is gone, also if the connection does not know it. */
  #ping(): void {
    if (!this.#isHeard) return this.#socket?.close();
    this.#isHeard = false;
    if (this.#isOpen) this.#send({ type: "ping" });
  }

  #onClose(socket: WebSocket): void {
    if (this.#socket !== socket) return;
    this.#socket = undefined;
    clearInterval(this.#pingTimer);
    const waitMs = Math.min(firstWaitMs * 2 ** this.#tries++, lastWaitMs) * (0.75 + Math.random() / 4);
    this.#setStatus({ kind: "waiting", retryAt: Date.now() + waitMs });
    this.#retryTimer = setTimeout(() => this.open(), waitMs);
  }

  #onMessage(text: string): void {
    this.#isHeard = true;
    const frame = JSON.parse(text) as Frame;
    const subscription = this.#subscriptions.get(frame.id ?? "");
    if (subscription === undefined) return;
    switch (frame.type) {
      case "subscribed":
        this.#onSubscribed(subscription, frame);
        return;
      case "changes":
        subscription.cursor = frame.cursor;
        subscription.onChanges(frame.changes as readonly WatchedChange[]);
        return;
      case "skipped":
      case "resync":
        subscription.cursor = frame.cursor;
        subscription.onGap();
        return;
      case "error":
        // The cursor is refused, or missed changes could not be read: begin anew, and read what is shown again.
        subscription.cursor = undefined;
        subscription.onGap();
        setTimeout(() => this.#isOpen && this.#sendSubscribe(frame.id ?? ""), lastWaitMs);
    }
  }

  /** A subscription without a cursor begins now. Changes from before it are not pushed, and the page may have been read earlier. */
  #onSubscribed(subscription: Subscription, { cursor, members }: Frame): void {
    if (subscription.cursor === undefined) {
      subscription.cursor = cursor;
      subscription.onGap();
    }
    if (members === undefined || members.unheard.length === 0) return;
    const heard = members.heard.length;
    this.#setStatus({ kind: "partial", heard, members: heard + members.unheard.length });
  }

  #sendSubscribe(id: string): void {
    const subscription = this.#subscriptions.get(id);
    if (subscription === undefined) return;
    const { topic, cursor } = subscription;
    this.#send({ type: "subscribe", id, ...topic, ...(cursor !== undefined && { cursor }) });
  }

  #send(message: object): void {
    this.#socket?.send(JSON.stringify(message));
  }

  #setStatus(status: LiveStatus): void {
    this.#status = status;
    for (const listener of this.#listeners) listener();
  }
}
