import type { Clock, Timer } from "../base/clock.ts";
import { messageOf } from "../base/error.ts";
import type { Logger } from "../base/logger.ts";
import type { Store } from "../stores/store.ts";
import { type KeptLogLine, keptLine } from "./task-log-line.ts";

/** Poll interval, as a safety net: new lines, of this process and of other members, are announced by `nudge`. */
const lookEveryMs = 10_000;
/** Wait before a failed read is retried. */
const againMs = 1000;
const pageLines = 500;

export interface LogFollowerParts {
  readonly store: Pick<Store, "listLines">;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly topic: string;
  readonly after: number;
  readonly listener: (line: KeptLogLine) => void;
}

/** Follows the task log of one topic until it is stopped. */
export class LogFollower {
  readonly #parts: LogFollowerParts;
  #after: number;
  #timer: Timer | undefined;
  #isReading = false;
  #hasNews = false;
  #isStopped = false;

  constructor(parts: LogFollowerParts) {
    this.#parts = parts;
    this.#after = parts.after;
  }

  get topic(): string {
    return this.#parts.topic;
  }

  start(): void {
    this.nudge();
  }

  stop(): void {
    this.#isStopped = true;
    this.#timer?.cancel();
  }

  /** Notifies the follower of possibly new lines. */
  nudge(): void {
    this.#hasNews = true;
    if (!this.#isReading && !this.#isStopped) void this.#read();
  }

  async #read(): Promise<void> {
    const { store, clock, logger, topic } = this.#parts;
    this.#isReading = true;
    this.#timer?.cancel();
    let pauseMs = lookEveryMs;
    try {
      while (this.#hasNews && !this.#isStopped) {
        this.#hasNews = false;
        const rows = await store.listLines(topic, { after: this.#after, limit: pageLines });
        for (const row of rows) {
          // The listener may have stopped the follower.
          if (this.#isStopped) break;
          this.#after = row.number;
          this.#parts.listener(keptLine(row));
        }
        this.#hasNews ||= rows.length === pageLines;
      }
    } catch (error) {
      logger.warn({ error: messageOf(error), topic }, "a task log could not be read; retrying");
      pauseMs = againMs;
    }
    this.#isReading = false;
    if (!this.#isStopped) this.#timer = clock.after(pauseMs, () => this.nudge());
  }
}
