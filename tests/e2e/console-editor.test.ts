/** Spec §12.4: the editor of DAGs, in a real browser. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, describe, test } from "node:test";
import type { Browser } from "playwright-core";
import { ServerRig } from "../server/rig.ts";
import { twoNodes } from "../server/sample-app.ts";
import { buildConsole, ConsolePage, startBrowser } from "./browser.rig.ts";

let browser: Browser;

before(async () => {
  buildConsole();
  browser = await startBrowser();
});

after(async () => {
  await browser.close();
});

interface Spec {
  readonly nodes: readonly Record<string, unknown>[];
  readonly edges?: readonly Record<string, unknown>[];
}

async function savedSpec(rig: ServerRig, id: string): Promise<Spec> {
  return (await rig.ok("getWorkflow", { params: { id } })).dagSpec as Spec;
}

describe("the editor of DAGs", () => {
  test("12.4 makes a workflow with a decision and a nested workflow, with the keyboard, and saves it", async (t) => {
    const rig = await ServerRig.start(t);
    const shown = await ConsolePage.open(browser, rig.server.url);
    const { page } = shown;
    await shown.go("/workflows");
    await shown.press("New workflow");
    await page.getByRole("dialog").getByLabel("Name").fill("made");
    await page.keyboard.press("Enter");
    await page.waitForURL(/\/workflows\/made\/edit\?new=1$/);
    await shown.sees("Nothing here yet");
    await page.keyboard.press("a");
    await page.getByLabel("Name").fill("check");
    await page.getByLabel("Job", { exact: true }).fill("say");
    await page.keyboard.press("Escape");
    await page.getByLabel("Parameters (JSON)").fill('"hi"');
    await page.getByLabel("Parameters (JSON)").blur();
    await shown.press("Add a decision");
    await page.getByLabel("Expression (CEL)").fill("outputs.check ==");
    await page.getByRole("alert").filter({ hasText: "expression" }).first().waitFor();
    await page.getByLabel("Expression (CEL)").fill('outputs.check == "hi"');
    await shown.press("Add a nested workflow");
    await page.getByLabel("Workflow", { exact: true }).fill("hello");
    await shown.sees("No problem");
    assert.deepEqual(await shown.seriousProblems(), []);
    await shown.press("Review and save");
    await page.getByRole("dialog").getByText("nodes/3").first().waitFor();
    await page.getByRole("dialog").getByRole("button", { name: "Save" }).click();
    await page.waitForURL(/\/workflows\/made$/);
    const { nodes, edges } = await savedSpec(rig, "made");
    assert.deepEqual(
      nodes.map((node) => [node["nodeId"], node["nodeName"], node["nodeType"]]),
      [
        [1, "check", 1],
        [2, "decision-1", 2],
        [3, "nested-1", 3],
      ],
    );
    assert.deepEqual(edges, [
      { from: 1, to: 2 },
      { from: 2, to: 3, property: "true" },
    ]);
    const { instanceId } = await rig.ok("triggerWorkflow", { params: { id: "made" }, body: {} });
    assert.equal((await rig.end(instanceId)).status, "Success");
    await shown.endWell();
  });

  test("12.4 checks as you type, undoes and redoes, and keeps the draft over a reload", async (t) => {
    const rig = await ServerRig.start(t);
    await rig.ok("createWorkflow", { body: { name: "saved", dagSpec: twoNodes } });
    const shown = await ConsolePage.open(browser, rig.server.url);
    const { page } = shown;
    await shown.go("/workflows/saved/edit?view=table&task=2");
    await page.getByLabel("Connect to …").press("ArrowDown");
    await page.getByTitle("a", { exact: true }).click();
    await page.getByText("tasks wait for each other in a circle: a → b → a").waitFor();
    assert.equal(await page.getByRole("button", { name: "Review and save" }).isDisabled(), true);
    await shown.press("Undo");
    await shown.sees("No problem");
    await page.getByLabel("Job", { exact: true }).fill("gone");
    await shown.sees(/1 warning/);
    await page.getByLabel("Name").fill("renamed");
    await page.getByRole("cell", { name: "Edit renamed" }).waitFor();
    await page.reload();
    await page.getByRole("cell", { name: "Edit renamed" }).waitFor();
    await page.getByRole("heading", { name: /Edit saved/ }).click();
    await shown.press("Delete renamed");
    assert.equal(await page.getByRole("row").count(), 2);
    await page.keyboard.press("Control+z");
    assert.equal(await page.getByRole("row").count(), 3);
    await page.keyboard.press("Control+Shift+z");
    assert.equal(await page.getByRole("row").count(), 2);
    await shown.press("Discard the draft");
    await page.getByRole("tooltip").getByRole("button", { name: "Discard the draft" }).click();
    await page.getByRole("cell", { name: "Edit b" }).waitFor();
    assert.deepEqual((await savedSpec(rig, "saved")).nodes.length, 2);
    await shown.endWell();
  });

  test("12.4 connects nodes by a drag from a port, and by keys", async (t) => {
    const rig = await ServerRig.start(t);
    const dagSpec = { nodes: [...twoNodes.nodes, { nodeId: 3, nodeName: "c", jobName: "say" }], edges: [] };
    await rig.ok("createWorkflow", { body: { name: "loose", dagSpec } });
    const shown = await ConsolePage.open(browser, rig.server.url);
    const { page } = shown;
    await shown.go("/workflows/loose/edit?task=1");
    const canvas = page.locator(".editor-graph canvas").first();
    await canvas.focus();
    await page.keyboard.press("c");
    await shown.sees(/Select the task that comes after a/);
    await page.keyboard.press("ArrowDown");
    await shown.sees("Connect a → b");
    await page.keyboard.press("Enter");
    await page.getByRole("button", { name: "Remove the edge from a to b" }).waitFor();
    // A selected node shows its port; the last one of the two is read in the camera that the first had left.
    const portOf = async (id: number): Promise<{ x: number; y: number }> => {
      await shown.follow(`/workflows/loose/edit?task=${id}`);
      await page.getByRole("button", { name: `Delete ${"abc".charAt(id - 1)}` }).waitFor();
      await page.mouse.move(5, 5);
      const found = await page.locator(".graph-port").boundingBox();
      assert.ok(found);
      return { x: found.x + found.width / 2, y: found.y + found.height / 2 };
    };
    const target = await portOf(3);
    const port = await portOf(2);
    await page.mouse.move(port.x, port.y);
    await page.mouse.down();
    await page.mouse.move(port.x + 30, port.y + 30, { steps: 3 });
    await page.mouse.move(target.x - 40, target.y, { steps: 3 });
    await page.mouse.up();
    await page.getByRole("button", { name: "Remove the edge from b to c" }).waitFor();
    await page.keyboard.press("Control+s");
    await page.getByRole("dialog").getByRole("button", { name: "Save" }).click();
    await page.waitForURL(/\/workflows\/loose$/);
    assert.deepEqual((await savedSpec(rig, "loose")).edges, [
      { from: 1, to: 2 },
      { from: 2, to: 3 },
    ]);
    await shown.endWell();
  });

  test("12.4 a save that came first is shown, and not overwritten unasked", async (t) => {
    const rig = await ServerRig.start(t);
    await rig.ok("createWorkflow", { body: { name: "shared", dagSpec: twoNodes } });
    const shown = await ConsolePage.open(browser, rig.server.url);
    const { page } = shown;
    await shown.go("/workflows/shared/edit?task=1");
    await page.getByLabel("Name").fill("mine");
    const theirs = { ...twoNodes, timeoutSeconds: 60 };
    await rig.ok("updateWorkflow", { params: { id: "shared" }, body: { dagSpec: theirs } });
    await shown.press("Review and save");
    const dialog = page.getByRole("dialog");
    await dialog.getByRole("button", { name: "Save", exact: true }).click();
    await dialog.getByText(/Somebody saved version/).waitFor();
    await dialog.getByText("timeoutSeconds").first().waitFor();
    assert.equal((await savedSpec(rig, "shared")).nodes[0]?.["nodeName"], "a");
    assert.deepEqual(
      shown.problems.splice(0).filter((problem) => !problem.includes("409")),
      [],
    );
    await dialog.getByRole("button", { name: "Save mine as the newest version" }).click();
    await page.waitForURL(/\/workflows\/shared$/);
    assert.equal((await savedSpec(rig, "shared")).nodes[0]?.["nodeName"], "mine");
    await shown.endWell();
  });

  test("12.4 imports and exports dag-spec.json, in Chinese on a phone, and copies a program's workflow", async (t) => {
    const rig = await ServerRig.start(t);
    const shown = await ConsolePage.open(browser, rig.server.url, { language: "zh", theme: "dark", width: 360 });
    const { page } = shown;
    await shown.go("/workflows/hello/edit");
    await page.getByText("1 个任务").waitFor();
    const file = { ...twoNodes, own: { kept: true } };
    await page.locator("input[type=file]").setInputFiles({
      name: "dag-spec.json",
      mimeType: "application/json",
      buffer: Buffer.from(JSON.stringify(file)),
    });
    await page.getByText("2 个任务").waitFor();
    assert.deepEqual(await shown.seriousProblems(), []);
    const overflow = await page.evaluate<number>("document.documentElement.scrollWidth - window.innerWidth");
    assert.ok(overflow <= 0, `${overflow} pixels too wide`);
    const download = page.waitForEvent("download");
    await shown.press("导出");
    const saved = await download;
    assert.equal(saved.suggestedFilename(), "hello.dag-spec.json");
    assert.deepEqual(JSON.parse(readFileSync(await saved.path(), "utf8")), file);
    await page.getByText("JSON", { exact: true }).click();
    await page.getByRole("textbox", { name: "JSON", exact: true }).fill('{ "nodes": 1 }');
    await page.getByText(/这不是 dag-spec/).waitFor();
    await page.getByRole("textbox", { name: "JSON", exact: true }).fill(JSON.stringify({ ...file, timeoutSeconds: 5 }));
    await shown.press("检查并保存");
    await page.getByRole("dialog").getByLabel("名称").fill("copied");
    await page.getByRole("dialog").getByRole("button", { name: "保存" }).click();
    await page.waitForURL(/\/workflows\/copied$/);
    const spec = (await savedSpec(rig, "copied")) as Spec & { own: unknown; timeoutSeconds: number };
    assert.deepEqual([spec.own, spec.timeoutSeconds], [{ kept: true }, 5]);
    await shown.endWell();
  });
});
