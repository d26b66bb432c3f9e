import { appendFileSync } from "node:fs";
import { EventLog } from "../sim/event-log.ts";
import type { Moment } from "../sim/evidence.ts";
import { Recorder } from "../sim/recorder.ts";

/** Time alone tells before and after, where many processes write down what they see. */
export class RunRecorder extends Recorder {
  readonly #now: () => number;

  constructor(log: EventLog, now: () => number) {
    super(log, now);
    this.#now = now;
  }

  override moment(): Moment {
    const at = this.#now();
    return { at, order: at };
  }
}

/** The run's log, kept in a file as it goes. */
export class FileLog extends EventLog {
  readonly #file: string;
  readonly #now: () => number;
  readonly #beganAt: number;

  constructor(file: string, now: () => number) {
    super(now);
    this.#file = file;
    this.#now = now;
    this.#beganAt = now();
  }

  override note(text: string): void {
    appendFileSync(this.#file, `${(this.#now() - this.#beganAt).toFixed(1).padStart(10)}  ${text}\n`);
  }
}
