import type { DataOf } from "../api/routes.ts";
import { HeddleClientError } from "./client-error.ts";
import { pause } from "./pause.ts";

/** The target of a subscription: one instance, one workflow, or everything. */
export type WatchTarget = { readonly instanceId: string } | { readonly workflow: string } | "all";

/** Options of a subscription. */
export interface WatchOptions {
  /** Resumes after the change that had this cursor. Default: from now on. */
  readonly cursor?: string;
  readonly signal?: AbortSignal;
  /** Called when the server has skipped this many changes under load; never for a subscription of one instance. */
  readonly onSkipped?: (changes: number) => void;
  /** Called with the progress of running tasks; only for a subscription of one instance. */
  readonly onProgress?: (progress: readonly WatchedProgress[]) => void;
}

/** The progress of one running task. */
export interface WatchedProgress {
  /** The task's number within the instance. */
  readonly task: number;
  readonly taskName: string;
  readonly attempt: number;
  readonly progress: NonNullable<DataOf<"getInstance">["tasks"][number]["progress"]>;
}

/** A task as a change shows it. */
export interface WatchedNode {
  readonly nodeId: number | string;
  readonly name: string;
  readonly status: string;
  readonly attempt: number;
  readonly startedAt?: number;
  readonly endedAt?: number;
  readonly worker?: string;
  readonly retryAt?: number;
  readonly childInstanceId?: string;
  readonly error?: string;
  /** Why it does not run, as far as its history tells. */
  readonly wait?: DataOf<"getInstance">["tasks"][number]["wait"];
}

/** A change of an instance. docs/push.md explains the fields. */
export interface WatchedChange {
  readonly instanceId: string;
  readonly workflowName: string;
  readonly at: number;
  /** Missing in changes that are replayed from the history. */
  readonly status?: string;
  readonly turn?: number;
  readonly reason?: string;
  readonly createdAt?: number;
  readonly startedAt?: number;
  readonly endedAt?: number;
  /** The nodes that changed, in their new state. */
  readonly nodes?: readonly WatchedNode[];
  /** A snapshot of the instance instead of a change, after a gap. */
  readonly resync?: true;
  /** Waits of the instance; only in a snapshot of one instance. */
  readonly waiting?: DataOf<"getInstance">["waiting"];
  /** The position to resume from; set in the last change of a message. */
  readonly cursor?: string;
}

type Frame =
  | { readonly type: "subscribed"; readonly cursor: string }
  | { readonly type: "changes"; readonly cursor: string; readonly changes: readonly WatchedChange[] }
  | { readonly type: "resync" | "pong" }
  | { readonly type: "progress"; readonly tasks: readonly WatchedProgress[] }
  | { readonly type: "skipped"; readonly cursor: string; readonly changes: number }
  | { readonly type: "error"; readonly message: string; readonly code: string };

interface WatchParts {
  readonly url: string;
  readonly token: string | undefined;
  readonly namespace: string | undefined;
  readonly target: WatchTarget;
  readonly options: WatchOptions;
  /** Sends an HTTP request, whose error says why access is refused; a WebSocket does not report it. */
  readonly ask: (signal: AbortSignal) => Promise<unknown>;
}

