import { type ChildProcess, fork } from "node:child_process";
import { fileURLToPath } from "node:url";
import type { Outcome, PlainSeedOptions } from "./main.ts";

/** A seed to run, as plain data for another process. */
export interface SeedRequest extends PlainSeedOptions {
  readonly seed: number;
  /** The name of the mutation. */
  readonly mutation?: string | undefined;
  /** The number of log lines to report, or all, if there is a violation; with `isLogged`, always. */
  readonly logLines?: number;
  readonly isLogged?: boolean;
}

/** The result of a seed; with the end of the log if there is a violation. */
export type SeedReport = Omit<Outcome, "log"> & { readonly tail: readonly string[] };

/** The messages of the child: a heartbeat whenever virtual time has advanced, and the report. */
export type SeedMessage = { readonly heartbeat: number } | { readonly report: SeedReport };

export interface SeedProcessOptions {
  /** Wall time without a heartbeat after which the watchdog ends a run. */
  readonly stallMs?: number;
  /** The module that the child runs. */
  readonly module?: string;
}

const childModule = fileURLToPath(import.meta.resolve("./seed-child.ts"));

/** Far more than the checkers of the largest run need on a busy machine. */
const defaultStallMs = 180_000;

/**
 * Runs seeds one at a time in a child process. A watchdog kills a run that is in a loop, or whose virtual time stands
 * still, and reports it as a failure of its seed; the next seed runs in a new child. The watchdog does not affect the
 * run.
 */
export class SeedProcess {
  readonly #stallMs: number;
  readonly #module: string;
  #child: ChildProcess | undefined;
  /** The mutation that the child was started with, which may change the source that it loads. */
  #mutation: string | undefined;

  constructor({ stallMs = defaultStallMs, module = childModule }: SeedProcessOptions = {}) {
    this.#stallMs = stallMs;
    this.#module = module;
  }

  async run(request: SeedRequest): Promise<SeedReport> {
    const child = this.#childFor(request.mutation);
    let heartbeat = 0;
    let watchdog: NodeJS.Timeout | undefined;
    const { promise, resolve } = Promise.withResolvers<SeedReport>();
    const fail = (problem: string): void => {
      if (this.#child === child) this.#child = undefined;
      resolve(failure(request.seed, `watchdog: ${problem}; virtual time was ${heartbeat.toFixed(0)} ms`));
    };
    const rearm = (): void => {
      clearTimeout(watchdog);
      watchdog = setTimeout(() => {
        child.kill("SIGKILL");
        fail(`the run made no progress for ${this.#stallMs / 1000} s`);
      }, this.#stallMs);
    };
    const receive = (message: SeedMessage): void => {
      if ("report" in message) return resolve(message.report);
      heartbeat = message.heartbeat;
      rearm();
    };
    const onExit = (code: number | null, signal: string | null): void =>
      fail(`its process ended with ${signal ?? code}`);
    child.on("message", receive).once("exit", onExit);
    rearm();
    child.send(request);
    try {
      return await promise;
    } finally {
      clearTimeout(watchdog);
      child.off("message", receive).off("exit", onExit);
    }
  }

  #childFor(mutation: string | undefined): ChildProcess {
    if (mutation !== this.#mutation) this.stop();
    this.#mutation = mutation;
    this.#child ??= fork(this.#module, mutation === undefined ? [] : [mutation]);
    return this.#child;
  }

  stop(): void {
    this.#child?.kill();
    this.#child = undefined;
  }
}

function failure(seed: number, violation: string): SeedReport {
  return {
    seed,
    hash: "none",
    violations: [violation],
    about: "ended by the watchdog",
    events: 0,
    virtualMs: 0,
    tail: [],
  };
}
