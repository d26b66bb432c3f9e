import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { fitCamera, reveal } from "../../console/src/graph/camera.ts";

const view = { width: 690, height: 570 };
const area = { view, node: { width: 176, height: 46 } };

describe("the camera of a graph", () => {
  test("shows a graph as a whole while its names are legible, never enlarged", () => {
    for (const layout of [
      { width: 300, height: 100 },
      { width: 1130, height: 250 },
      { width: 1100, height: 900 },
    ]) {
      const { x, y, k } = fitCamera(layout, view);
      assert.ok(k <= 1 && x >= 0 && y >= 0, `${layout.width}: ${JSON.stringify({ x, y, k })}`);
      assert.ok(x + layout.width * k <= view.width && y + layout.height * k <= view.height);
    }
  });

  test("begins at the left side of a graph of a few screens, and shows a huge one as a whole", () => {
    assert.deepEqual(fitCamera({ width: 3000, height: 400 }, view), { k: 0.75, x: 20, y: 135 });
    assert.deepEqual(fitCamera({ width: 400, height: 1400 }, view), { k: 0.75, x: 195, y: -240 });
    assert.ok(fitCamera({ width: 100_000, height: 400 }, view).k < 0.01 + 0.02);
  });

  test("stays where it is if the node is in view, and moves just enough if it is not", () => {
    const layout = { width: 1130, height: 250 };
    const camera = fitCamera(layout, view);
    const first = { x: 88, y: 125 };
    const shown = reveal(camera, first, area);
    assert.ok(Math.abs(shown.x - camera.x) < 1e-6 && Math.abs(shown.y - camera.y) < 1e-6);
    assert.deepEqual(reveal({ k: 1, x: 0, y: 0 }, { x: 1000, y: 285 }, area), { k: 1, x: -418, y: 0 });
  });
});
