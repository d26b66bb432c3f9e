import { trace } from "@opentelemetry/api";
import type { Clock, Timer } from "../base/clock.ts";
import { EngineError, messageOf } from "../base/error.ts";
import type { Logger } from "../base/logger.ts";
import type { Store } from "../stores/store.ts";
import { LogFollower } from "./log-follower.ts";
import { bodyOf, type KeptLogLine, keptLine, type TaskLogLine } from "./task-log-line.ts";

const flushMs = 200;
const flushLines = 500;
/** After a write that failed. */
const againMs = 1000;
const bufferLinesMax = 50_000;
/** Lines may be long; what waits must fit into memory whatever they say. */
const bufferCharactersMax = 32 * 1024 * 1024;
/** For more instances than these, nobody counts what was left out. */
const droppedTopicsMax = 10_000;
const dayMs = 24 * 60 * 60 * 1000;

interface WaitingLine {
  readonly topic: string;
  readonly at: number;
  readonly body: string;
}

export interface TaskLogsParts {
  readonly store: Pick<Store, "appendLines" | "readLines" | "deleteLines">;
  readonly clock: Clock;
  readonly logger: Logger;
  /** For lines that were not said inside a span of this process. */
  readonly traceIdOf?: (instanceId: string) => string | undefined;
  /** How long lines are kept. */
  readonly keepMs: number;
}

export interface LogPage {
  readonly after?: number;
  /** The last lines instead of the first. */
  readonly last?: boolean;
  readonly limit: number;
}

/**
 * What jobs say, kept in the store. Jobs never wait for it: lines gather and are written together, and where they come
 * faster than the store takes them, the newest are left out, and a line says how many.
 * A write whose answer was lost is sent again, so that a line may be there twice; none is lost for that.
 */
export class TaskLogs {
  readonly #parts: TaskLogsParts;
  readonly #followers = new Set<LogFollower>();
  #waiting: WaitingLine[] = [];
  #characters = 0;
  /** By topic: how many were left out. */
  readonly #dropped = new Map<string, number>();
  #writing: Promise<void> | undefined;
  /** The last write failed: the next waits for its time. */
  #isHeldUp = false;
  #flushTimer: Timer | undefined;
  #careTimer: Timer | undefined;

  constructor(parts: TaskLogsParts) {
    this.#parts = parts;
  }

  /** Removes old lines from time to time, until `stop`. */
  start(): void {
    this.#careTimer = this.#parts.clock.after(dayMs, () => void this.#removeOld());
  }

  /** Writes what is there, as far as the store takes it. */
  async stop(): Promise<void> {
    this.#careTimer?.cancel();
    for (const follower of this.#followers) follower.stop();
    await this.flush();
    this.#flushTimer?.cancel();
  }

  /** The engine's option `onTaskLog`. */
  readonly add = (line: TaskLogLine): void => {
    const topic = topicOf(line.instanceId);
    if (this.#waiting.length >= bufferLinesMax || this.#characters >= bufferCharactersMax) return this.#drop(topic);
    const traceId = trace.getActiveSpan()?.spanContext().traceId ?? this.#parts.traceIdOf?.(line.instanceId);
    this.#put({ topic, at: line.at, body: bodyOf(line, traceId) });
    if (this.#waiting.length >= flushLines && !this.#isHeldUp) void this.flush();
    else this.#flushTimer ??= this.#parts.clock.after(flushMs, () => void this.flush());
  };

  /** Resolves when all that was said is written, or the store does not take it for now. */
  flush(): Promise<void> {
    this.#writing ??= this.#write().finally(() => (this.#writing = undefined));
    return this.#writing;
  }

  /** What was said in an instance, in order. The store's errors. */
  async read(instanceId: string, page: LogPage): Promise<KeptLogLine[]> {
    await this.flush();
    return (await this.#parts.store.readLines(topicOf(instanceId), page)).map(keptLine);
  }

  /**
   * Calls back with every line after that number, each once and in order, and goes on with those to come, also those of
   * other members. Gives back how to stop it.
   */
  follow(instanceId: string, listener: (line: KeptLogLine) => void, after = 0): () => void {
    const { store, clock, logger } = this.#parts;
    const follower = new LogFollower({ store, clock, logger, topic: topicOf(instanceId), after, listener });
    this.#followers.add(follower);
    follower.start();
    return () => {
      follower.stop();
      this.#followers.delete(follower);
    };
  }

  #put(line: WaitingLine): void {
    this.#waiting.push(line);
    this.#characters += line.body.length;
  }

  #drop(topic: string): void {
    if (this.#dropped.size === 0) {
      const problem = "task logs come faster than the store takes them: lines are left out";
      this.#parts.logger.warn({ waitingLines: this.#waiting.length }, problem);
    }
    const count = this.#dropped.get(topic);
    if (count !== undefined || this.#dropped.size < droppedTopicsMax) this.#dropped.set(topic, (count ?? 0) + 1);
  }

  /** Never rejects: what could not be written stays, and is tried again. */
  async #write(): Promise<void> {
    this.#flushTimer?.cancel();
    this.#flushTimer = undefined;
    while (this.#waiting.length > 0) {
      const lines = this.#waiting.slice(0, flushLines);
      this.#isHeldUp = !(await this.#append(lines));
      if (this.#isHeldUp) {
        this.#flushTimer ??= this.#parts.clock.after(againMs, () => void this.flush());
        return;
      }
      this.#waiting = this.#waiting.slice(lines.length);
      for (const { body } of lines) this.#characters -= body.length;
      this.#tellDropped();
      const topics = new Set(lines.map(({ topic }) => topic));
      for (const follower of this.#followers) if (topics.has(follower.topic)) follower.nudge();
    }
  }

  /** False if they have to be sent again. */
  async #append(lines: readonly WaitingLine[]): Promise<boolean> {
    const { store, logger } = this.#parts;
    try {
      await store.appendLines(lines);
      return true;
    } catch (error) {
      const isRefused = error instanceof EngineError && !error.retryable;
      const fields = { error: messageOf(error), lines: lines.length };
      if (isRefused) logger.error(fields, "the store refuses lines of task logs: they are lost");
      else logger.warn(fields, "task logs could not be written; they are sent again");
      return isRefused;
    }
  }

  #tellDropped(): void {
    const at = this.#parts.clock.now();
    for (const [topic, count] of this.#dropped) {
      const message = `${count} lines were left out here: they came faster than the store took them`;
      this.#put({ topic, at, body: JSON.stringify({ level: "warn", taskName: "", attempt: 0, message, fields: {} }) });
    }
    this.#dropped.clear();
  }

  async #removeOld(): Promise<void> {
    const { store, clock, logger, keepMs } = this.#parts;
    try {
      await store.deleteLines("log:", clock.now() - keepMs);
    } catch (error) {
      logger.warn({ error: messageOf(error) }, "old task logs could not be removed; the next round will try again");
    }
    this.start();
  }
}

function topicOf(instanceId: string): string {
  return `log:${instanceId}`;
}
