import type { Clock, Timer } from "../base/clock.ts";
import type { AttemptReport } from "../dispatch/attempt-report.ts";
import type { ReportOfAttempt } from "../dispatch/session-message.ts";

/** The pause between two messages: a job may report in a loop. */
const pauseMs = 200;

/** Sends the reports of running jobs, the last of each attempt and a few messages per second for all of them. */
export class ReportSender {
  readonly #clock: Clock;
  readonly #send: (reports: readonly ReportOfAttempt[]) => void;
  readonly #due = new Map<string, AttemptReport>();
  #timer: Timer | undefined;

  constructor(clock: Clock, send: (reports: readonly ReportOfAttempt[]) => void) {
    this.#clock = clock;
    this.#send = send;
  }

  note(attemptId: string, report: AttemptReport): void {
    this.#due.set(attemptId, { ...this.#due.get(attemptId), ...report });
    if (this.#timer === undefined) this.flush();
  }

  stop(): void {
    this.#timer?.cancel();
    this.#due.clear();
  }

  flush(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
    if (this.#due.size === 0) return;
    this.#send(Array.from(this.#due, ([attemptId, report]) => ({ attemptId, ...report })));
    this.#due.clear();
    this.#timer = this.#clock.after(pauseMs, () => this.flush());
  }
}
