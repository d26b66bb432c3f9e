/** Spec §12.4: long lists in a real browser. */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import type { Browser } from "playwright-core";
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

/** Starts instances one after the other, and returns their ids in that order. */
async function startMany(rig: ServerRig, count: number): Promise<string[]> {
  const ids: string[] = [];
  for (let number = 0; number < count; number++) {
    const { instanceId } = await rig.ok("triggerWorkflow", { params: { id: "talk" }, body: {} });
    ids.push(instanceId);
  }
  return ids;
}

describe("long lists of the console", () => {
  test("12.4 only the rows in sight are in the document, and scrolling and keys reach every other one", async (t) => {
    const rig = await ServerRig.start(t);
    const ids = await startMany(rig, 250);
    const [oldest = ""] = ids;
    const newest = ids.at(-1) ?? "";
    const shown = await ConsolePage.open(browser, rig.server.url);
    const { page } = shown;
    const rows = page.locator("tr[data-row]");
    const rowOf = (id: string) => page.locator(`[title="${id}"]`);
    await shown.go("/instances");
    await shown.sees("100 shown");
    await shown.press("Load more");
    await shown.sees("200 shown");
    await shown.press("Load more");
    await shown.sees("These are all.");
    assert.ok((await rows.count()) < 120, `${await rows.count()} rows are drawn`);
    await page.evaluate("scrollTo(0, document.body.scrollHeight)");
    await rowOf(oldest).waitFor();
    assert.equal(await rowOf(newest).count(), 0);
    assert.equal(await page.locator("table").getAttribute("aria-rowcount"), "251");
    await page.keyboard.press("j");
    await rowOf(newest).waitFor();
    const isInSight = `document.querySelector("tr[data-active=true]").getBoundingClientRect().bottom <= innerHeight`;
    for (let down = 0; down < 60; down++) await page.keyboard.press("j");
    await until(async () => await page.evaluate<boolean>(isInSight));
    await page.keyboard.press("x");
    await shown.sees("1 selected");
    assert.deepEqual(await shown.seriousProblems(), []);
    await shown.endWell();
  });

  test("12.4 the runs of a workflow are loaded page after page", async (t) => {
    const rig = await ServerRig.start(t);
    await startMany(rig, 130);
    const shown = await ConsolePage.open(browser, rig.server.url);
    await shown.go("/workflows/talk/runs");
    await shown.sees("100 shown");
    await shown.press("Load more");
    await shown.sees("130 shown");
    await shown.sees("These are all.");
    await shown.endWell();
  });

  test("12.4 on a phone a row has its id, its duration and its reason within the width of the screen", async (t) => {
    const rig = await ServerRig.start(t);
    const { instanceId } = await rig.ok("triggerWorkflow", { params: { id: "fails" }, body: {} });
    await rig.end(instanceId);
    const { reason = "" } = await rig.ok("getInstance", { params: { id: instanceId } });
    const shown = await ConsolePage.open(browser, rig.server.url, { width: 360 });
    for (const path of ["/instances", "/workflows/fails/runs"]) {
      await shown.go(path);
      await shown.sees(reason);
      const width = await shown.page.evaluate<number>(
        `Math.max(...[...document.querySelectorAll("tr[data-row] td")].map((cell) => cell.getBoundingClientRect().right))`,
      );
      assert.ok(width <= 360, `${path}: ${width} pixels`);
    }
    await shown.page.locator("tr[data-row]").getByRole("link", { name: /…/ }).filter({ visible: true }).click();
    await shown.sees("Why it failed");
    await shown.endWell();
  });
});
