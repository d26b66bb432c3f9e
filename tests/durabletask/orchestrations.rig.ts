import assert from "node:assert/strict";
import type { TestContext } from "node:test";
import { ServerRig } from "../server/rig.ts";
import { type Connect, portOf } from "./clients.rig.ts";
import { type MakeWorker, status, type TaskHubClient, type TaskHubWorker } from "./sdk.rig.ts";

/** What orchestrators of the SDKs call, as far as the SDKs agree. */
export interface Orchestration {
  readonly instanceId: string;
  readonly currentUtcDateTime: Date;
  readonly isReplaying: boolean;
  callActivity(name: string, input?: unknown, options?: object): object;
  callSubOrchestrator(name: string, input?: unknown, options?: object): object;
  createTimer(at: Date | number): object;
  waitForExternalEvent(name: string): object;
  continueAsNew(input: unknown, saveEvents: boolean): void;
  setCustomStatus(status: unknown): void;
}

export interface Tasks {
  readonly whenAll: (tasks: readonly object[]) => object;
  readonly whenAny: (tasks: readonly object[]) => object;
}

export interface Scene {
  readonly rig: ServerRig;
  readonly client: TaskHubClient;
  readonly worker: TaskHubWorker;
}

/** A server, a client and a worker that is not started yet. */
export async function scene(t: TestContext, connect: Connect, makeWorker: MakeWorker): Promise<Scene> {
  const rig = await ServerRig.start(t, { grpcPort: 0 });
  const client = await connect(t, portOf(rig));
  return { rig, client, worker: await makeWorker(portOf(rig)) };
}

export async function startWorker(t: TestContext, worker: TaskHubWorker): Promise<void> {
  await worker.start();
  t.after(() => worker.stop());
}

/** A chain of activities, started before a worker is connected. */
export async function chain(t: TestContext, connect: Connect, makeWorker: MakeWorker): Promise<void> {
  const { client, worker } = await scene(t, connect, makeWorker);
  worker.addNamedActivity("plusOne", (_context, input: number) => input + 1);
  worker.addNamedOrchestrator("chain", async function* (ctx: Orchestration, start: number) {
    const numbers = [start];
    for (let n = 0; n < 5; n++) numbers.push((yield ctx.callActivity("plusOne", numbers.at(-1))) as number);
    return numbers;
  });
  const id = await client.scheduleNewOrchestration("chain", 1, "chain-1");
  assert.equal((await client.getOrchestrationState(id))?.name, "chain");
  await startWorker(t, worker);
  const ended = await client.waitForOrchestrationCompletion(id, true, 30);
  assert.equal(ended?.serializedOutput, "[1,2,3,4,5,6]");
  assert.equal(ended.runtimeStatus, status.completed);
  assert.equal(ended.serializedInput, "1");
}

