import { trace } from "@opentelemetry/api";
import type { Clock, Timer } from "../base/clock.ts";
import { EngineError, messageOf } from "../base/error.ts";
import type { Logger } from "../base/logger.ts";
import { qualify } from "../base/namespace.ts";
import type { Store } from "../stores/store.ts";
import { LogFollower } from "./log-follower.ts";
import { bodyOf, type KeptLogLine, keptLine, type TaskLogLine } from "./task-log-line.ts";

const flushMs = 200;
const flushLines = 500;
/** Wait before a failed write is retried. */
const againMs = 1000;
const bufferLinesMax = 50_000;
/** Limit of buffered characters: lines may be long. */
const bufferCharactersMax = 32 * 1024 * 1024;
/** Limit of instances whose dropped lines are counted. */
const droppedTopicsMax = 10_000;
const dayMs = 24 * 60 * 60 * 1000;

const topicPrefix = "log:";

interface WaitingLine {
  readonly topic: string;
  readonly at: number;
  readonly body: string;
}

export interface TaskLogsParts {
  readonly store: Pick<Store, "appendLines" | "listLines" | "deleteLines">;
  readonly clock: Clock;
  readonly logger: Logger;
  /** The trace id of lines that were logged outside a span of this process. */
  readonly traceIdOf?: (qualifiedId: string) => string | undefined;
  /** Retention of lines. */
  readonly keepMs: number;
}

/** The other members of the cluster, which write to the same logs. Ids are qualified. */
export interface LogMembers {
  /** Tells them that lines of the instance are in the store. */
  readonly tell: (qualifiedId: string) => void;
  /** Calls back when one of them has written lines of the instance, or may have. Returns a function that ends it. */
  readonly follow: (qualifiedId: string, onNews: () => void) => () => void;
}

export interface LogPage {
  readonly after?: number;
  readonly before?: number;
  /** Reads the last lines instead of the first. */
  readonly last?: boolean;
  readonly limit: number;
}

/**
 * Task logs in the store. Jobs never wait for them: lines are buffered and written in batches. If they come
 * faster than the store accepts them, the newest are dropped, and a line says how many.
 * At least once: a write with an unknown outcome is repeated, so a line may be stored twice.
 */
export class TaskLogs {
  readonly #parts: TaskLogsParts;
  readonly #followers = new Set<LogFollower>();
  #waiting: WaitingLine[] = [];
  #characters = 0;
  /** Number of dropped lines by topic. */
  readonly #dropped = new Map<string, number>();
  #writing: Promise<void> | undefined;
  /** The last write failed; the next one waits for its backoff. */
  #isHeldUp = false;
  #flushTimer: Timer | undefined;
  #careTimer: Timer | undefined;
  #members: LogMembers | undefined;

  constructor(parts: TaskLogsParts) {
    this.#parts = parts;
  }

  /** Hears from now on of lines that other members write, and tells them of its own. */
  join(members: LogMembers): void {
    this.#members = members;
  }

  /** Deletes old lines periodically, until `stop`. */
  start(): void {
    this.#careTimer = this.#parts.clock.after(dayMs, () => void this.#removeOld());
  }

  /** Writes the buffered lines, as far as the store accepts them. */
  async stop(): Promise<void> {
    this.#careTimer?.cancel();
    for (const follower of this.#followers) follower.stop();
    await this.flush();
    this.#flushTimer?.cancel();
  }

  /** The engine's option `onTaskLog`. */
  readonly add = (line: TaskLogLine): void => {
    const id = qualify(line.namespace, line.instanceId);
    const topic = logTopic(id);
    if (this.#waiting.length >= bufferLinesMax || this.#characters >= bufferCharactersMax) return this.#drop(topic);
    const traceId = trace.getActiveSpan()?.spanContext().traceId ?? this.#parts.traceIdOf?.(id);
    this.#put({ topic, at: line.at, body: bodyOf(line, traceId) });
    if (this.#waiting.length >= flushLines && !this.#isHeldUp) void this.flush();
    else this.#flushTimer ??= this.#parts.clock.after(flushMs, () => void this.flush());
  };

  /** Resolves when all buffered lines are written, or the store fails. */
  flush(): Promise<void> {
    this.#writing ??= this.#write().finally(() => (this.#writing = undefined));
    return this.#writing;
  }

  /** Reads the lines of an instance, in order. Throws the store's errors. */
  async read(qualifiedId: string, page: LogPage): Promise<KeptLogLine[]> {
    await this.flush();
    return (await this.#parts.store.listLines(logTopic(qualifiedId), page)).map(keptLine);
  }

  /**
   * Calls back with every line after that number, each once and in order, then with new lines, also those of
   * other members. Returns a function that stops it.
   */
  follow(qualifiedId: string, listener: (line: KeptLogLine) => void, after = 0): () => void {
    const { store, clock, logger } = this.#parts;
    const follower = new LogFollower({ store, clock, logger, topic: logTopic(qualifiedId), after, listener });
    this.#followers.add(follower);
    follower.start();
    const leave = this.#members?.follow(qualifiedId, () => follower.nudge());
    return () => {
      leave?.();
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

  /** Writes the buffer. Never rejects: lines that could not be written stay buffered and are retried. */
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
      for (const topic of topics) this.#members?.tell(topic.slice(topicPrefix.length));
    }
  }

  /** Appends the lines; false if they must be retried. */
  async #append(lines: readonly WaitingLine[]): Promise<boolean> {
    const { store, logger } = this.#parts;
    try {
      await store.appendLines(lines);
      return true;
    } catch (error) {
      const isRefused = error instanceof EngineError && !error.retryable;
      const fields = { error: messageOf(error), lines: lines.length };
      if (isRefused) logger.error(fields, "the store refuses lines of task logs; they are lost");
      else logger.warn(fields, "task logs could not be written; retrying");
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
      await store.deleteLines(topicPrefix, clock.now() - keepMs);
    } catch (error) {
      logger.warn({ error: messageOf(error) }, "old task logs could not be deleted; retrying");
    }
    this.start();
  }
}

/** The topic of an instance's lines in the store. */
export function logTopic(qualifiedId: string): string {
  return `${topicPrefix}${qualifiedId}`;
}
