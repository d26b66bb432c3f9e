/** Spec §12.4: graphs in a real browser are read without zooming. */
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

interface DrawnText {
  readonly text: string;
  /** Size on the screen, in CSS pixels. */
  readonly size: number;
}

/** Keeps every text that a canvas draws, with the size that it has on the screen. */
const recordTexts = `
  globalThis.drawnTexts = [];
  const draw = CanvasRenderingContext2D.prototype.fillText;
  CanvasRenderingContext2D.prototype.fillText = function (text, ...place) {
    const size = (Number.parseFloat(this.font) * this.getTransform().a) / devicePixelRatio;
    globalThis.drawnTexts.push({ text, size });
    draw.call(this, text, ...place);
  };
`;

/** Five tables are extracted side by side, then there is a chain of five steps: ten nodes in six ranks. */
const names = ["stock", "events", "users", "items", "orders"].map((table) => `extract-${table}`);
const steps = ["validate", "transform", "load-warehouse", "report", "mail"];
const nightly = {
  nodes: [...names, ...steps].map((nodeName, at) => ({ nodeId: at + 1, nodeName, jobName: "say", nodeParams: '"x"' })),
  edges: [
    ...names.map((_, at) => ({ from: at + 1, to: 6 })),
    ...steps.slice(1).map((_, at) => ({ from: at + 6, to: at + 7 })),
  ],
};

describe("graphs in a browser", () => {
  for (const width of [1280, 1440]) {
    test(`12.4 a usual graph is seen as a whole at ${width} pixels, and no text of it is smaller than 11`, async (t) => {
      const rig = await ServerRig.start(t);
      await rig.ok("createWorkflow", { body: { name: "nightly", dagSpec: nightly } });
      const { instanceId } = await rig.ok("triggerWorkflow", { params: { id: "nightly" }, body: {} });
      await rig.end(instanceId);
      const shown = await ConsolePage.open(browser, rig.server.url, { width });
      await shown.page.addInitScript({ content: recordTexts });
      for (const path of [`/instances/${instanceId}`, "/workflows/nightly", "/workflows/nightly/edit"]) {
        await shown.go(path);
        const drawn = async (): Promise<DrawnText[]> => await shown.page.evaluate<DrawnText[]>(`drawnTexts`);
        await until(async () => (await drawn()).length >= 20);
        // The size of the view may have changed while the page settled: only the last drawing counts.
        await shown.page.evaluate(`drawnTexts.length = 0`);
        await shown.page.keyboard.press("0");
        await until(async () => (await drawn()).length >= 20);
        const texts = await drawn();
        assert.deepEqual(
          texts.filter(({ size }) => size < 10.99),
          [],
          path,
        );
        const text = texts.map((each) => each.text).join("");
        for (const name of [...names, ...steps]) assert.ok(text.includes(name), `${path}: ${name} in ${text}`);
        assert.equal(await shown.page.locator(".minimap").count(), 0, "nothing is outside the view");
      }
      await shown.endWell();
    });
  }
});
