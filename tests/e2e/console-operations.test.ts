/** Spec §12.4: the operations on instances and tasks from the console, in a real browser. */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import type { Browser, Page } from "playwright-core";
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

async function start(rig: ServerRig, workflow: string): Promise<string> {
  return (await rig.ok("triggerWorkflow", { params: { id: workflow }, body: {} })).instanceId;
}

async function statusOf(rig: ServerRig, id: string): Promise<string> {
  return (await rig.ok("getInstance", { params: { id } })).status;
}

/** Chooses an operation by its button, or in the menu, fills its fields, and carries it out. */
async function operate(page: Page, label: string, fields: Readonly<Record<string, string>> = {}): Promise<void> {
  const more = page.getByRole("button", { name: "More operations" });
  await more.waitFor();
  const button = page.locator(".page-actions, .panel-actions").getByRole("button", { name: label, exact: true });
  if ((await button.count()) > 0) await button.click();
  else {
    await more.click();
    await page.getByRole("menuitem", { name: label, exact: true }).click();
  }
  const dialog = page.getByRole("dialog");
  for (const [field, value] of Object.entries(fields)) await dialog.getByLabel(field).fill(value);
  await dialog.getByRole("button", { name: label, exact: true }).click();
}

async function closed(page: Page): Promise<void> {
  await page.getByRole("dialog").waitFor({ state: "hidden" });
}

describe("the operations of the console", () => {
  test("12.4 pauses, resumes and cancels an instance, and stops a task", async (t) => {
    const rig = await ServerRig.start(t);
    const shown = await ConsolePage.open(browser, rig.server.url);
    const { page } = shown;
    const id = await start(rig, "talk");
    await shown.go(`/instances/${id}`);
    await operate(page, "Pause", { "Why? (kept with the operation)": "db move" });
    await shown.sees(/db move/);
    assert.equal(await statusOf(rig, id), "Paused");
    await operate(page, "Resume");
    await shown.sees("Waits for the event “go”");
    await operate(page, "Cancel");
    await closed(page);
    await until(async () => (await rig.ok("getInstance", { params: { id } })).endedAt !== undefined);
    const held = await start(rig, "holds");
    await shown.follow(`/instances/${held}?task=wait`);
    await operate(page, "Stop");
    await shown.sees("Why it failed");
    assert.equal(await statusOf(rig, held), "Failed");
    await shown.endWell();
  });

  test("12.4 retries, re-runs from a task with other parameters, skips, and marks as succeeded", async (t) => {
    const rig = await ServerRig.start(t);
    const shown = await ConsolePage.open(browser, rig.server.url);
    const { page } = shown;
    const fail = async (): Promise<string> => {
      const id = await start(rig, "fails");
      await rig.end(id);
      return id;
    };
    const [retried, skipped, succeeded] = [await fail(), await fail(), await fail()];
    await shown.go(`/instances/${retried}`);
    await operate(page, "Retry");
    await until(async () => {
      const { generation, status } = await rig.ok("getInstance", { params: { id: retried } });
      return generation === 2 && status === "Failed";
    });
    await closed(page);
    await shown.follow(`/instances/${retried}?task=greet`);
    await operate(page, "Re-run from here", { "Parameters (JSON); empty keeps those it had": '"hello again"' });
    await until(async () => (await rig.ok("getInstance", { params: { id: retried } })).generation === 3);
    await closed(page);
    const { output } = await rig.ok("getResult", { params: { id: retried }, query: { task: "greet" } });
    assert.equal(output, "hello again");
    await shown.follow(`/instances/${skipped}?task=stumble`);
    await operate(page, "Skip");
    await shown.sees("It succeeded");
    await shown.follow(`/instances/${succeeded}?task=stumble`);
    await operate(page, "Mark as succeeded", { "Output (JSON)": '{ "by": "hand" }' });
    await shown.sees("It succeeded");
    const marked = await rig.ok("getResult", { params: { id: succeeded }, query: { task: "stumble" } });
    assert.deepEqual(marked.output, { by: "hand" });
    await shown.endWell();
  });

  test("12.4 queries, updates and forks code, and changes the context of a DAG", async (t) => {
    const rig = await ServerRig.start(t);
    const shown = await ConsolePage.open(browser, rig.server.url);
    const { page } = shown;
    const id = await start(rig, "talk");
    await shown.go(`/instances/${id}`);
    await shown.sees("Waits for the event “go”");
    await operate(page, "Update", { Name: "add", "Input (JSON)": "5" });
    await page.getByRole("dialog").getByText("5", { exact: true }).last().waitFor();
    await page.keyboard.press("Escape");
    await closed(page);
    await operate(page, "Query", { Name: "words" });
    await page.getByRole("dialog").getByText("5", { exact: true }).waitFor();
    await page.keyboard.press("Escape");
    await closed(page);
    await operate(page, "Fork");
    await page.waitForURL((url) => url.pathname.startsWith("/instances/") && !url.pathname.includes(id));
    await shown.sees("Waits for the event “go”");
    const held = await start(rig, "holds");
    await shown.follow(`/instances/${held}`);
    await operate(page, "Change the context", { "Patch (JSON object)": '{ "colour": "red" }' });
    await closed(page);
    assert.deepEqual(await rig.ok("getContext", { params: { id: held } }), { colour: "red" });
    await shown.endWell();
  });

  test("12.4 the reason of a wait follows what others do, without a change of the instance", async (t) => {
    const rig = await ServerRig.start(t, { poolSize: 1 });
    const shown = await ConsolePage.open(browser, rig.server.url);
    await start(rig, "holds");
    const waiting = await start(rig, "holds");
    await shown.go(`/instances/${waiting}`);
    const why = shown.page.locator(".why");
    await why.getByText(/1 of 1/).waitFor();
    const first = await why.innerText();
    await start(rig, "holds");
    await until(async () => (await why.innerText()).replaceAll(/\d+ s/g, "") !== first.replaceAll(/\d+ s/g, ""));
    await shown.endWell();
  });
});
