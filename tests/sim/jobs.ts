import { defineJob, type Job, type JobContext } from "../../src/authoring/job.ts";
import type { Task } from "../../src/authoring/task.ts";
import { TaskBuilder } from "../../src/authoring/task-builder.ts";
import type { Clock } from "../../src/base/clock.ts";
import { attemptName } from "../recovery/side-effects.ts";
import type { Recorder } from "./recorder.ts";

/** What every job of the workload is told: how long it takes, and what it adds to the sum of what came before it. */
export interface Step {
  readonly ms: number;
  readonly value: number;
  /** The domain its task is in, for the record. */
  readonly domain?: string;
  /** How long its task must wait before its first retry, and how many times longer before each further one. */
  readonly retryMs?: number;
  readonly retryFactor?: number;
  readonly timeoutMs?: number;
}

export interface Flaky extends Step {
  /** The first attempts fail, this many. */
  readonly failures: number;
}

export interface Spread extends Step {
  readonly subTasks: number;
  /** Its sub-tasks generate sub-tasks of their own. */
  readonly deeper?: boolean;
}

/** So long are texts that become rows of their own. */
export const bulkyLength = 5000;

type Body<Params> = (params: Params, ctx: JobContext) => unknown;

/** The process that a job runs in. */
export interface JobHost {
  readonly number: number;
  readonly machine: string;
  readonly isDead: boolean;
  readonly clock: Clock;
  /** A job that has time takes so much longer here. */
  lingerMs(): number;
}

/**
 * The jobs of the workload, for one life. Each gives the sum of what came before it and its own value, so that an output
 * tells its whole past; what it does depends on its params, its attempt and its generation, and on nothing else.
 */
export function simJobs(host: JobHost, recorder: Recorder): Job[] {
  const job = <Params extends Step>(name: string, body: Body<Params>): Job<Params> =>
    defineJob(name, (params: Params, ctx: JobContext) => run(host, recorder, { name, body, params, ctx }));
  return [
    job("step", sumOf),
    job("bulky", (step, ctx) => ({ ...sumOf(step, ctx), text: "x".repeat(bulkyLength) })),
    job("patch", (step, ctx) => {
      ctx.patchContext({ [ctx.taskName]: step.value });
      return sumOf(step, ctx);
    }),
    job<Flaky>("flaky", (step, ctx) => {
      if (ctx.attempt <= step.failures) throw new Error(`failure ${ctx.attempt} of ${step.failures}`);
      return sumOf(step, ctx);
    }),
    job("broken", () => {
      throw new Error("it never works");
    }),
    job("broken-at-first", (step, ctx) => {
      if (attemptName(ctx.attemptId).generation === 1) throw new Error("it works only when it is retried");
      return sumOf(step, ctx);
    }),
    job<Flaky>("hang", async (step, ctx) => {
      if (ctx.attempt <= step.failures) await sleep(host, hangMs, ctx.signal);
      return sumOf(step, ctx);
    }),
    job("await-context", (step, ctx) => {
      if (ctx.context["external"] === undefined) throw new Error("the context has not come yet");
      return { sum: sumOf(step, ctx).sum + Number(ctx.context["external"]) };
    }),
    job<Spread>("spread", (step, ctx) => {
      for (let i = 0; i < step.subTasks; i++) ctx.generateSubTask(subTask(`${ctx.taskName}.${i}`, step));
      return sumOf(step, ctx);
    }),
  ];
}

/** The last promises of a process that is gone wait for this: nothing of them is seen any more. */
const silence = new Promise<never>(() => undefined);

/** Until it is told to stop. */
const hangMs = 3_600_000;

async function run<Params extends Step>(
  host: JobHost,
  recorder: Recorder,
  call: { name: string; body: Body<Params>; params: Params; ctx: JobContext },
): Promise<unknown> {
  const { name, body, params, ctx } = call;
  if (host.isDead) return await silence;
  const record = recorder.recordRun(host, name, params as Readonly<Record<string, unknown>> & Params, ctx);
  ctx.signal.addEventListener("abort", () => void (host.isDead || recorder.recordAbort(record)), { once: true });
  try {
    await sleep(host, params.ms + (params.timeoutMs === undefined ? host.lingerMs() : 0), ctx.signal);
    const output = await body(params, ctx);
    if (host.isDead) return await silence;
    recorder.recordRunEnd(record, "done");
    return output;
  } catch (error) {
    if (host.isDead) return await silence;
    recorder.recordRunEnd(record, ctx.signal.aborted ? "aborted" : "failed");
    throw error;
  }
}

async function sleep(host: JobHost, ms: number, signal: AbortSignal): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    const timer = host.clock.after(ms, resolve);
    const stop = (): void => {
      timer.cancel();
      reject(signal.reason as Error);
    };
    if (signal.aborted) stop();
    else signal.addEventListener("abort", stop, { once: true });
  });
}

function subTask(name: string, step: Spread): Task {
  const { ms, value, subTasks, deeper, domain } = step;
  const task = new TaskBuilder(name).withTimeout(hangMs / 1000);
  const rest = domain === undefined ? {} : { domain };
  if (domain !== undefined) task.withDomain(domain);
  if (deeper) task.withJobFunction("spread", { ms, value, subTasks, ...rest });
  else {
    const retry = { retryMs: subTaskRetryMs, retryFactor: 2 };
    task.withJobFunction("flaky", { ms, value, failures: 1, ...retry, ...rest }).withRetryCount(1);
    task.withRetryPolicy({ initialMs: subTaskRetryMs });
  }
  return task.build();
}

const subTaskRetryMs = 200;

function sumOf({ value }: Step, { outputs }: JobContext): { sum: number } {
  return { sum: value + total(outputs) };
}

/** Of a job's output, of a decision's (nothing), or of a nested workflow's: all its tasks. */
function total(output: unknown): number {
  if (typeof output !== "object" || output === null) return 0;
  if ("sum" in output) return Number(output.sum);
  return Object.values(output).reduce<number>((sum, each) => sum + total(each), 0);
}
