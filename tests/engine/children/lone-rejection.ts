/** A workflow whose second promise fails while it waits for the first; then a promise of nobody's fails. */
import { defineJob, defineWorkflow, Engine } from "../../../src/index.ts";
import { memoryStore } from "../../../src/testing.ts";

const slow = defineJob("slow", async () => await new Promise((resolve) => setTimeout(resolve, 20)));
const broken = defineJob("broken", () => {
  throw new Error("no");
});
const both = defineWorkflow("both", async (ctx) => {
  const first = (async () => await ctx.run(slow))();
  const second = (async () => await ctx.run(broken))();
  await first;
  try {
    await second;
  } catch (error) {
    return `caught: ${(error as Error).message}`;
  }
  return "nothing to catch";
});

const engine = new Engine({ storage: memoryStore(), jobs: [slow, broken], workflows: [both] });
await engine.start();
process.stdout.write(`${await (await engine.startWorkflow(both)).result()}\n`);
void Promise.reject(new Error("nobody's"));
setTimeout(() => process.stdout.write("still alive\n"), 1000);
