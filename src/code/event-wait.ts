import { type CallPlace, lineOf } from "./call-place.ts";
import type { CodeRun } from "./code-run.ts";
import { Interest } from "./interest.ts";
import type { ReceivedEvent } from "./raised-events.ts";
import { StepFailed } from "./step-failed.ts";
import type { Described, Wait } from "./waiting.ts";

/** The timeout of a wait, as a duration and as the time at which it is due. */
export interface EventTimeout {
  readonly ms: number;
  readonly dueAt: number;
}

/**
 * A wait of the code for an event. A canceled wait leaves the event to others, even one that it has received already.
 */
export class EventWait extends Interest implements Described {
  readonly #run: CodeRun;
  readonly #name: string;
  readonly #timeout: EventTimeout | undefined;
  readonly #since: number;
  readonly #place: CallPlace;
  readonly #wait: Wait<string | undefined>;
  #event: ReceivedEvent | undefined;
  #stop: (() => void) | undefined;

  constructor(
    run: CodeRun,
    name: string,
    { timeout, place }: { timeout?: EventTimeout | undefined; place: CallPlace },
  ) {
    super();
    this.#run = run;
    this.#name = name;
    this.#timeout = timeout;
    this.#since = run.at;
    this.#place = place;
    this.#wait = run.waiting.add(this);
    this.#begin();
  }

  /** Resolves with the event's data, as JSON text. */
  get promise(): Promise<string | undefined> {
    return this.#wait.promise;
  }

  describe(): ReturnType<Described["describe"]> {
    const dueAt = this.#timeout?.dueAt;
    return { kind: "event", name: this.#name, dueAt, since: this.#since, line: lineOf(this.#place) };
  }

  #begin(): void {
    const raised = this.#run.events.take(this.#name);
    if (raised !== undefined) return this.#take(raised);
    const cancelTimer = this.#timeout && this.#setTimer(this.#timeout);
    const leave = this.#run.events.wait(this.#name, (event) => {
      cancelTimer?.();
      this.#take(event);
    });
    this.#stop = () => {
      leave();
      cancelTimer?.();
    };
  }

  #take(event: ReceivedEvent): void {
    this.#event = event;
    this.#wait.resolve(event.data);
  }

  #setTimer({ ms, dueAt }: EventTimeout): () => void {
    return this.#run.setTimer(dueAt, () => {
      this.#stop?.();
      this.#wait.reject(eventTimeout(this.#name, ms));
    });
  }

  override giveUp(): void {
    if (this.#event !== undefined) return this.#run.events.putBack(this.#event);
    if (this.#wait.isSettled) return;
    this.#wait.suspend();
    this.#stop?.();
  }

  override takeUp(): void {
    if (this.#event !== undefined) return this.#run.events.takeAgain(this.#event);
    if (this.#wait.isSettled) return;
    this.#wait.resume();
    this.#begin();
  }
}

function eventTimeout(name: string, timeoutMs: number): StepFailed {
  const message = `event "${name}" did not come within ${timeoutMs} ms`;
  return new StepFailed(message, { type: "TASK_TIMEOUT", message, retryable: true });
}
