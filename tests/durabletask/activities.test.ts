import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { defineWorkflow } from "../../src/index.ts";
import { ServerRig } from "../server/rig.ts";
import { portOf } from "./clients.rig.ts";
import { microsoftWorker } from "./sdk.rig.ts";

/** Calls the activity of a Durable Task worker by the name of its job. */
const order = defineWorkflow("call", (ctx, input: string) => ctx.run("greet@durabletask", input));

describe("activities of Durable Task workers [8.5]", () => {
  test("run for a workflow of Heddle, which waits until a worker is connected", async (t) => {
    const rig = await ServerRig.start(t, { grpcPort: 0, moreWorkflows: [order] });
    const { engine } = rig.server;
    const { instanceId } = await engine.startWorkflow(order, "Ada");
    const worker = await microsoftWorker(portOf(rig));
    worker.addNamedActivity("greet", (_context, name: string) => `hello ${name}`);
    worker.addNamedActivity("other", () => "not this one");
    await worker.start();
    t.after(() => worker.stop());
    assert.equal(await engine.awaitWorkflowInstance(instanceId), "hello Ada");
  });

  test("fail with the error's type and message", async (t) => {
    const rig = await ServerRig.start(t, { grpcPort: 0, moreWorkflows: [order] });
    const worker = await microsoftWorker(portOf(rig));
    worker.addNamedActivity("greet", () => {
      throw new RangeError("nobody to greet");
    });
    await worker.start();
    t.after(() => worker.stop());
    const { engine } = rig.server;
    const { instanceId } = await engine.startWorkflow(order, "Ada");
    await assert.rejects(engine.awaitWorkflowInstance(instanceId), /nobody to greet/);
  });

  test("go to another worker when the stream of theirs is closed", async (t) => {
    const rig = await ServerRig.start(t, { grpcPort: 0, moreWorkflows: [order] });
    const first = await microsoftWorker(portOf(rig));
    const [begun, end] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    first.addNamedActivity("greet", async () => {
      begun.resolve();
      await end.promise;
      return "too late";
    });
    await first.start();
    const { engine } = rig.server;
    const { instanceId } = await engine.startWorkflow(order, "Ada");
    await begun.promise;
    const stopped = first.stop();
    const second = await microsoftWorker(portOf(rig));
    second.addNamedActivity("greet", (_context, name: string) => `${name} again`);
    await second.start();
    t.after(() => second.stop());
    assert.equal(await engine.awaitWorkflowInstance(instanceId), "Ada again");
    end.resolve();
    await stopped;
  });
});
