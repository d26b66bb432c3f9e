/** Spec §8.1 and §1: what becomes of an id that is taken. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { defineWorkflow } from "../../src/index.ts";
import { says, startEngine } from "./rig.ts";

const echo = defineWorkflow("echo", async (ctx, mode: "end" | "fail" | "wait") => {
  if (mode === "fail") throw new Error("no");
  if (mode === "wait") await ctx.waitForEvent("go");
  return mode;
});

describe("an id that a finished instance has", () => {
  test("is refused, unless it may be used again: always, or after anything but success", async (t) => {
    const engine = await startEngine(t, { workflows: [echo] });
    const instanceId = "i";
    const failed = await engine.startWorkflow(echo, "fail", { instanceId });
    await assert.rejects(failed.result(), says("WORKFLOW_FAILED", /no/));
    await assert.rejects(engine.startWorkflow(echo, "end", { instanceId }), says("INSTANCE_EXISTS", /is Failed/));
    const again = await engine.startWorkflow(echo, "end", { instanceId, reuse: "unless-succeeded" });
    assert.equal(await again.result(), "end");
    const afterSuccess = engine.startWorkflow(echo, "end", { instanceId, reuse: "unless-succeeded" });
    await assert.rejects(afterSuccess, says("INSTANCE_EXISTS", /is Success/));
    const third = await engine.startWorkflow(echo, "end", { instanceId, reuse: true });
    assert.equal(await third.result(), "end");
    assert.equal((await third.getStatus()).generation, 3);
  });
});

describe("an id that an active instance has", () => {
  test("is refused", async (t) => {
    const engine = await startEngine(t, { workflows: [echo] });
    await engine.startWorkflow(echo, "wait", { instanceId: "i" });
    await assert.rejects(engine.startWorkflow(echo, "end", { instanceId: "i" }), says("INSTANCE_EXISTS", /active/));
  });

  test("or that instance is the one that is given back", async (t) => {
    const engine = await startEngine(t, { workflows: [echo] });
    await engine.startWorkflow(echo, "wait", { instanceId: "i" });
    const same = await engine.startWorkflow(echo, "end", { instanceId: "i", whenActive: "use" });
    await same.raiseEvent("go");
    assert.equal(await same.result(), "wait");
    const ended = engine.startWorkflow(echo, "end", { instanceId: "i", whenActive: "use" });
    await assert.rejects(ended, says("INSTANCE_EXISTS", /is Success/));
  });

  test("or is terminated first", async (t) => {
    const engine = await startEngine(t, { workflows: [echo] });
    const first = await engine.startWorkflow(echo, "wait", { instanceId: "i" });
    const end = assert.rejects(first.result(), says("WORKFLOW_TERMINATED", /another instance takes its id/));
    const next = await engine.startWorkflow(echo, "end", { instanceId: "i", whenActive: "terminate" });
    await end;
    assert.equal(await next.result(), "end");
  });
});
