/**
 * Starts an engine as a user to whom file modes apply, says how that went, and tries again at each line it is sent.
 * Argument: database file.
 */
import { createInterface } from "node:readline";
import { defineJob, Engine, type EngineError, TaskBuilder, WorkflowBuilder } from "../../../src/index.ts";
import { sqlite } from "../../../src/sqlite.ts";

if (process.getuid?.() === 0) process.setuid?.(65534);
const engine = new Engine({ storage: sqlite(process.argv[2] ?? ""), jobs: [defineJob("echo", () => "done")] });
const definition = new WorkflowBuilder().withName("w").withTask(new TaskBuilder("t").withJobFunction("echo")).build();

async function attempt(): Promise<{ code: string; message?: string }> {
  try {
    await engine.start();
    await (await engine.submitWorkflow(definition)).result();
    await engine.stop();
    return { code: "worked" };
  } catch (error) {
    const { code, message } = error as EngineError;
    return { code, message };
  }
}

process.stdout.write(`${JSON.stringify(await attempt())}\n`);
for await (const _ of createInterface(process.stdin)) process.stdout.write(`${JSON.stringify(await attempt())}\n`);
