import { defineJob, type Job, type JobContext } from "../../src/authoring/job.ts";
import type { Task } from "../../src/authoring/task.ts";
import { TaskBuilder } from "../../src/authoring/task-builder.ts";
import type { Clock } from "../../src/base/clock.ts";
import { attemptName } from "../recovery/side-effects.ts";
import type { JobRun } from "./evidence.ts";
import type { Recorder } from "./recorder.ts";

/** The params of every job: its duration, and the value that it adds to the sum of its dependencies. */
export interface Step {
  readonly ms: number;
  readonly value: number;
  /** The domain of its task, for the record. */
  readonly domain?: string;
  /** The tag that its task requires of a worker, for the record: a role of processes. */
  readonly tag?: string;
  /** The backoff of its task: the first delay, and the factor of each further one. */
  readonly retryMs?: number;
  readonly retryFactor?: number;
  readonly timeoutMs?: number;
}

export interface Flaky extends Step {
  /** The number of first attempts that fail. */
  readonly failures: number;
}

/** Hands in items; each hands in as many again as its number says. */
export interface Source extends Flaky {
  /** The items of each call. */
  readonly calls: readonly (readonly number[])[];
}

/** Its `timeoutMs` is the time without a heartbeat after which it times out. */
export interface Beating extends Flaky {
  readonly timeoutMs: number;
  /** The number of heartbeats that each attempt sends, four of them in each heartbeat timeout. */
  readonly beats: number;
  /** An attempt that fails sends no more heartbeats, and waits for its timeout. */
  readonly fallsSilent: boolean;
}

export interface Spread extends Step {
  readonly subTasks: number;
  /** Its sub-tasks generate sub-tasks of their own. */
  readonly deeper?: boolean;
}

/** The length of texts that become rows of their own. */
export const bulkyLength = 5000;

type Body<Params> = (params: Params, ctx: JobContext, record: JobRun) => unknown;

/** The process that a job runs in. */
export interface JobHost {
  readonly number: number;
  readonly machine: string;
  readonly isDead: boolean;
  readonly clock: Clock;
  /** Additional duration of jobs in this process. */
  lingerMs(): number;
}

/**
 * The jobs of the workload, for one process. Each returns the sum of its dependencies' outputs and its own value, so
 * that an output reflects all that came before. Its behaviour depends only on its params, attempt and generation.
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
    job("odd-broken-at-first", (step, ctx) => {
      const isOdd = Number(ctx.index) % 2 === 1;
      if (isOdd && attemptName(ctx.attemptId).generation === 1) throw new Error("odd items work only when retried");
      return sumOf(step, ctx);
    }),
    job<Source>("source", async (step, ctx) => {
      for (const kids of step.calls) await ctx.map(kids.map((count) => ({ kids: count })));
      if (ctx.attempt <= step.failures) throw new Error(`failure ${ctx.attempt} of ${step.failures}`);
      return sumOf(step, ctx);
    }),
    job<Flaky>("nest", async (step, ctx) => {
      const { kids } = ctx.item as { kids: number };
      if (kids > 0) await ctx.map(Array.from({ length: kids }, () => ({ kids: 0 })));
      if (ctx.attempt <= step.failures) throw new Error(`failure ${ctx.attempt} of ${step.failures}`);
      return sumOf(step, ctx);
    }),
    job<Step>("reduce", async (step, ctx) => {
      let total = sumOf(step, ctx).sum;
      for await (const { status, output, failure } of ctx.results()) {
        if (status !== "Success") throw new Error(`an item has failed: ${failure?.message}`);
        total += (output as { sum: number }).sum;
      }
      return { sum: total };
    }),
    job<Step>("roll-call", async (step, ctx) => {
      for await (const { status, failure } of ctx.results()) {
        const isLost = failure?.type === "WORKER_GONE" || failure?.type === "TASK_LOST";
        if (status !== "Success" && !isLost) throw new Error(`a worker is ${status}: ${failure?.message}`);
      }
      return sumOf(step, ctx);
    }),
    job<Flaky>("hang", async (step, ctx) => {
      if (ctx.attempt <= step.failures) await sleep(host, hangMs, ctx.signal);
      return sumOf(step, ctx);
    }),
    job<Beating>("beat", async (step, ctx, record) => {
      for (let beat = 1; beat <= step.beats; beat++) {
        const details = { run: record.start.order, beat };
        recorder.recordHeartbeat(record, details);
        ctx.heartbeat(details);
        await sleep(host, step.timeoutMs / 4, ctx.signal);
      }
      if (ctx.attempt > step.failures) return sumOf(step, ctx);
      if (step.fallsSilent) await sleep(host, hangMs, ctx.signal);
      throw new Error(`failure ${ctx.attempt} of ${step.failures}`);
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

/** Awaited by jobs of an ended process, so that nothing more of them is seen. */
const silence = new Promise<never>(() => undefined);

/** Sleeps until its signal is aborted. */
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
    const output = await body(params, ctx, record);
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

/** The sum in an output: of a job, of a decision (none), or of all tasks of a nested workflow. */
function total(output: unknown): number {
  if (typeof output !== "object" || output === null) return 0;
  if ("sum" in output) return Number(output.sum);
  return Object.values(output).reduce<number>((sum, each) => sum + total(each), 0);
}