const firstWaitMs = 100;
const lastWaitMs = 5000;
/** Close code of the server for a token that is no longer valid. */
const notLetIn = 4001;
/** Heartbeat interval: a server that has not answered by the next ping is considered gone. */
const pingMs = 20_000;
/** Back-pressure: with this many unread changes the connection is closed, until half of them are read. */
const heardMax = 50_000;
/** Characters that a subprotocol name may have. */
const protocolName = /^[\w!#$%&'*+.^`|~-]+$/;

/** A subscription over a WebSocket, which reconnects and resumes from its cursor. */
export class Watch {
  readonly #parts: WatchParts;
  #cursor: string | undefined;
  /** Received changes that the iterator has not returned yet. */
  readonly #heard: WatchedChange[] = [];
  #wake = (): void => undefined;
  #refusal: HeddleClientError | undefined;
  /** The last received turn, and the creation time of its instance; for a subscription of one instance. */
  #last: { readonly turn: number; readonly createdAt: number | undefined } | undefined;

  constructor(parts: WatchParts) {
    this.#parts = parts;
    this.#cursor = parts.options.cursor;
  }

  async *changes(): AsyncGenerator<WatchedChange, void> {
    const stop = new AbortController();
    const { signal } = this.#parts.options;
    const ends = signal === undefined ? stop.signal : AbortSignal.any([signal, stop.signal]);
    const listening = this.#listen(ends);
    ends.addEventListener("abort", () => this.#wake(), { once: true });
    try {
      while (!ends.aborted) {
        const next = this.#heard.shift();
        if (next !== undefined) {
          yield next;
          continue;
        }
        if (this.#refusal !== undefined) throw this.#refusal;
        const { promise, resolve } = Promise.withResolvers<void>();
        this.#wake = resolve;
        await promise;
      }
    } finally {
      stop.abort();
      await listening;
    }
  }

  /** Connects again and again, until it ends or access is refused. */
  async #listen(ends: AbortSignal): Promise<void> {
    for (let tries = 0; !ends.aborted && this.#refusal === undefined; tries++) {
      if (await this.#connectOnce(ends)) tries = 0;
      else await this.#askWhy(ends);
      const waitMs = Math.min(firstWaitMs * 2 ** tries, lastWaitMs) * (0.5 + Math.random() / 2);
      if (this.#refusal === undefined) await this.#rest(waitMs, ends);
    }
    this.#wake();
  }

  /** Waits at least this long, and until the buffer has room. */
  async #rest(waitMs: number, ends: AbortSignal): Promise<void> {
    do await pause(waitMs, ends).catch(() => undefined);
    while (this.#heard.length > heardMax / 2 && !ends.aborted);
  }

  /** Ends the subscription if access is refused for good; a server that does not answer may come back. */
  async #askWhy(ends: AbortSignal): Promise<void> {
    try {
      await this.#parts.ask(ends);
    } catch (error) {
      if (error instanceof HeddleClientError && (error.status === 401 || error.status === 403)) this.#refusal = error;
    }
  }

  /** Resolves when the connection is closed; true if it had been established. */
  #connectOnce(ends: AbortSignal): Promise<boolean> {
    const { promise, resolve } = Promise.withResolvers<boolean>();
    const socket = this.#open();
    let wasOpen = false;
    let isHeard = true;
    const leave = (): void => {
      clearInterval(pings);
      ends.removeEventListener("abort", leave);
      socket.close();
      resolve(wasOpen);
    };
    const pings = setInterval(() => {
      if (!isHeard) return leave();
      isHeard = false;
      if (socket.readyState === WebSocket.OPEN) socket.send(JSON.stringify({ type: "ping" }));
    }, pingMs);
    ends.addEventListener("abort", leave);
    socket.addEventListener("open", () => {
      wasOpen = true;
      socket.send(JSON.stringify({ type: "subscribe", id: "1", ...this.#subscription() }));
    });
    socket.addEventListener("message", ({ data }) => {
      isHeard = true;
      if (socket.readyState === WebSocket.OPEN && !this.#receive(String(data))) leave();
    });
    socket.addEventListener("close", ({ code, reason }) => {
      if (code === notLetIn) this.#refuse(reason, "UNAUTHORIZED");
      leave();
    });
    return promise;
  }

  /** Opens the socket. Browsers cannot set headers on a WebSocket, so the token is passed as a subprotocol, if its characters allow. */
  #open(): WebSocket {
    const { url, token, namespace } = this.#parts;
    const query = new URLSearchParams(namespace === undefined ? {} : { namespace });
    const isProtocol = token !== undefined && protocolName.test(token);
    if (token !== undefined && !isProtocol) query.set("token", token);
    const address = `${url.replace(/^http/, "ws")}/ws${query.size === 0 ? "" : `?${query.toString()}`}`;
    return new WebSocket(address, isProtocol ? ["heddle", `heddle.bearer.${token}`] : "heddle");
  }

  #subscription(): object {
    const { target } = this.#parts;
    const what = target === "all" ? { all: true } : target;
    return { ...what, ...(this.#cursor !== undefined && { cursor: this.#cursor }) };
  }

  /** Handles a message; false if the connection must be closed. */
  #receive(text: string): boolean {
    const frame = frameOf(text);
    switch (frame?.type) {
      case undefined:
        this.#refuse(`${this.#parts.url} does not speak as Heddle does`, "ANSWER_INVALID");
        return false;
      case "error":
        // The store may be available again at the next connection.
        if (frame.code !== "STORE_UNAVAILABLE") this.#refuse(frame.message, frame.code);
        return false;
      case "subscribed":
        // A cursor of our own is kept: the missed changes are still to come.
        this.#cursor ??= frame.cursor;
        return true;
      case "changes":
        this.#hear(frame.changes, frame.cursor);
        this.#cursor = frame.cursor;
        return this.#heard.length < heardMax;
      case "progress":
        this.#parts.options.onProgress?.(frame.tasks);
        return true;
      case "skipped":
        this.#parts.options.onSkipped?.(frame.changes);
        this.#cursor = frame.cursor;
        return true;
      default:
        return true;
    }
  }

  #hear(changes: readonly WatchedChange[], cursor: string): void {
    const last = changes.length - 1;
    for (const [at, change] of changes.entries()) {
      if (this.#isKnown(change)) continue;
      this.#heard.push(at === last ? { ...change, cursor } : change);
    }
    this.#wake();
  }

  /** Detects duplicates: after a reconnect during a catch-up the missed turns come again. */
  #isKnown({ turn, createdAt, resync }: WatchedChange): boolean {
    const { target } = this.#parts;
    if (target === "all" || !("instanceId" in target) || turn === undefined || resync === true) return false;
    const isKnown = this.#last !== undefined && this.#last.createdAt === createdAt && turn <= this.#last.turn;
    if (!isKnown) this.#last = { turn, createdAt };
    return isKnown;
  }

  #refuse(message: string, code: string): void {
    this.#refusal = new HeddleClientError(message, { code });
    this.#wake();
  }
}

function frameOf(text: string): Frame | undefined {
  try {
    return JSON.parse(text) as Frame;
  } catch {
    // The text is not JSON: the server is not Heddle.
    return undefined;
  }
}
