import assert from "node:assert/strict";
import type { TestContext } from "node:test";
import { ServerRig } from "../server/rig.ts";
import { status, type TaskHubClient } from "./sdk.rig.ts";

export type Connect = (t: TestContext, port: number) => Promise<TaskHubClient>;

export function portOf({ server }: ServerRig): number {
  assert.ok(server.grpcPort !== undefined);
  return server.grpcPort;
}

/** A client starts code, raises events, waits and reads input, output and custom status. */
export async function startAndWait(t: TestContext, connect: Connect): Promise<void> {
  const rig = await ServerRig.start(t, { grpcPort: 0 });
  const client = await connect(t, portOf(rig));
  const id = await client.scheduleNewOrchestration("talk", { topic: "looms" }, "talk-1");
  assert.equal(id, "talk-1");
  const started = await client.waitForOrchestrationStart(id, true, 10);
  assert.equal(started?.name, "talk");
  assert.equal(started.serializedInput, '{"topic":"looms"}');
  await client.raiseOrchestrationEvent(id, "go", { by: "ada" });
  const ended = await client.waitForOrchestrationCompletion(id, true, 10);
  assert.equal(ended?.runtimeStatus, status.completed);
  assert.equal(ended.serializedOutput, '{"said":"first","heard":{"by":"ada"},"words":0}');
  assert.equal(ended.serializedCustomStatus, '{"topic":"looms"}');
  const bare = await client.getOrchestrationState(id, false);
  assert.equal(bare?.serializedOutput, undefined);
  assert.equal(await client.getOrchestrationState("nobody"), undefined);
}

/** A client suspends, resumes, terminates and purges. */
export async function control(t: TestContext, connect: Connect): Promise<void> {
  const rig = await ServerRig.start(t, { grpcPort: 0 });
  const client = await connect(t, portOf(rig));
  const id = await client.scheduleNewOrchestration("talk");
  await client.waitForOrchestrationStart(id, false, 10);
  await client.suspendOrchestration(id);
  assert.equal((await client.getOrchestrationState(id))?.runtimeStatus, status.suspended);
  await client.suspendOrchestration(id);
  await client.resumeOrchestration(id);
  assert.equal((await client.getOrchestrationState(id))?.runtimeStatus, status.running);
  assert.equal((await client.purgeOrchestration(id))?.deletedInstanceCount ?? 0, 0);
  await client.terminateOrchestration(id, "enough");
  const ended = await client.waitForOrchestrationCompletion(id, true, 10);
  assert.equal(ended?.runtimeStatus, status.terminated);
  assert.equal(ended.serializedOutput, '"enough"');
  await client.terminateOrchestration(id, "again");
  await client.raiseOrchestrationEvent(id, "late");
  assert.equal((await client.purgeOrchestration(id))?.deletedInstanceCount, 1);
  assert.equal(await client.getOrchestrationState(id), undefined);
}
