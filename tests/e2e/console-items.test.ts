/** Spec §12.4: maps, broadcasts, workers and what is waited for outside, in a real browser. */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import type { Browser, Locator } from "playwright-core";
import { silentLogger } from "../../src/base/logger.ts";
import { type CodeWorkflow, defineWorkflow, TaskBuilder, type Workflow, WorkflowBuilder } from "../../src/index.ts";
import { Worker } from "../../src/worker.ts";
import { ServerRig } from "../server/rig.ts";
import { until } from "../support/until.ts";
import { buildConsole, ConsolePage, startBrowser } from "./browser.rig.ts";

let browser: Browser;

before(async () => {
  buildConsole();
  browser = await startBrowser();
});

after(async () => {
  await browser.close();
});

async function run(rig: ServerRig, workflow: Workflow): Promise<string> {
  const { instanceId } = await rig.server.engine.submitWorkflow(workflow);
  return instanceId;
}

/** Serves the code of a workflow from outside, until the test ends or stops it. */
async function connect(
  rig: ServerRig,
  workflows: readonly CodeWorkflow[],
  stopAfter: (stop: () => Promise<void>) => void,
): Promise<Worker> {
  const worker = new Worker({ url: rig.server.url, workflows: [...workflows], tags: ["gpu"], logger: silentLogger });
  stopAfter(async () => await worker.stop());
  await worker.start();
  return worker;
}

describe("maps and broadcasts in the console", () => {
  test("12.4 the items of a map are a histogram and a table by page, filtered by status, at any moment of the past a count", async (t) => {
    const rig = await ServerRig.start(t);
    const { engine } = rig.server;
    engine.registerJobFunction("halve", (_: unknown, { item }) => {
      if (item === 66) throw new Error("66 cannot be halved");
      return Number(item) / 2;
    });
    engine.registerJobFunction("add-up", () => "summed");
    const items = Array.from({ length: 120 }, (_, number) => number);
    const workflow = new WorkflowBuilder()
      .withName("halves")
      .withTask(new TaskBuilder("halve").withJobFunction("halve").withMap(items).withReduce("add-up"))
      .build();
    const id = await run(rig, workflow);
    assert.equal((await rig.end(id)).status, "Success");
    const shown = await ConsolePage.open(browser, rig.server.url);
    const { page } = shown;
    await shown.go(`/instances/${id}?task=halve`);
    await shown.sees("120 items");
    await page.getByRole("button", { name: "Failed 1", exact: true }).click();
    await page.waitForURL(/\/items\?.*items=Failed/);
    const rows = page.locator(".item-table tbody tr");
    await shown.sees("66 cannot be halved");
    assert.equal(await rows.count(), 1);
    await rows.getByRole("button", { name: "66", exact: true }).click();
    await page.locator(".item-detail .failure-message").waitFor();
    assert.deepEqual(await shown.seriousProblems(), []);
    await page.getByRole("button", { name: "Failed 1", exact: true }).first().click();
    await shown.sees("0–49 of 120");
    await page.getByRole("list", { name: "Jobs that run once" }).first().getByText("Reduce").waitFor();
    await shown.press("Next");
    await shown.sees("50–99 of 120");
    await shown.press("Previous");
    await shown.sees("0–49 of 120");
    const slider = page.getByLabel("Moment of the history that is shown");
    await slider.focus();
    await slider.press("Home");
    await shown.sees(/As of .*turn/);
    await slider.press("End");
    await slider.press("ArrowLeft");
    await shown.sees(/Of a past moment the counts are known/);
    await shown.sees("Success 119");
    await shown.endWell();
  });

  test("12.4 a broadcast has a row for each worker, and the jobs before and after them", async (t) => {
    const rig = await ServerRig.start(t);
    const workflow = new WorkflowBuilder()
      .withName("everywhere")
      .withTask(new TaskBuilder("tell").withJobFunction("say", "x").withBroadcast({ before: "say", after: "say" }))
      .build();
    const id = await run(rig, workflow);
    await rig.end(id);
    const [own] = await rig.ok("listWorkers");
    const shown = await ConsolePage.open(browser, rig.server.url);
    await shown.go(`/instances/${id}/items`);
    await shown.page.locator(".item-table").getByRole("columnheader", { name: "Worker" }).waitFor();
    await shown.page.getByRole("button", { name: own?.address ?? "", exact: true }).waitFor();
    const hooks = shown.page.getByRole("list", { name: "Jobs that run once" });
    for (const name of ["Before", "After"]) await hooks.getByText(name, { exact: true }).waitFor();
    await shown.go(`/instances/${id}/tasks?task=tell&at=2`);
    await shown.sees(/As of .*turn/);
    await shown.endWell();
  });

  test("12.4 the editor makes a map and a broadcast, and keeps what it has no field for", async (t) => {
    const rig = await ServerRig.start(t);
    const nodes = [
      {
        nodeId: 1,
        nodeName: "each",
        jobName: "say",
        map: { items: [1, 2], reduce: { jobName: "say", nodeParams: "x" } },
      },
      { nodeId: 2, nodeName: "plain", jobName: "say", nodeParams: "x", workerTags: ["gpu"] },
    ];
    await rig.ok("createWorkflow", { body: { name: "lists", dagSpec: { nodes } } });
    const shown = await ConsolePage.open(browser, rig.server.url);
    const { page } = shown;
    await shown.go("/workflows/lists/edit?view=table&task=1");
    await page.getByLabel("Failures that are tolerated").fill("10%");
    await page.getByLabel("At a time", { exact: true }).fill("3");
    await shown.go("/workflows/lists/edit?view=table&task=2");
    await page.getByLabel("Runs", { exact: true }).press("ArrowDown");
    await page.getByTitle("On each worker (broadcast)").click();
    await page.getByLabel("Job that runs once after").fill("say");
    await page.keyboard.press("Escape");
    await shown.sees("No problem");
    assert.deepEqual(await shown.seriousProblems(), []);
    await shown.press("Review and save");
    await page.getByRole("dialog").getByRole("button", { name: "Save" }).click();
    await page.waitForURL(/\/workflows\/lists$/);
    const { dagSpec } = await rig.ok("getWorkflow", { params: { id: "lists" } });
    const [each, plain] = nodes;
    assert.deepEqual(dagSpec?.nodes, [
      { ...each, map: { ...each?.map, tolerateFailures: "10%", concurrency: 3 } },
      { ...plain, broadcast: { after: { jobName: "say" } } },
    ]);
    await shown.endWell();
  });
});

