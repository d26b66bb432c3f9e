/**
 * `node poison-code-child.ts <database> <how> <where>`: an engine on a file, or one member of several on a server, with an instance whose code ends or blocks the process,
 * and neighbours. Writes a line every 50 ms; ends by itself when the neighbours have succeeded and the instance is out of
 * service.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { defineJob, defineWorkflow, Engine, hasCode, type WorkflowContext } from "../../src/index.ts";
import { postgres } from "../../src/postgres.ts";
import { sqlite } from "../../src/sqlite.ts";

const [file = "", how = "", where = ""] = process.argv.slice(2);
const echo = defineJob("echo", (text: string) => text);

async function misbehave(): Promise<void> {
  if (how === "exit") process.exit(7);
  if (how === "spin") for (;;);
  if (how === "microtasks") for (;;) await Promise.resolve();
}

const poison = defineWorkflow("poison", async (ctx: WorkflowContext) => {
  if (where === "first") await misbehave();
  await ctx.run(echo, "a");
  if (where === "activity") await misbehave();
  await ctx.sleep(100);
  await misbehave();
  return "survived";
});
const parent = defineWorkflow("parent", (ctx: WorkflowContext) =>
  ctx.callChild(poison, undefined, { instanceId: "poison" }),
);
const good = defineWorkflow("good", async (ctx: WorkflowContext) => {
  await ctx.run(echo, "b");
  await ctx.sleep(300);
  await ctx.run(echo, "c");
  return "good";
});

const isServer = file.startsWith("postgresql:") || file.startsWith("postgres:");
const engine = new Engine({
  storage: isServer ? postgres(file) : sqlite(file),
  ...(isServer && { cluster: { shards: 2 } }),
  jobs: [echo],
  workflows: [poison, parent, good],
});
await engine.start();
process.stdout.write("up\n");
setInterval(() => process.stdout.write("beat\n"), 50).unref();

async function ensure(start: () => Promise<unknown>): Promise<void> {
  try {
    await start();
  } catch (error) {
    // An earlier life has started it.
    if (!hasCode(error, "INSTANCE_EXISTS")) throw error;
  }
}

/** The first of several members that dies is to have somebody beside it. */
async function awaitSecondMember(): Promise<void> {
  const started = await engine.listWorkflowInstances({ idPrefix: "poison" });
  if (started.length > 0) return;
  while (engine.members().length < 2) await sleep(50);
}

if (isServer) await awaitSecondMember();
const neighbours = ["n0", "n1", "n2", "n3", "n4"];
for (const instanceId of neighbours) await ensure(() => engine.startWorkflow(good, undefined, { instanceId }));
if (where === "first") await ensure(() => engine.startWorkflow(parent, undefined, { instanceId: "parent" }));
else await ensure(() => engine.startWorkflow(poison, undefined, { instanceId: "poison" }));
process.stdout.write("submitted\n");
for (const instanceId of neighbours) await engine.awaitWorkflowInstance(instanceId);
process.stdout.write("neighbours done\n");
for (;;) {
  try {
    await engine.getWorkflowInstanceStatus("poison");
  } catch (error) {
    if (hasCode(error, "INSTANCE_QUARANTINED")) {
      process.stdout.write(`quarantined: ${error.message}\n`);
      break;
    }
  }
  await sleep(20);
}
await engine.stop();
