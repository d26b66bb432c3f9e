/**
 * `node poison-mix-child.ts <database> <jobs that kill> <codes that kill>`: an engine with jobs and code that end the
 * process, and innocent ones of both kinds. Ends by itself when nothing more is to come, and writes what came of each.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { defineJob, defineWorkflow, Engine, hasCode, TaskBuilder, WorkflowBuilder } from "../../src/index.ts";
import type { WorkflowContext } from "../../src/index.ts";
import { sqlite } from "../../src/sqlite.ts";

const [file = "", killingJobs = "0", killingCodes = "0"] = process.argv.slice(2);
const exit = defineJob("exit", () => process.exit(3));
const work = defineJob("work", async (ms: number) => await sleep(ms, ms));
const poison = defineWorkflow("poison", async (ctx: WorkflowContext) => {
  await ctx.run(work, 1);
  await ctx.sleep(100);
  process.exit(7);
});
/** Its history is long, so that it takes a while to bring it back. */
const patient = defineWorkflow("patient", async (ctx: WorkflowContext) => {
  for (let n = 0; n < 300; n++) await ctx.sleep(1);
  return await ctx.waitForEvent("go");
});

const engine = new Engine({ storage: sqlite(file), jobs: [exit, work], workflows: [poison, patient] });
await engine.start();

async function ensure(start: () => Promise<unknown>): Promise<void> {
  try {
    await start();
  } catch (error) {
    // An earlier life has started it.
    if (!hasCode(error, "INSTANCE_EXISTS")) throw error;
  }
}

/** Of a DAG with one task. */
async function submit(instanceId: string, task: TaskBuilder): Promise<void> {
  const workflow = new WorkflowBuilder().withName(instanceId).withTask(task.withTimeout(600)).build();
  await ensure(() => engine.submitWorkflow(workflow, { instanceId }));
}

const ids = (name: string, count: number): string[] => Array.from({ length: count }, (_, i) => `${name}-${i}`);
const patients = ids("patient", 6);
for (const instanceId of patients) await ensure(() => engine.startWorkflow(patient, undefined, { instanceId }));
/** Suspects run one after the other: innocent jobs would keep a job that kills away from the code. */
const jobs = ids("job", killingCodes === "0" ? 0 : 2);
for (const id of jobs) await submit(id, new TaskBuilder("t").withJobFunction(work, 4000));
await sleep(300);
const killers = [...ids("exit", Number(killingJobs)), ...ids("poison", Number(killingCodes))];
for (const id of killers) {
  if (id.startsWith("exit")) await submit(id, new TaskBuilder("t").withJobFunction(exit, undefined));
  else await ensure(() => engine.startWorkflow(poison, undefined, { instanceId: id }));
}

async function endOf(id: string): Promise<string> {
  try {
    const { status, tasks } = await engine.getWorkflowInstanceStatus(id);
    return status === "Failed" ? `Failed ${tasks[0]?.failure?.type}` : status;
  } catch (error) {
    if (!hasCode(error, "INSTANCE_QUARANTINED")) throw error;
    return error.message.includes("CrashLoop") ? "CrashLoop" : error.message;
  }
}

// They are brought back by whoever asks for them.
for (const id of patients) void endOf(id);
for (const id of [...killers, ...jobs]) {
  while (["Running", "Ready"].includes(await endOf(id))) await sleep(50);
}
for (const id of patients) {
  if ((await endOf(id)) !== "Running") continue;
  await engine.raiseEvent(id, "go");
  await engine.awaitWorkflowInstance(id);
}
for (const id of [...killers, ...jobs, ...patients]) process.stdout.write(`${id}: ${await endOf(id)}\n`);
await engine.stop();
