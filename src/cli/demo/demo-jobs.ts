import { defineJob, type Job } from "../../authoring/job.ts";
import type { Clock } from "../../base/clock.ts";

export interface WorkParams {
  /** Duration, and its variation. */
  readonly ms: number;
  /** Share of attempts that fail, of a hundred. */
  readonly fails?: number;
  readonly error?: string;
}

/** Jobs of the demo; each of them waits, logs, and sometimes fails. */
const jobNames = [
  "extract-table",
  "validate-rows",
  "transform",
  "load-warehouse",
  "train-model",
  "score-batch",
  "render-report",
  "send-mail",
  "call-api",
  "resize-image",
  "charge-card",
  "reserve-stock",
  "book-courier",
  "refund",
] as const;

export type DemoJobName = (typeof jobNames)[number];

/** A number from 0 to 99 that is the same for the same text: the demo is the same every time. */
function dice(text: string): number {
  let hash = 2166136261;
  for (const char of text) hash = Math.imul(hash ^ (char.codePointAt(0) ?? 0), 16777619);
  return Math.abs(hash % 100);
}

/** The clock is that of the engine that runs them, so that a day of history passes in seconds. */
export function demoJobs(clockOf: () => Pick<Clock, "after">): Job[] {
  const sleep = async (ms: number, signal: AbortSignal): Promise<void> => {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const timer = clockOf().after(ms, resolve);
    signal.addEventListener("abort", () => {
      timer.cancel();
      reject(signal.reason as Error);
    });
    await promise;
  };
  return jobNames.map((name) =>
    defineJob(name, async ({ ms, fails = 0, error = "connection reset by peer" }: WorkParams, ctx) => {
      const roll = dice(`${ctx.instanceId}${ctx.taskName}${ctx.attempt}`);
      const takesMs = Math.round(ms * (0.6 + roll / 125));
      ctx.log.info({ rows: roll * 173 }, `${name} begins`);
      await sleep(takesMs, ctx.signal);
      if (roll < fails) {
        ctx.log.error({ attempt: ctx.attempt }, error);
        throw new Error(error);
      }
      ctx.log.info({ ms: takesMs }, `${name} is done`);
      return { rows: roll * 173, by: name };
    }),
  );
}
