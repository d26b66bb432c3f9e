import { z } from "zod";
import type { ServerParts } from "../../src/server/server.ts";
import { defineJob, defineWorkflow, TaskBuilder, WorkflowBuilder } from "../../src/index.ts";
import type { Workflow, WorkflowContext } from "../../src/index.ts";

/** A definition as a caller would save it: `a` says something, `b` comes after it. */
export const twoNodes = {
  nodes: [
    { nodeId: 1, nodeName: "a", jobName: "say", nodeParams: '"hello"' },
    { nodeId: 2, nodeName: "b", jobName: "say", nodeParams: '"world"', skipWhenFailed: true },
  ],
  edges: [{ from: 1, to: 2 }],
};

const orderInput = z.object({
  customer: z.object({ name: z.string().min(2), vip: z.boolean().default(false) }),
  amount: z.number().positive().meta({ description: "In cents." }),
  currency: z.enum(["EUR", "CNY"]).default("CNY"),
  tags: z.array(z.string()).optional(),
  /** No schema says this: the server finds it. */
  coupon: z
    .string()
    .refine((text) => text.startsWith("C-"), "must begin with C-")
    .optional(),
});

/** Jobs and workflows for the server's tests. */
export function sampleApp(): Required<Pick<ServerParts, "jobs" | "workflows">> {
  const say = defineJob("say", (text: string, ctx) => {
    ctx.log.info({ text }, "said");
    return text;
  });
  const ask = defineJob("ask", (_: unknown, ctx) => ctx.log.info({ token: ctx.completeLater() }, "asked"));
  const repeat = defineJob("repeat", (times: number) => "x".repeat(times));
  const refuse = defineJob("refuse", (): string => {
    throw new Error("not today");
  });
  /** Ends when it is told to stop, or after half a minute. */
  const hold = defineJob("hold", async (_: unknown, { signal }) => {
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, 30_000);
      signal.addEventListener("abort", () => {
        clearTimeout(timer);
        resolve();
      });
    });
    return "held";
  });
  const pause = defineJob("pause", async (ms: number) => {
    await new Promise((resolve) => setTimeout(resolve, ms));
    return ms;
  });
  const dag = (name: string, ...tasks: (readonly [string, string, unknown?])[]): Workflow => {
    const builder = new WorkflowBuilder().withName(name);
    for (const [at, [task, job, params]] of tasks.entries()) {
      const before = tasks[at - 1]?.[0];
      const made = new TaskBuilder(task).withJobFunction(job, params);
      builder.withTask(before === undefined ? made : made.withDependency(before));
    }
    return builder.build();
  };
  const talk = defineWorkflow("talk", async (ctx: WorkflowContext, input: { topic?: string } | undefined) => {
    let words = 0;
    ctx.onQuery("words", () => words);
    ctx.onUpdate("add", (count: number) => {
      if (count < 0) throw new Error("words are not taken back");
      return (words += count);
    });
    ctx.setCustomStatus({ topic: input?.topic ?? null });
    const said = await ctx.run(say, "first");
    const heard = await ctx.waitForEvent("go");
    return { said, heard, words };
  });
  const order = defineWorkflow("order", { input: orderInput }, async (ctx, { customer, amount }) => {
    if (amount > 1000) await ctx.waitForEvent("approved");
    return await ctx.run(say, `${customer.name} pays ${amount}`);
  });
  return {
    jobs: [repeat, say, refuse, hold, pause, ask],
    workflows: [
      dag("hello", ["greet", "say", "hi"]),
      dag("fails", ["greet", "say", "hi"], ["stumble", "refuse"]),
      dag("holds", ["wait", "hold"], ["after", "say", "done"]),
      dag("pauses", ["rest", "pause", 50], ["after", "say", "done"]),
      talk,
      order,
    ],
  };
}
