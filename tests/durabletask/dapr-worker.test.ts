import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { ServerRig } from "../server/rig.ts";
import { portOf } from "./clients.rig.ts";
import { daprClient, daprRuntime, status } from "./sdk.rig.ts";

/** What workflows of Dapr's SDK call. */
interface Workflow {
  callActivity(name: string, input?: unknown): object;
  callChildWorkflow(name: string, input?: unknown): object;
  createTimer(seconds: number): object;
  waitForExternalEvent(name: string): object;
  continueAsNew(input: unknown, saveEvents: boolean): void;
  whenAll(tasks: readonly object[]): object;
}

describe("workflows of @dapr/dapr [8.5]", () => {
  test("activities, fan-out, timers, events, children and continue-as-new", async (t) => {
    const rig = await ServerRig.start(t, { grpcPort: 0 });
    const runtime = await daprRuntime(portOf(rig));
    runtime.registerActivityWithName("double", (_context, input: number) => input * 2);
    runtime.registerWorkflowWithName("errand", async function* (ctx: Workflow, start: number) {
      const doubled = (yield ctx.callActivity("double", start)) as number;
      yield ctx.createTimer(1);
      const all = (yield ctx.whenAll([ctx.callActivity("double", 5), ctx.callActivity("double", 6)])) as number[];
      const child = (yield ctx.callChildWorkflow("child", doubled)) as number;
      const heard = (yield ctx.waitForExternalEvent("go")) as string;
      return { doubled, all, child, heard };
    });
    runtime.registerWorkflowWithName("child", async function* (ctx: Workflow, count: number) {
      const more = (yield ctx.callActivity("double", count)) as number;
      if (more < 50) ctx.continueAsNew(more, false);
      return more;
    });
    await runtime.start();
    t.after(() => runtime.stop());
    const client = await daprClient(t, portOf(rig));
    const id = await client.scheduleNewWorkflow("errand", 4, "dapr-order");
    await client.raiseEvent(id, "go", "now");
    const ended = await client.waitForWorkflowCompletion(id, true, 30);
    assert.equal(ended?.runtimeStatus, status.completed);
    assert.deepEqual(JSON.parse(ended.serializedOutput ?? ""), { doubled: 8, all: [10, 12], child: 64, heard: "now" });
  });
});
