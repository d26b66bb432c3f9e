import { setTimeout as sleep } from "node:timers/promises";
import { defineJob, TaskBuilder } from "../../src/index.ts";
import type { Job, JobContext } from "../../src/index.ts";
import { attemptName } from "./side-effects.ts";
import type { SideEffectLog } from "./side-effects.ts";

/** Every job gives the sum of what came before it and its own value, so that an output tells its whole past. */
export interface Step {
  readonly ms: number;
  readonly value: number;
}

export interface Sum {
  readonly sum: number;
}

interface Flaky extends Step {
  /** The first attempts fail, this many. */
  readonly failures: number;
}

interface Spread extends Step {
  readonly subTasks: number;
  /** Its sub-tasks generate sub-tasks of their own. */
  readonly deeper?: boolean;
}

type Body<Params> = (params: Params, ctx: JobContext) => unknown;

/** The jobs of the workload. Each says in the log when it begins and how it ends. */
export function recoveryJobs(log: SideEffectLog): Job[] {
  const job = <Params extends Step>(name: string, body: Body<Params>): Job<Params> =>
    defineJob(name, async (params: Params, ctx: JobContext) => {
      log.write("start", ctx.attemptId);
      try {
        await sleep(params.ms, undefined, { signal: ctx.signal });
        const output = await body(params, ctx);
        log.write("done", ctx.attemptId);
        return output;
      } catch (error) {
        log.write("fail", ctx.attemptId);
        throw error;
      }
    });
  return [
    job("step", sumOf),
    job("bulky", (step, ctx) => ({ ...sumOf(step, ctx), text: "x".repeat(6000) })),
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
      if (ctx.attempt <= step.failures) await sleep(3_600_000, undefined, { signal: ctx.signal });
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

function subTask(name: string, { ms, value, subTasks, deeper }: Spread) {
  const task = new TaskBuilder(name);
  if (deeper) task.withJobFunction("spread", { ms, value, subTasks });
  else task.withJobFunction("flaky", { ms, value, failures: 1 }).withRetryCount(1).withRetryPolicy({ initialMs: 40 });
  return task.build();
}

function sumOf({ value }: Step, { outputs }: JobContext): Sum {
  return { sum: value + total(outputs) };
}

/** Of a job's output, of a decision's (nothing), or of a nested workflow's: all its tasks. */
function total(output: unknown): number {
  if (typeof output !== "object" || output === null) return 0;
  if ("sum" in output) return Number(output.sum);
  return Object.values(output).reduce<number>((sum, each) => sum + total(each), 0);
}
