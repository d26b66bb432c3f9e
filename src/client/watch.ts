import { HeddleClientError } from "./client-error.ts";
import { pause } from "./pause.ts";

/** One instance, all of one workflow, or everything. */
export type WatchTarget = { readonly instanceId: string } | { readonly workflow: string } | "all";

export interface WatchOptions {
  /** Goes on after the change that this came with. Default: from now on. */
  readonly cursor?: string;
  readonly signal?: AbortSignal;
  /** More has happened than the server could tell: so many changes are left out. Never of one instance. */
  readonly onSkipped?: (changes: number) => void;
}

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
}

/** What has happened to an instance. docs/push.md tells what each field means. */
export interface WatchedChange {
  readonly instanceId: string;
  readonly workflowName: string;
  readonly at: number;
  /** Left out of changes that are read again from the history. */
  readonly status?: string;
  readonly turn?: number;
  readonly reason?: string;
  readonly createdAt?: number;
  readonly startedAt?: number;
  readonly endedAt?: number;
  /** Those that changed, as they are now. */
  readonly nodes?: readonly WatchedNode[];
  /** How the instance stands, instead of what happened to it: the server could not tell more after a while apart. */
  readonly resync?: true;
  /** With the last of those that came together: where `watch` can go on later. */
  readonly cursor?: string;
}

type Frame =
  | { readonly type: "subscribed"; readonly cursor: string }
  | { readonly type: "changes"; readonly cursor: string; readonly changes: readonly WatchedChange[] }
  | { readonly type: "resync" | "pong" }
  | { readonly type: "skipped"; readonly cursor: string; readonly changes: number }
  | { readonly type: "error"; readonly message: string; readonly code: string };

interface WatchParts {
  readonly url: string;
  readonly token: string | undefined;
  readonly target: WatchTarget;
  readonly options: WatchOptions;
  /** Asks the server the usual way, which says why somebody is not let in; a WebSocket does not. */
  readonly ask: (signal: AbortSignal) => Promise<unknown>;
}

const firstWaitMs = 100;
const lastWaitMs = 5000;
/** How the server closes when a token is no longer valid. */
const notLetIn = 4001;
/** A line that was cut far away says nothing: whoever has not answered by the next ping is taken for gone. */
const pingMs = 20_000;
/** So many changes wait for whoever takes them; then the line is left until half of them are taken. */
const heardMax = 50_000;
/** What may be the name of a protocol. */
const protocolName = /^[\w!#$%&'*+.^`|~-]+$/;

/** Listens over a WebSocket, and connects again where it stood when the connection is lost. */
export class Watch {
  readonly #parts: WatchParts;
  #cursor: string | undefined;
  /** Heard, and not yet taken. */
  readonly #heard: WatchedChange[] = [];
  #wake = (): void => undefined;
  #refusal: HeddleClientError | undefined;
  /** Of one instance: its last turn that was heard, in the life that was created then. */
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

  /** Until it is to end, or is refused. */
  async #listen(ends: AbortSignal): Promise<void> {
    for (let tries = 0; !ends.aborted && this.#refusal === undefined; tries++) {
      if (await this.#connectOnce(ends)) tries = 0;
      else await this.#askWhy(ends);
      const waitMs = Math.min(firstWaitMs * 2 ** tries, lastWaitMs) * (0.5 + Math.random() / 2);
      if (this.#refusal === undefined) await this.#rest(waitMs, ends);
    }
    this.#wake();
  }

  /** At least for so long, and until there is room again. */
  async #rest(waitMs: number, ends: AbortSignal): Promise<void> {
    do await pause(waitMs, ends).catch(() => undefined);
    while (this.#heard.length > heardMax / 2 && !ends.aborted);
  }

  /** Whoever is not let in now will not be the next time either; a server that is away may come back. */
  async #askWhy(ends: AbortSignal): Promise<void> {
    try {
      await this.#parts.ask(ends);
    } catch (error) {
      if (error instanceof HeddleClientError && (error.status === 401 || error.status === 403)) this.#refusal = error;
    }
  }

  /** Resolves when the connection is gone; true if it had come about. */
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

  /** Browsers cannot give a WebSocket a header, so the token goes as the name of a protocol, if it can be one. */
  #open(): WebSocket {
    const { url, token } = this.#parts;
    const address = `${url.replace(/^http/, "ws")}/ws`;
    if (token === undefined) return new WebSocket(address, "heddle");
    if (protocolName.test(token)) return new WebSocket(address, ["heddle", `heddle.bearer.${token}`]);
    return new WebSocket(`${address}?token=${encodeURIComponent(token)}`, "heddle");
  }

  #subscription(): object {
    const { target } = this.#parts;
    const what = target === "all" ? { all: true } : target;
    return { ...what, ...(this.#cursor !== undefined && { cursor: this.#cursor }) };
  }

  /** False if the connection is of no more use. */
  #receive(text: string): boolean {
    const frame = frameOf(text);
    switch (frame?.type) {
      case undefined:
        this.#refuse(`${this.#parts.url} does not speak as Heddle does`, "ANSWER_INVALID");
        return false;
      case "error":
        // The next connection may find the store again.
        if (frame.code !== "STORE_UNAVAILABLE") this.#refuse(frame.message, frame.code);
        return false;
      case "subscribed":
        // With a cursor of our own, what was missed is still to come.
        this.#cursor ??= frame.cursor;
        return true;
      case "changes":
        this.#hear(frame.changes, frame.cursor);
        this.#cursor = frame.cursor;
        return this.#heard.length < heardMax;
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

  /** A connection that broke while missed turns were told begins with them again. */
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
    // Something else listens there.
    return undefined;
  }
}
