/**
 * `node watchdog-child.ts <database> <scene> <file> <watchdog>`: an engine with a watchdog, as JSON, whose event loop is
 * blocked by the code of the scene until the file exists. Writes the result, and ends by itself.
 */
import { existsSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import {
  defineJob,
  defineWorkflow,
  Engine,
  TaskBuilder,
  WorkflowBuilder,
  type WatchdogOptions,
} from "../../src/index.ts";
import { sqlite } from "../../src/sqlite.ts";

const [database = "", scene = "", file = "", watchdog = "{}"] = process.argv.slice(2);

function block(): void {
  while (!existsSync(file));
}

const echo = defineJob("echo", (text: string) => text);
const blockAtOnce = defineJob("block-at-once", () => {
  block();
  return "job";
});
const blockLater = defineJob("block-later", async () => {
  await sleep(10);
  block();
  return "job";
});
const coded = defineWorkflow("coded", async (ctx) => {
  if (scene === "code-start") block();
  await ctx.run(echo, "a");
  await ctx.sleep(10);
  if (scene === "code-timer") block();
  return "code";
});
const graph = new WorkflowBuilder()
  .withName("graph")
  .withTask(new TaskBuilder("crunch").withJobFunction(scene === "job-call" ? blockAtOnce : blockLater))
  .build();

const engine = new Engine({
  storage: sqlite(database),
  jobs: [echo, blockAtOnce, blockLater],
  workflows: [coded],
  watchCode: false,
  watchdog: JSON.parse(watchdog) as WatchdogOptions,
});
await engine.start();
process.stdout.write("up\n");
if (scene === "idle") while (!existsSync(file)) await sleep(20);
else if (scene.startsWith("code")) await engine.startWorkflow(coded, undefined, { instanceId: "culprit" });
else await engine.submitWorkflow(graph, { instanceId: "culprit" });
if (scene !== "idle") process.stdout.write(`${JSON.stringify(await engine.awaitWorkflowInstance("culprit"))}\n`);
await engine.stop();
