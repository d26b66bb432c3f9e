import { randomUUID } from "node:crypto";
import type { Clock, Timer } from "../../base/clock.ts";
import type { EngineError } from "../../base/error.ts";
import type { Link, LinkListener } from "../../dispatch/link.ts";
import {
  formatMessage,
  type Grant,
  type GrantKey,
  type LeaseRenewal,
  type MemberMessage,
  type WorkerMessage,
} from "../../dispatch/session-message.ts";
import { parseMemberMessage } from "../../dispatch/session-schema.ts";
import type { Outcome } from "../../kernel/input.ts";

export interface ActivitySessionParts {
  readonly clock: Clock;
  /** Connects to the engine, as a remote worker does. */
  readonly accept: (link: Link) => LinkListener;
  /** Ids of the jobs that it takes. */
  readonly jobs: readonly string[];
  readonly slots: number;
  readonly onGranted: (grant: Grant) => void;
  /** The engine does not want the attempt any more. */
  readonly onDropped: (attemptId: string) => void;
  /** The engine has ended the session. */
  readonly onClosed: (error?: EngineError) => void;
}

interface Finished extends GrantKey {
  readonly outcome: Outcome;
  readonly startedAt: number;
}

/** Until a welcome says otherwise. */
const firstBeatMs = 10_000;

/**
 * The worker's end of a session with the engine, for a stream whose activities run elsewhere. The link stays in this process,
 * so nothing on it is lost or reordered. The protocol of the stream has no heartbeats: as long as the stream is open, its
 * activities run.
 */
export class ActivitySession {
  readonly #parts: ActivitySessionParts;
  readonly #worker = randomUUID();
  readonly #running = new Map<string, Grant>();
  readonly #finished = new Map<string, Finished>();
  #listener: LinkListener | undefined;
  #sequence = 0;
  #lastGrant = 0;
  #beatMs = firstBeatMs;
  #timer: Timer | undefined;
  #isOver = false;

  constructor(parts: ActivitySessionParts) {
    this.#parts = parts;
  }

  start(): void {
    const { accept, jobs, slots } = this.#parts;
    this.#listener = accept({
      send: (text) => this.#receive(parseMemberMessage(text)),
      close: (error) => this.#onClosed(error),
    });
    this.#send({ type: "Hello", worker: this.#worker, ...this.#next(), jobs, slots, running: [], results: [] });
    this.#beat();
  }

  /** Reports the outcome of an attempt; false if it does not run here any more. */
  finish(attemptId: string, outcome: Outcome): boolean {
    const grant = this.#running.get(attemptId);
    if (grant === undefined) return false;
    this.#running.delete(attemptId);
    const finished = { ...keyOf(grant), outcome, startedAt: grant.descriptor.startedAt };
    this.#finished.set(attemptId, finished);
    this.#send({ type: "Result", ...finished });
    return true;
  }

  /** Gives an attempt back; it runs elsewhere. */
  giveBack(attemptId: string, why: string): void {
    const grant = this.#running.get(attemptId);
    if (grant === undefined) return;
    this.#running.delete(attemptId);
    this.#send({ type: "Refused", ...keyOf(grant), why });
  }

  /** The stream is closed. What it ran is given back. */
  close(): void {
    if (this.#isOver) return;
    for (const attemptId of this.#running.keys()) this.giveBack(attemptId, "the stream of the worker was closed");
    this.#send({ type: "Leaving" });
    this.#onClosed();
    const listener = this.#listener;
    // After what was just sent.
    queueMicrotask(() => listener?.onClosed());
  }

  #receive(message: MemberMessage): void {
    switch (message.type) {
      case "Welcome":
        this.#beatMs = message.beatMs;
        return this.#forget(message);
      case "Renewed":
        return this.#forget(message);
      case "Grant":
        this.#lastGrant = Math.max(this.#lastGrant, message.grant);
        this.#running.set(message.descriptor.attemptId, message);
        return this.#parts.onGranted(message);
      case "Abort": {
        const { attemptId, grant } = message;
        this.#drop(attemptId);
        return this.#send({ type: "Refused", attemptId, grant, why: "it was aborted" });
      }
      case "Acknowledged":
        this.#finished.delete(message.attemptId);
        return;
      case "Goodbye":
        return this.#onClosed();
      case "TurnAsked":
      case "TurnWithdrawn":
      case "History":
      case "QuestionAnswered":
        // It has announced no code, so it is never asked about any.
        return;
    }
  }

  #forget({ unwanted }: LeaseRenewal): void {
    for (const { attemptId } of unwanted) this.#drop(attemptId);
  }

  #drop(attemptId: string): void {
    this.#finished.delete(attemptId);
    if (this.#running.delete(attemptId)) this.#parts.onDropped(attemptId);
  }

  #onClosed(error?: EngineError): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#timer?.cancel();
    this.#parts.onClosed(error);
  }

  #beat(): void {
    this.#timer = this.#parts.clock.after(this.#beatMs, () => {
      const running = [...this.#running.values()].map(keyOf);
      const finished = [...this.#finished.values()].map(({ attemptId, grant }) => ({ attemptId, grant }));
      this.#send({ type: "Heartbeat", ...this.#next(), running, finished });
      for (const each of this.#finished.values()) this.#send({ type: "Result", ...each });
      this.#beat();
    });
  }

  #next(): { sequence: number; lastGrant: number } {
    return { sequence: ++this.#sequence, lastGrant: this.#lastGrant };
  }

  /** Not inside a call of the engine, which may be in the middle of something. */
  #send(message: WorkerMessage): void {
    const text = formatMessage(message);
    queueMicrotask(() => this.#listener?.receive(text));
  }
}

function keyOf({ grant, descriptor }: Grant): GrantKey {
  return { attemptId: descriptor.attemptId, grant };
}
