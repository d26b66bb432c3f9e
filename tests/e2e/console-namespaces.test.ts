/** Spec §12.4, §8.4: namespaces in the console, in a real browser. */
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

const inAcme = { headers: { "x-heddle-namespace": "acme" } };

describe("namespaces in the console", () => {
  test("12.4 8.4 the namespace is part of the address, and is chosen in the top bar", async (t) => {
    const rig = await ServerRig.start(t, { namespaces: ["acme"] });
    const { instanceId: own } = await rig.ok("triggerWorkflow", { params: { id: "talk" }, body: {} });
    const { instanceId: other } = await rig.ok("triggerWorkflow", { ...inAcme, params: { id: "talk" }, body: {} });
    const shown = await ConsolePage.open(browser, rig.server.url);
    const { page } = shown;
    await shown.go("/instances");
    await page.locator(`[title="${own}"]`).waitFor();
    assert.equal(await page.locator(`[title="${other}"]`).count(), 0);
    await page.getByLabel("Namespace").press("ArrowDown");
    await page.getByTitle("acme", { exact: true }).click();
    await page.waitForURL(/\/n\/acme\/instances$/);
    await page.locator(`[title="${other}"]`).waitFor();
    assert.equal(await page.locator(`[title="${own}"]`).count(), 0);
    await page.reload();
    await page
      .locator(`[title="${other}"]`)
      .getByRole("link")
      .or(page.locator(`a[title="${other}"]`))
      .first()
      .click();
    await page.waitForURL(new RegExp(`/n/acme/instances/${other}`));
    await shown.sees("Waits for the event “go”");
    await shown.press("Raise it");
    await page.getByRole("dialog").getByRole("button", { name: "Raise an event" }).click();
    await shown.sees("It succeeded");
    await page.keyboard.press("g");
    await page.keyboard.press("w");
    await page.waitForURL(/\/n\/acme\/workflows$/);
    assert.deepEqual(await shown.seriousProblems(), []);
    assert.equal((await rig.ok("getInstance", { params: { id: own } })).status, "Running");
    await page.goBack();
    await page.waitForURL(new RegExp(`/n/acme/instances/${other}`));
    await shown.endWell();
  });

  test("12.4 8.4 a token that is bound to a namespace is led there, and chooses no other", async (t) => {
    const rig = await ServerRig.start(t, { namespaces: ["acme"] });
    const { token } = await rig.ok("createToken", { body: { name: "root", role: "admin" } });
    const bound = { name: "ann", role: "operator", namespace: "acme" };
    const { token: ofAcme } = await rig.ok("createToken", { token, body: bound });
    const shown = await ConsolePage.open(browser, rig.server.url, { language: "zh", width: 360 });
    const { page } = shown;
    await shown.go("/workflows");
    await page.getByRole("textbox").fill(ofAcme);
    await page.keyboard.press("Enter");
    await page.waitForURL(/\/n\/acme\/workflows$/);
    await shown.sees("hello");
    await shown.sees("acme");
    assert.equal(await page.getByLabel("命名空间").count(), 0);
    const overflow = await page.evaluate<number>("document.documentElement.scrollWidth - window.innerWidth");
    assert.ok(overflow <= 0, `${overflow} pixels too wide`);
    await shown.endWell();
  });
});
