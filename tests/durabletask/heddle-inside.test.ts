import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { defineWorkflow } from "../../src/index.ts";
import { ServerRig } from "../server/rig.ts";
import { portOf } from "./clients.rig.ts";
import { type Orchestration, startWorker } from "./orchestrations.rig.ts";
import { microsoftClient, microsoftWorker, status } from "./sdk.rig.ts";

/** Calls an activity and an orchestration of a Durable Task worker. */
const outer = defineWorkflow("outer", async (ctx, n: number) => {
  const doubled = await ctx.run("double@durabletask", n);
  const child = await ctx.callChild("twice", n);
  return { doubled, child };
});

const inner = defineWorkflow("inner", async (ctx, input: { n: number }) => {
  await ctx.sleep(1);
  return input.n + 1;
});

describe("orchestrations and what Heddle runs itself [8.5]", () => {
  test("an orchestration calls a job, a DAG and code of Heddle, and Heddle's code calls its worker", async (t) => {
    const rig = await ServerRig.start(t, { grpcPort: 0, moreWorkflows: [outer, inner] });
    const client = await microsoftClient(t, portOf(rig));
    const worker = await microsoftWorker(portOf(rig));
    worker.addNamedActivity("double", (_context, n: number) => n * 2);
    worker.addNamedOrchestrator("twice", async (_ctx: Orchestration, n: number) => [n, n]);
    worker.addNamedOrchestrator("mixed", async function* (ctx: Orchestration) {
      const job = (yield ctx.callActivity("say", "hi")) as unknown;
      const dag = (yield ctx.callSubOrchestrator("hello")) as unknown;
      const code = (yield ctx.callSubOrchestrator("inner", { n: 1 })) as unknown;
      const both = (yield ctx.callSubOrchestrator("outer", 4)) as unknown;
      let failure = "";
      try {
        yield ctx.callSubOrchestrator("fails");
      } catch (error) {
        failure = String(error);
      }
      return { job, dag, code, both, failed: failure.includes("stumble") };
    });
    await startWorker(t, worker);
    // Heddle knows the orchestrations that were started once.
    await client.waitForOrchestrationCompletion(await client.scheduleNewOrchestration("twice", 1), false, 60);
    const id = await client.scheduleNewOrchestration("mixed");
    const ended = await client.waitForOrchestrationCompletion(id, true, 60);
    assert.equal(ended?.runtimeStatus, status.completed, ended?.failureDetails?.message);
    assert.deepEqual(JSON.parse(ended.serializedOutput ?? ""), {
      job: "hi",
      dag: { greet: "hi" },
      code: 2,
      both: { doubled: 8, child: [4, 4] },
      failed: true,
    });
  });
});