/** Fan-out, timers, events, children, failures and custom status, all on one worker. */
export async function patterns(
  t: TestContext,
  connect: Connect,
  makeWorker: MakeWorker,
  { whenAll, whenAny }: Tasks,
): Promise<void> {
  const { client, worker } = await scene(t, connect, makeWorker);
  worker.addNamedActivity("square", (_context, input: number) => input * input);
  worker.addNamedActivity("fail", () => {
    throw new TypeError("no such luck");
  });
  worker.addNamedOrchestrator("fanOut", async function* (ctx: Orchestration, count: number) {
    const tasks = Array.from({ length: count }, (_, n) => ctx.callActivity("square", n + 1));
    const squares = (yield whenAll(tasks)) as number[];
    return squares.reduce((sum, square) => sum + square, 0);
  });
  worker.addNamedOrchestrator("timer", async function* (ctx: Orchestration) {
    const before = ctx.currentUtcDateTime.getTime();
    yield ctx.createTimer(1);
    return ctx.currentUtcDateTime.getTime() - before;
  });
  worker.addNamedOrchestrator("events", async function* (ctx: Orchestration) {
    ctx.setCustomStatus("waiting");
    const first = (yield ctx.waitForExternalEvent("First")) as string;
    const second = ctx.waitForExternalEvent("second");
    const late = ctx.createTimer(300);
    const winner = (yield whenAny([second, late])) as object;
    return [first, winner === second];
  });
  worker.addNamedOrchestrator("parent", async function* (ctx: Orchestration) {
    const sum = (yield ctx.callSubOrchestrator("fanOut", 4)) as number;
    try {
      yield ctx.callSubOrchestrator("failing");
    } catch (error) {
      return { sum, error: String(error).includes("no such luck") };
    }
    return "the child did not fail";
  });
  worker.addNamedOrchestrator("failing", async function* (ctx: Orchestration) {
    yield ctx.callActivity("fail");
  });
  await startWorker(t, worker);
  const run = async (name: string, input?: unknown) => {
    const id = await client.scheduleNewOrchestration(name, input);
    return await client.waitForOrchestrationCompletion(id, true, 30);
  };
  assert.equal((await run("fanOut", 20))?.serializedOutput, "2870");
  const waited = Number((await run("timer"))?.serializedOutput);
  assert.ok(waited >= 1000 && waited < 20_000, `the timer took ${waited} ms`);
  assert.equal((await run("parent"))?.serializedOutput, '{"sum":30,"error":true}');
  const failed = await run("failing");
  assert.equal(failed?.runtimeStatus, status.failed);
  assert.match(failed.failureDetails?.message ?? "", /no such luck/);
  const id = await client.scheduleNewOrchestration("events");
  await client.raiseOrchestrationEvent(id, "second", 2);
  await client.raiseOrchestrationEvent(id, "first", "one");
  const ended = await client.waitForOrchestrationCompletion(id, true, 30);
  assert.equal(ended?.serializedOutput, '["one",true]');
  assert.match(ended.serializedCustomStatus ?? "", /waiting/);
}

/** Continue-as-new with events that are kept, suspension, termination and purge. */
export async function lives(t: TestContext, connect: Connect, makeWorker: MakeWorker): Promise<void> {
  const { client, worker } = await scene(t, connect, makeWorker);
  worker.addNamedOrchestrator("counter", async function* (ctx: Orchestration, count: number) {
    const by = (yield ctx.waitForExternalEvent("add")) as number;
    if (count + by >= 10) return count + by;
    ctx.continueAsNew(count + by, true);
    return undefined;
  });
  worker.addNamedOrchestrator("forever", async function* (ctx: Orchestration) {
    yield ctx.waitForExternalEvent("never");
  });
  await startWorker(t, worker);
  const id = await client.scheduleNewOrchestration("counter", 0);
  for (let n = 0; n < 5; n++) await client.raiseOrchestrationEvent(id, "add", 2);
  const counted = await client.waitForOrchestrationCompletion(id, true, 30);
  assert.equal(counted?.serializedOutput, "10");
  const paused = await client.scheduleNewOrchestration("counter", 8);
  await client.waitForOrchestrationStart(paused, false, 30);
  await client.suspendOrchestration(paused);
  assert.equal((await client.getOrchestrationState(paused))?.runtimeStatus, status.suspended);
  await client.raiseOrchestrationEvent(paused, "add", 2);
  assert.equal((await client.getOrchestrationState(paused))?.runtimeStatus, status.suspended);
  await client.resumeOrchestration(paused);
  assert.equal((await client.waitForOrchestrationCompletion(paused, true, 30))?.serializedOutput, "10");
  const endless = await client.scheduleNewOrchestration("forever");
  await client.waitForOrchestrationStart(endless, false, 30);
  await client.terminateOrchestration(endless, "enough");
  const ended = await client.waitForOrchestrationCompletion(endless, true, 30);
  assert.equal(ended?.runtimeStatus, status.terminated);
  assert.equal(ended.serializedOutput, '"enough"');
  assert.equal((await client.purgeOrchestration(endless))?.deletedInstanceCount, 1);
  assert.equal(await client.getOrchestrationState(endless), undefined);
}
