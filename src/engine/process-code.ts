import type { CodeWorkflow } from "../authoring/code-workflow.ts";
import type { Clock } from "../base/clock.ts";
import type { Logger } from "../base/logger.ts";
import type { LoopWatch } from "../base/loop-watch.ts";
import { Drain, type IdleListener } from "../code/drain.ts";
import { UnhandledRejections } from "../code/unhandled-rejections.ts";
import type { CodeWatch, WatchedRun } from "../code/watch-code.ts";
import type { CodeHosts } from "../dispatch/code-hosts.ts";
import type { Failure } from "../kernel/failure.ts";
import type { CodeRuntime } from "../runtime/code-runtime.ts";
import { failureFrom } from "../worker/failure-from.ts";
import { reportFatalError } from "../worker/fatal-errors.ts";

/** Finds and runs the code of workflows in this process. */
export class ProcessCode implements CodeRuntime {
  readonly loopWatch: LoopWatch | undefined;
  readonly hosts: CodeHosts | undefined;
  readonly learn: CodeRuntime["learn"];
  readonly #find: CodeRuntime["find"];
  readonly #drain: Drain;
  readonly #versionOf: CodeRuntime["versionOf"];
  readonly #hasDomain: (domain: string) => boolean;
  readonly #watch: CodeWatch | undefined;
  readonly #lone: UnhandledRejections;

  constructor(parts: {
    find: CodeRuntime["find"];
    clock: Clock;
    versionOf: CodeRuntime["versionOf"];
    hasDomain: (domain: string) => boolean;
    logger: Logger;
    /** Warns about code that is not deterministic. */
    watch?: CodeWatch | undefined;
    loopWatch: LoopWatch | undefined;
    hosts?: CodeHosts | undefined;
    learn?: CodeRuntime["learn"];
  }) {
    this.hosts = parts.hosts;
    this.learn = parts.learn;
    this.loopWatch = parts.loopWatch;
    this.#lone = new UnhandledRejections(parts.logger, reportFatalError);
    this.#find = parts.find;
    this.#drain = new Drain(parts.clock);
    this.#versionOf = parts.versionOf;
    this.#hasDomain = parts.hasDomain;
    this.#watch = parts.watch;
  }

  find(workflow: string, version: string): CodeWorkflow | undefined {
    return this.#find(workflow, version);
  }

  versionOf(workflow: string, wanted?: string): string | undefined {
    return this.#versionOf(workflow, wanted);
  }

  hasDomain(domain: string): boolean {
    return this.#hasDomain(domain);
  }

  whenDrained(waiting: IdleListener): void {
    this.#drain.wait(waiting);
  }

  failureFrom(error: unknown): Failure {
    return failureFrom(error, "the code of the workflow");
  }

  within<T>(call: () => T, run: WatchedRun): T {
    const watch = this.#watch;
    return this.#lone.within(watch === undefined ? call : () => watch.within(call, run));
  }

  /** Code may run from now on. */
  start(): void {
    this.#lone.start();
    this.#watch?.start();
  }

  stop(): void {
    this.#lone.stop();
    this.#watch?.stop();
  }
}
