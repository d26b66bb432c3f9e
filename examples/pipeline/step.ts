import { appendFileSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import type { JobContext } from "../../src/index.ts";
import { dataFolder, speed } from "./settings.ts";

/** One attempt of one task, as the jobs of this example see it: a folder, a journal, and time to be watched. */
export class Step {
  /** The files of this run. */
  readonly folder: string;
  readonly #ctx: JobContext;

  constructor(ctx: JobContext) {
    this.#ctx = ctx;
    this.folder = join(dataFolder, "pipeline", String(ctx.context["run"]));
    mkdirSync(this.folder, { recursive: true });
  }

  path(name: string): string {
    return join(this.folder, name);
  }

  /**
   * The data is small, so jobs take their time: long enough to be seen, and to be interrupted. An orderly stop ends the
   * wait with an error at once; the attempt is then run again at the next start.
   */
  async takeTime(seconds: number): Promise<void> {
    await delay((seconds * 1000) / speed, undefined, { signal: this.#ctx.signal });
  }

  /** What really ran, whatever the engine says: the tests compare the two. */
  record(what: "began" | "ended"): void {
    const { taskName: task, attempt } = this.#ctx;
    appendFileSync(this.path("journal.jsonl"), `${JSON.stringify({ what, task, attempt, pid: process.pid })}\n`);
  }
}

/** A job function whose every attempt is in the journal. */
export function journaled<Params, Output>(
  work: (params: Params, step: Step, ctx: JobContext) => Promise<Output>,
): (params: Params, ctx: JobContext) => Promise<Output> {
  return async (params, ctx) => {
    const step = new Step(ctx);
    step.record("began");
    const output = await work(params, step, ctx);
    step.record("ended");
    return output;
  };
}
