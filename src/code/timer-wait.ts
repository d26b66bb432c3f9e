import { type CallPlace, lineOf } from "./call-place.ts";
import type { CodeRun } from "./code-run.ts";
import { Interest } from "./interest.ts";
import type { Described, Wait } from "./waiting.ts";

/**
 * A sleep of the code. Its timer is canceled when the wait is given up; when it is awaited again, the due time is the
 * same.
 */
export class TimerWait extends Interest implements Described {
  readonly #run: CodeRun;
  readonly #dueAt: number;
  readonly #since: number;
  readonly #place: CallPlace;
  readonly #wait: Wait<void>;
  #cancelTimer: () => void;

  constructor(run: CodeRun, dueAt: number, place: CallPlace) {
    super();
    this.#run = run;
    this.#dueAt = dueAt;
    this.#since = run.at;
    this.#place = place;
    this.#wait = run.waiting.add<void>(this);
    this.#cancelTimer = this.#setTimer();
  }

  get promise(): Promise<void> {
    return this.#wait.promise;
  }

  describe(): ReturnType<Described["describe"]> {
    return { kind: "timer", dueAt: this.#dueAt, since: this.#since, line: lineOf(this.#place) };
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
