/**
 * An engine in a process of its own, whose workflows have branches that fail while nobody waits for them. Says what came
 * of each. A test runner hears of such promises too, and would take them for its own.
 */
import { defineWorkflow, Engine, WorkflowTerminated } from "../../../src/index.ts";
import { memoryStore, TestClock } from "../../../src/testing.ts";

const canceled = defineWorkflow("canceled", async (ctx) => {
  const branch = async (name: string): Promise<void> => {
    await ctx.waitForEvent(name);
    await ctx.sleep(1000);
  };
  const [a, b] = [branch("a"), branch("b")];
  await a;
  await b;
});
const throwing = defineWorkflow("throwing", async (ctx) => {
  const branch = async (): Promise<never> => {
    await ctx.waitForEvent("a");
    throw new Error("thrown in a branch");
  };
  const lone = branch();
  await ctx.waitForEvent("b");
  return await lone.catch((error: unknown) => (error as Error).message);
});

const clock = new TestClock();
const silent = { debug: ignore, info: ignore, warn: ignore, error: ignore };
const engine = new Engine({ storage: memoryStore(), workflows: [canceled, throwing], clock, logger: silent });
await engine.start();
const first = await engine.startWorkflow(canceled, undefined);
await clock.settle();
await first.cancel("enough");
const end: unknown = await first.result().catch((error: unknown) => error);
process.stdout.write(`${end instanceof WorkflowTerminated ? end.code : "it went on"}\n`);
const second = await engine.startWorkflow(throwing, undefined);
await second.raiseEvent("a");
await clock.settle();
await second.raiseEvent("b");
process.stdout.write(`${await second.result()}\n`);
await engine.stop();

function ignore(): void {}
