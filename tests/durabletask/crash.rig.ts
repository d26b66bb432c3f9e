import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { until } from "../support/until.ts";
import type { Connect } from "./clients.rig.ts";
import type { Orchestration, Tasks } from "./orchestrations.rig.ts";
import { type MakeWorker, status, type TaskHubClient, type TaskHubWorker } from "./sdk.rig.ts";

const program = join(import.meta.dirname, "server-process.ts");

export interface ServerProcess {
  readonly child: ChildProcess;
  readonly port: number;
}

/** Starts a server, with the address of a database a member of a cluster. */
export async function startServer(
  t: TestContext,
  { folder, port = 0, database }: { folder: string; port?: number; database?: string },
): Promise<ServerProcess> {
  const given = [program, folder, String(port), ...(database === undefined ? [] : [database])];
  const child = spawn(process.execPath, given, { stdio: ["ignore", "pipe", "inherit"] });
  t.after(async () => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    child.kill("SIGKILL");
    await once(child, "exit");
  });
  const [line] = (await once(child.stdout, "data")) as [Buffer];
  return { child, port: Number(line.toString().trim().split(" ")[1]) };
}

export async function killServer({ child }: ServerProcess): Promise<void> {
  child.kill("SIGKILL");
  await once(child, "exit");
}

/**
 * Registers orchestrations that are in the middle of something at any time. Returns what ran how often. `flaky` fails once,
 * on whichever worker with the same `mood`.
 */
export function addLongOrchestrations(
  worker: TaskHubWorker,
  { whenAll }: Tasks,
  mood = { hasFailed: false },
): Map<string, number> {
  const runs = new Map<string, number>();
  worker.addNamedActivity("work", async (_context, name: string) => {
    runs.set(name, (runs.get(name) ?? 0) + 1);
    await new Promise((resolve) => setTimeout(resolve, 150));
    return name;
  });
  worker.addNamedActivity("flaky", () => {
    if (mood.hasFailed) return "mended";
    mood.hasFailed = true;
    throw new Error("not yet");
  });
  worker.addNamedOrchestrator("fan", async function* (ctx: Orchestration) {
    const names: string[] = [];
    for (let round = 0; round < 4; round++) {
      const tasks = Array.from({ length: 5 }, (_, n) => ctx.callActivity("work", `fan ${round} ${n}`));
      names.push(...((yield whenAll(tasks)) as string[]));
    }
    return names.length;
  });
  worker.addNamedOrchestrator("parent", async function* (ctx: Orchestration) {
    const sums: number[] = [];
    for (let n = 0; n < 3; n++) sums.push((yield ctx.callSubOrchestrator("child", n + 1)) as number);
    return sums;
  });
  worker.addNamedOrchestrator("child", async function* (ctx: Orchestration, n: number) {
    yield ctx.callActivity("work", `child ${n}`);
    yield ctx.createTimer(0.3);
    return n * 2;
  });
  worker.addNamedOrchestrator("again", async function* (ctx: Orchestration, n: number) {
    yield ctx.callActivity("work", `again ${n}`);
    if (n < 8) ctx.continueAsNew(n + 1, true);
    return n;
  });
  worker.addNamedOrchestrator("listens", async function* (ctx: Orchestration) {
    const heard: unknown[] = [];
    for (let n = 0; n < 3; n++) heard.push(yield ctx.waitForExternalEvent("go"));
    return heard;
  });
  worker.addNamedOrchestrator("retries", async function* (ctx: Orchestration) {
    try {
      return (yield ctx.callActivity("flaky")) as string;
    } catch {
      yield ctx.createTimer(0.5);
      return (yield ctx.callActivity("flaky")) as string;
    }
  });
  return runs;
}

const expected: Readonly<Record<string, string>> = {
  fan: "20",
  parent: "[2,4,6]",
  again: "8",
  listens: '["a","b","c"]',
  retries: '"mended"',
};

const payloads: Readonly<Record<string, unknown>> = { again: 1 };

/** Starts them, lets `disturb` end servers while they are under way, and checks what they give. */
export async function runDisturbed(client: TaskHubClient, disturb: () => Promise<void>): Promise<void> {
  for (const name of Object.keys(expected)) await client.scheduleNewOrchestration(name, payloads[name], name);
  await client.raiseOrchestrationEvent("listens", "go", "a");
  await client.waitForOrchestrationStart("fan", false, 30);
  await disturb();
  await until(async () => {
    try {
      await client.raiseOrchestrationEvent("listens", "go", "b");
      return true;
    } catch {
      return false;
    }
  });
  await client.raiseOrchestrationEvent("listens", "go", "c");
  for (const [name, output] of Object.entries(expected)) {
    const ended = await client.waitForOrchestrationCompletion(name, true, 90);
    assert.equal(ended?.runtimeStatus, status.completed, name);
    assert.equal(ended.serializedOutput, output, name);
  }
}

/** A server is killed twice while everything is under way; client and worker stay as they are. */
export async function surviveKills(
  t: TestContext,
  connect: Connect,
  { makeWorker, tasks }: { makeWorker: MakeWorker; tasks: Tasks },
): Promise<void> {
  const folder = temporaryFolder(t);
  let server = await startServer(t, { folder });
  const { port } = server;
  const client = await connect(t, port);
  const worker = await makeWorker(port);
  const runs = addLongOrchestrations(worker, tasks);
  await worker.start();
  t.after(() => worker.stop());
  await runDisturbed(client, async () => {
    await until(() => runs.size >= 4);
    await killServer(server);
    server = await startServer(t, { folder, port });
    const before = runs.size;
    await until(() => runs.size > before);
    await killServer(server);
    server = await startServer(t, { folder, port });
  });
  // Attempts that were under way at a kill ran again, and no others.
  const repeated = [...runs.values()].filter((count) => count > 1);
  assert.ok(repeated.length <= 20, `${repeated.length} activities ran more than once`);
  assert.equal(runs.size, 20 + 3 + 8);
}
