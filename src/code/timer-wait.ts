import type { CodeRun } from "./code-run.ts";
import { Interest } from "./interest.ts";
import type { Wait } from "./waiting.ts";

/**
 * A sleep of the code. Its timer is canceled when the wait is given up; when it is awaited again, the due time is the
 * same.
 */
export class TimerWait extends Interest {
  readonly #run: CodeRun;
  readonly #dueAt: number;
  readonly #wait: Wait<void>;
  #cancelTimer: () => void;

  constructor(run: CodeRun, dueAt: number) {
    super();
    this.#run = run;
    this.#dueAt = dueAt;
    this.#wait = run.waiting.add<void>();
    this.#cancelTimer = this.#setTimer();
  }

  get promise(): Promise<void> {
    return this.#wait.promise;
  }

  #setTimer(): () => void {
    return this.#run.setTimer(this.#dueAt, () => this.#wait.resolve());
  }

  override giveUp(): void {
    if (this.#wait.isSettled) return;
    this.#wait.suspend();
    this.#cancelTimer();
  }

  override takeUp(): void {
    if (this.#wait.isSettled) return;
    this.#wait.resume();
    this.#cancelTimer = this.#setTimer();
  }
}
