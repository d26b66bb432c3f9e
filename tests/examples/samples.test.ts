/**
 * Every sample is run to its end, and again with a crash before and after each of its commits: the result is the same, no effect is
 * missing, and only attempts that were in flight at the crash are repeated.
 */
import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { describe, test, type TestContext } from "node:test";
import { type CodeWorkflow, defineWorkflow } from "../../src/authoring/code-workflow.ts";
import { defineJob } from "../../src/authoring/job.ts";
import { loadApp } from "../../src/server/config/app-modules.ts";
import { testEngine } from "../../src/testing.ts";
import { type Scenario, survivesCrashes } from "./sample-rig.ts";
import { messageScenarios } from "./scenarios/messages.ts";
import { stepScenarios } from "./scenarios/steps.ts";
import { timeScenarios } from "./scenarios/time.ts";

const scenarios = { ...stepScenarios, ...messageScenarios, ...timeScenarios };
const examples = join(import.meta.dirname, "../../examples");
const files = globSync(join(examples, "samples/*.ts"));

describe("samples survive a crash at each of their commits", () => {
  for (const [name, scenario] of Object.entries(scenarios)) {
    test(name, (t) => survivesCrashes(t, scenario));
  }
});

describe("the rig notices", () => {
  const step = defineJob("step", (name: string) => name);
  const play: Scenario["play"] = async (client) => {
    await client.engine.startWorkflow(planted, undefined, { instanceId: "x" }).catch(() => undefined);
    return await client.result("x");
  };
  /** How often the function was called in this process: what no durable code may look at. */
  let calls = 0;
  let planted: CodeWorkflow<undefined>;
  const run = async (t: TestContext, result: unknown): Promise<void> => {
    calls = 0;
    const effects = ["first", "second"];
    await survivesCrashes(t, { sample: "", play, result, effects }, { jobs: [step], workflows: [planted] });
  };

  test("a result that differs after a crash", async (t) => {
    planted = defineWorkflow("planted", async (ctx) => {
      calls++;
      await ctx.run(step, "first");
      await ctx.run(step, "second");
      return calls;
    });
    await assert.rejects(run(t, 1), /after a crash/);
  });

  test("an effect that only a run with a crash has", async (t) => {
    planted = defineWorkflow("planted", async (ctx) => {
      calls++;
      await ctx.run(step, "first");
      await ctx.run(step, "second");
      if (calls > 1) await ctx.run(step, "third");
      return "done";
    });
    await assert.rejects(run(t, "done"), /after a crash/);
  });
});

describe("the samples", () => {
  const names = files.map((file) => basename(file, ".ts")).toSorted();

  test("are all run", () => {
    const run = new Set(Object.values(scenarios).map(({ sample }) => sample));
    assert.deepEqual([...run].toSorted(), names);
  });

  test("are all in the table of the README", () => {
    const readme = readFileSync(join(examples, "README.md"), "utf8");
    const listed = [...readme.matchAll(/^\| \[.*\]\(samples\/(.*)\.ts\) \|/gm)].map(([, name = ""]) => name);
    assert.deepEqual(listed.toSorted(), names);
  });

  test("fit into one engine: no two have a job or a workflow of the same name", async () => {
    const { jobs, workflows } = await loadApp(files);
    for (const all of [jobs, workflows]) assert.equal(new Set(all.map(({ name }) => name)).size, all.length);
    await using kit = await testEngine({ jobs, workflows });
    assert.equal(kit.engine.health.status, "up");
  });
});
