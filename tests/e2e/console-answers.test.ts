/** Spec §12.4: what the console answers where people ask: why, when, and with which error. */
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

async function start(rig: ServerRig, workflow: string): Promise<string> {
  const { instanceId } = await rig.ok("triggerWorkflow", { params: { id: workflow }, body: {} });
  return instanceId;
}

describe("answers of the console", () => {
  test("12.4 a workflow shows the schedules that name it, and a calendar whose days open their runs", async (t) => {
    const rig = await ServerRig.start(t);
    const failed = await start(rig, "fails");
    await rig.end(failed);
    const body = { scheduleId: "each-night", workflow: "fails", every: { cron: "0 2 * * *", timeZone: "UTC" } };
    await rig.ok("createSchedule", { body });
    const shown = await ConsolePage.open(browser, rig.server.url);
    await shown.go("/workflows/fails/schedule");
    await shown.page.getByRole("link", { name: "each-night" }).waitFor();
    assert.equal(await shown.page.getByRole("list", { name: "Next due times" }).getByRole("listitem").count(), 5);
    await shown.page.getByRole("link", { name: /: 1 run, 1 failed/ }).click();
    await shown.page.waitForURL(/\/instances\?workflow=fails&from=/);
    await shown.page.locator(`[title="${failed}"]`).waitFor();
    await shown.go("/workflows");
    await shown.page.getByRole("row", { name: /fails .*0 2 \* \* \*/ }).waitFor();
    await shown.endWell();
  });

  test("12.4 the list says what an instance waits for, and why one failed", async (t) => {
    const rig = await ServerRig.start(t);
    const waiting = await start(rig, "talk");
    await rig.end(await start(rig, "fails"));
    const { reason } = await rig.ok("getInstance", { params: { id: await endedFailure(rig) } });
    const shown = await ConsolePage.open(browser, rig.server.url);
    await shown.go("/instances");
    const row = shown.page.getByRole("row").filter({ has: shown.page.locator(`[title="${waiting}"]`) });
    await row.getByText("Waits for the event “go”").filter({ visible: true }).waitFor();
    await shown.sees(reason ?? "no reason");
    await shown.go(`/instances/${waiting}`);
    await shown.page
      .locator(".code-line")
      .filter({ hasText: /^sample-app\.ts:\d+$/ })
      .waitFor();
    await shown.endWell();
  });

  test("12.4 the grid counts failures, shows only tasks that failed if asked, and keeps that in the address", async (t) => {
    const rig = await ServerRig.start(t);
    for (let run = 0; run < 3; run++) await endedFailure(rig);
    const shown = await ConsolePage.open(browser, rig.server.url);
    await shown.go("/workflows/fails/grid");
    const rows = shown.page.locator(".grid tbody tr");
    const failed = shown.page.getByRole("link", { name: /: Failed/ });
    await failed.nth(2).waitFor();
    assert.equal(await failed.count(), 3);
    assert.deepEqual(
      (await shown.page.locator(".grid-failed").allTextContents()).filter((text) => text !== ""),
      ["3"],
    );
    const all = await rows.count();
    await shown.press("Failed");
    await shown.page.waitForURL(/only=failed/);
    assert.equal(await rows.count(), 1);
    await shown.page.getByLabel("Find a task").fill("nowhere");
    await shown.sees("No task of these runs is like that.");
    await shown.go("/workflows/fails/grid");
    await rows.nth(all - 1).waitFor();
    await shown.endWell();
  });

  test("12.4 a failure is shown with every attempt, its stack, and what can be done about it", async (t) => {
    const rig = await ServerRig.start(t);
    const failed = await endedFailure(rig);
    const shown = await ConsolePage.open(browser, rig.server.url);
    await shown.go(`/instances/${failed}`);
    const why = shown.page.locator(".why");
    await why.getByText("Attempt 1", { exact: true }).waitFor();
    await why
      .locator(".failure pre")
      .filter({ hasText: /at .*\.ts:\d+/ })
      .first()
      .waitFor();
    for (const name of ["Skip", "Mark as succeeded"]) await why.getByRole("button", { name }).waitFor();
    await shown.endWell();
  });
});

async function endedFailure(rig: ServerRig): Promise<string> {
  const id = await start(rig, "fails");
  await rig.end(id);
  return id;
}
