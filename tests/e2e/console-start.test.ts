/** Spec §12.4: starting workflows from the console, in a real browser. */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import type { Browser } from "playwright-core";
import { ServerRig } from "../server/rig.ts";
import { buildConsole, ConsolePage, startBrowser } from "./browser.rig.ts";

let browser: Browser;

before(async () => {
  buildConsole();
  browser = await startBrowser();
});

after(async () => {
  await browser.close();
});

describe("the start form of the console", () => {
  test("12.4 has a field for each part of the input, checks it, and shows the server's refusal beside the field", async (t) => {
    const rig = await ServerRig.start(t);
    const shown = await ConsolePage.open(browser, rig.server.url);
    const { page } = shown;
    await shown.go("/workflows");
    await page.getByRole("row", { name: /order/ }).getByRole("button", { name: "Start" }).click();
    await page.waitForURL(/\/workflows\/order\/start$/);
    const dialog = page.getByRole("dialog");
    await dialog.getByRole("button", { name: "Start" }).click();
    assert.equal(await dialog.getByText("Needed").count(), 2);
    await dialog.getByLabel("name").fill("A");
    await dialog.getByLabel("amount").fill("0");
    await dialog.getByLabel("coupon").fill("X-1");
    await dialog.getByText("Must have at least 2 characters").waitFor();
    await dialog.getByText("Must be above 0").waitFor();
    assert.deepEqual(await shown.seriousProblems(), []);
    await dialog.getByLabel("name").fill("Ann");
    await dialog.getByLabel("amount").fill("30");
    await dialog.getByLabel("currency").press("ArrowDown");
    await page.getByTitle("EUR").click();
    await dialog.getByRole("button", { name: "Add an item" }).click();
    await dialog.getByLabel("1", { exact: true }).fill("new");
    await dialog.getByRole("button", { name: "Start" }).click();
    await dialog.locator(".schema-problem", { hasText: "must begin with C-" }).waitFor();
    assert.deepEqual(
      shown.problems.splice(0).filter((problem) => !problem.includes("422")),
      [],
    );
    await dialog.getByLabel("coupon").fill("C-1");
    await dialog.getByLabel("coupon").press("Enter");
    await page.waitForURL(/\/instances\//);
    await shown.sees("It succeeded");
    const [run] = (await rig.ok("listInstances", { query: { workflow: "order" } })).items;
    const { output } = await rig.ok("getResult", { params: { id: run?.instanceId ?? "" }, query: { waitMs: 5000 } });
    assert.equal(output, "Ann pays 30");
    await shown.endWell();
  });

  test("12.4 starts again with the input of a run, edited as JSON, in Chinese", async (t) => {
    const rig = await ServerRig.start(t);
    const input = { customer: { name: "Ann" }, amount: 7 };
    const { instanceId } = await rig.ok("triggerWorkflow", { params: { id: "order" }, body: input });
    await rig.end(instanceId);
    const shown = await ConsolePage.open(browser, rig.server.url, { language: "zh", theme: "dark", width: 360 });
    const { page } = shown;
    await shown.go(`/instances/${instanceId}`);
    await shown.press("更多操作");
    await page.getByRole("menuitem", { name: "再次启动…" }).click();
    await page.waitForURL(new RegExp(`start\\?from=${instanceId}`));
    const dialog = page.getByRole("dialog");
    assert.equal(await dialog.getByLabel("amount").inputValue(), "7");
    await dialog.getByText("JSON", { exact: true }).click();
    const editor = dialog.getByRole("textbox", { name: "JSON" });
    await editor.fill('{ "customer": { "name": "Bo" }, "amount": ');
    await dialog.getByText(/不是有效的 JSON/).waitFor();
    await editor.fill('{ "customer": { "name": "Bo" }, "amount": 8 }');
    assert.deepEqual(await shown.seriousProblems(), []);
    await dialog.getByText("表单", { exact: true }).click();
    assert.equal(await dialog.getByLabel("name").inputValue(), "Bo");
    await dialog.getByRole("button", { name: "启动" }).click();
    await page.waitForURL(/\/instances\//);
    await shown.endWell();
  });

  test("12.4 a DAG is started with the values of its context, a job with its parameters", async (t) => {
    const rig = await ServerRig.start(t);
    const dagSpec = { nodes: [{ nodeId: 1, nodeName: "a", jobName: "say" }], context: { day: "monday", rows: 3 } };
    await rig.ok("createWorkflow", { body: { name: "daily", dagSpec } });
    const shown = await ConsolePage.open(browser, rig.server.url);
    const { page } = shown;
    await shown.go("/workflows/daily/start");
    const dialog = page.getByRole("dialog");
    assert.equal(await dialog.getByLabel("rows").inputValue(), "3");
    await dialog.getByLabel("day").fill("friday");
    await dialog.getByRole("button", { name: "Start" }).click();
    await page.waitForURL(/\/instances\//);
    const [run] = (await rig.ok("listInstances", { query: { workflow: "daily" } })).items;
    const context = await rig.ok("getContext", { params: { id: run?.instanceId ?? "" } });
    assert.deepEqual(context, { day: "friday", rows: 3 });
    await shown.go("/jobs");
    await page
      .getByRole("row", { name: /repeat/ })
      .getByRole("button", { name: "Run" })
      .click();
    await page.getByRole("dialog").getByRole("textbox", { name: "JSON" }).fill("3");
    await page.getByRole("dialog").getByRole("button", { name: "Run" }).click();
    await page.waitForURL(/\/instances\//);
    await shown.sees("It succeeded");
    await shown.endWell();
  });
});
