import { AsyncLocalStorage } from "node:async_hooks";
import type { Logger } from "../base/logger.ts";
import { type UnsteadyCall, watchGlobals } from "./watch-globals.ts";
import { placeOfCaller, shownPlace } from "./watch-place.ts";

// Process-wide, as the watched globals are: the code that runs, the number of watches, and the function that stops
// watching.
const current = new AsyncLocalStorage<Watched | undefined>();
let watching = 0;
let unwatchGlobals: (() => void) | undefined;

interface Watched {
  readonly watch: CodeWatch;
  readonly run: WatchedRun | undefined;
}

/** The code of one instance. */
export interface WatchedRun {
  /** The code has called something that a replay cannot repeat: `Date.now() at file:line`. */
  noteUnsteadyCall(call: string): void;
}

/**
 * Warns when the code of a workflow reads the clock, random numbers or the outside world, once for each line that does.
 * Such code works until it is replayed. The call itself is carried out nevertheless.
 */
export class CodeWatch {
  /** The logger for lines from within a workflow's code: it may read the clock without a warning. */
  readonly logger: Logger;
  readonly #told = new Set<string>();
  #isWatching = false;

  constructor(logger: Logger) {
    this.logger = withoutWatch(logger);
  }

  start(): void {
    this.#isWatching = true;
    watching++;
    unwatchGlobals ??= watchGlobals((call) => {
      const watched = current.getStore();
      watched?.watch.note(call, watched.run);
    });
  }

  /** Stops watching. The last watch restores the globals. */
  stop(): void {
    if (!this.#isWatching) return;
    this.#isWatching = false;
    if (--watching > 0) return;
    unwatchGlobals?.();
    unwatchGlobals = undefined;
  }

  /** Marks the call, and whatever follows from it, as a workflow's code. */
  within<T>(call: () => T, run?: WatchedRun): T {
    return current.run({ watch: this, run }, call);
  }

  note({ call, problem, instead }: UnsteadyCall, run: WatchedRun | undefined): void {
    if (!this.#isWatching) return;
    const place = placeOfCaller();
    if (place === "engine") return;
    if (problem === undefined) run?.noteUnsteadyCall([call, shownPlace(place)].filter(Boolean).join(" "));
    const line = place === undefined ? call : `${place.file}:${place.line}`;
    if (this.#told.has(line)) return;
    this.#told.add(line);
    const fields = {
      call,
      instead,
      ...(place && { function: place.functionName, file: place.file, line: place.line }),
    };
    this.logger.warn(
      fields,
      `the code of a workflow calls ${call}, ${problem ?? "which a replay cannot repeat"}: use ${instead}`,
    );
  }
}

function withoutWatch(logger: Logger): Logger {
  return {
    debug: (fields, message) => current.run(undefined, () => logger.debug(fields, message)),
    info: (fields, message) => current.run(undefined, () => logger.info(fields, message)),
    warn: (fields, message) => current.run(undefined, () => logger.warn(fields, message)),
    error: (fields, message) => current.run(undefined, () => logger.error(fields, message)),
  };
}