describe("what is waited for outside the server", () => {
  test("12.4 says which worker a task needs, and until when a completion from outside is waited for, in both languages", async (t) => {
    const rig = await ServerRig.start(t);
    const workflow = new WorkflowBuilder()
      .withName("choosy")
      .withTask(new TaskBuilder("draw").withJobFunction("say", "x").withWorkerTags("gpu", "eu"))
      .withTask(new TaskBuilder("named").withJobFunction("say", "x").withWorker("w-42"))
      .withTask(new TaskBuilder("approve").withJobFunction("ask").withTimeout(7200))
      .build();
    const id = await run(rig, workflow);
    await until(async () => (await rig.ok("getInstance", { params: { id } })).waiting.length === 3);
    const expected = {
      en: [
        "draw: no connected worker has the job say and the tags gpu, eu",
        "named: its worker w-42 is not connected",
        /^approve waits to be completed from outside, at the latest at .* \(in 1 h 59 min\)/,
      ],
      zh: [
        "draw：没有已连接的工作节点拥有作业 say 及标签 gpu、eu",
        "named：其指定的工作节点 w-42 未连接",
        /^approve 等待外部完成，最迟 .*（1 h 59 min后）/,
      ],
    };
    for (const language of ["en", "zh"] as const) {
      const shown = await ConsolePage.open(browser, rig.server.url, { language });
      await shown.go(`/instances/${id}`);
      for (const sentence of expected[language]) await shown.sees(sentence);
      assert.deepEqual(await shown.seriousProblems(), []);
      await shown.endWell();
    }
    const shown = await ConsolePage.open(browser, rig.server.url);
    await shown.go("/");
    const needs: Locator = shown.page.locator(".needs");
    await needs.getByText("no connected worker has this job and the tags gpu, eu").waitFor();
    await needs.getByText("its worker w-42 is not connected").waitFor();
    await shown.endWell();
  });

  test("12.4 code that only workers have has a page, its worker is named, and its absence is said with a command", async (t) => {
    const rig = await ServerRig.start(t);
    const paid = defineWorkflow("paid-order", async (ctx) => await ctx.waitForEvent("paid"));
    const worker = await connect(rig, [paid], (stop) => t.after(stop));
    await until(async () => (await rig.ok("listWorkflows")).items.some(({ name }) => name === "paid-order"));
    const shown = await ConsolePage.open(browser, rig.server.url);
    const { page } = shown;
    await shown.go("/workers");
    await page.getByRole("link", { name: "paid-order" }).waitFor();
    await shown.sees("gpu");
    assert.deepEqual(await shown.seriousProblems(), []);
    await page.getByRole("link", { name: "paid-order" }).click();
    await shown.sees("Code on workers");
    await worker.stop();
    const { instanceId } = await rig.ok("triggerWorkflow", { params: { id: "paid-order" }, body: {} });
    await shown.follow(`/instances/${instanceId}`);
    await shown.sees(/no connected worker has it/);
    await shown.sees(`npx heddle worker app.ts --url ${rig.server.url}`);
    assert.equal(await page.getByText(/no connected worker has it/).count(), 1, "it is said once");
    assert.deepEqual(await shown.seriousProblems(), []);
    await shown.follow("/instances");
    await page.locator(".attention-mark").waitFor();
    await shown.follow("/");
    await page
      .locator(".needs")
      .getByText(/no connected worker has it/)
      .waitFor();
    await connect(rig, [paid], (stop) => t.after(stop));
    await page
      .locator(".needs")
      .getByText(/no connected worker has it/)
      .waitFor({ state: "detached" });
    await shown.endWell();
  });
});
