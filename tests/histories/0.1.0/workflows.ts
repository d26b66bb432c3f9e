/** The code whose histories lie beside it. It does not change any more: what it did then, it does for ever. */
import { type CodeWorkflow, defineWorkflow, type WorkflowContext } from "../../../src/index.ts";

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

const activities = defineWorkflow("activities", async (ctx, names: string[]) => {
  const first = await ctx.run("note", names[0]);
  ctx.setCustomStatus({ first });
  const others = await ctx.all(names.slice(1).map((name) => ctx.run("note", name)));
  return { first, others, at: ctx.now(), chance: [ctx.random(), ctx.uuid()] };
});

const retries = defineWorkflow("retries", async (ctx) => {
  const late = await ctx.run("flaky", "a", { retryCount: 2 });
  const lost = await ctx.run("refuse", "b", { retryCount: 1 }).catch(messageOf);
  return [late, lost];
});

const timers = defineWorkflow("timers", async (ctx) => {
  await ctx.sleep(1000);
  const first = await ctx.race([ctx.sleep(5000).then(() => "slow"), ctx.sleep(2000).then(() => "fast")]);
  await ctx.sleep(new Date(ctx.now() + 24 * 3_600_000));
  return first;
});

const events = defineWorkflow("events", async (ctx) => {
  const early = await ctx.waitForEvent("early");
  const inTime = await ctx.waitForEvent("go", { timeoutMs: 10_000 });
  const never = await ctx.waitForEvent("never", { timeoutMs: 1000 }).catch(messageOf);
  ctx.sendEvent("somebody", "done", { early });
  return [early, inTime, never];
});

const updates = defineWorkflow("updates", async (ctx) => {
  let total = 0;
  ctx.onQuery("total", () => total);
  ctx.onUpdate("plus", {
    validate: (n: number) => {
      if (n < 0) throw new Error("only up");
    },
    handler: async (n: number) => (total += Number(await ctx.run("note", n))),
  });
  ctx.onUpdate("fail", () => Promise.reject(new Error("as asked")));
  await ctx.waitForEvent("close");
  return total;
});

async function trip(ctx: WorkflowContext): Promise<void> {
  const undo = (what: unknown): Promise<void> => ctx.run("note", `cancel ${String(what)}`).then(() => undefined);
  await ctx.run("note", "hotel", { undo });
  await ctx.saga(async (own) => {
    await own.run("note", "flight", { undo });
    own.undo(() => own.run("note", "refund").then(() => undefined));
  });
}

const saga = defineWorkflow("saga", async (ctx) => {
  await trip(ctx);
  await ctx.run("refuse", "car");
});

const cancel = defineWorkflow("cancel", async (ctx) => {
  ctx.onCancel(() => ctx.run("note", `called off: ${ctx.cancelReason}`).then(() => undefined));
  await trip(ctx);
  await ctx.sleep(1_000_000);
});

const paused = defineWorkflow("paused", async (ctx) => {
  const first = await ctx.waitForEvent("go");
  const at = ctx.now();
  await ctx.sleep(1000);
  return [first, at, await ctx.waitForEvent("go")];
});

const inner = defineWorkflow("inner", async (ctx, n: number) => {
  if (n < 0) throw new Error("below zero");
  return Number(await ctx.run("note", n)) + 1;
});

const children = defineWorkflow("children", async (ctx) => {
  const both = await ctx.all([ctx.callChild(inner, 1), ctx.callChild("dag", { x: 1 })]);
  const failed = await ctx.callChild(inner, -1).catch(messageOf);
  const free = ctx.startChild(inner, 2, { instanceId: "free" });
  return [both, failed, free];
});

const anew = defineWorkflow("anew", async (ctx, n: number): Promise<number> => {
  if (n === 2) return n + Number(await ctx.waitForEvent("add"));
  await ctx.run("note", n);
  return await ctx.continueAsNew(n + 1, { keepEvents: true });
});

const patched = defineWorkflow("patched", async (ctx) => {
  await ctx.run("note", "before");
  await ctx.run("note", ctx.patched("newer") ? "the newer way" : "the older way");
  await ctx.sleep(1000);
  return ctx.patched("newer");
});

/** What `patched` was before it was changed. */
export const beforePatch = defineWorkflow("patched", async (ctx) => {
  await ctx.run("note", "before");
  await ctx.run("note", "the older way");
  await ctx.sleep(1000);
  return false;
});

const fork = defineWorkflow("fork", async (ctx) => {
  const ids = [await ctx.run("note", ctx.instanceId)];
  // Which of the two it is, is chance.
  for (const name of ["b", "c"])
    ids.push(await ctx.run(ctx.random() < 0.5 ? "note" : "copy", [name, ctx.uuid(), ctx.now()]));
  await ctx.sleep(1000);
  return ids;
});

export const workflows: readonly CodeWorkflow[] = [
  activities,
  retries,
  timers,
  events,
  updates,
  saga,
  cancel,
  paused,
  inner,
  children,
  anew,
  patched,
  fork,
];
