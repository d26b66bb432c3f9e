import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { fitCamera, wholeScale } from "../../console/src/graph/camera.ts";
import { layoutGraph } from "../../console/src/graph/layout.ts";
import { fitDetail, textSize, wrapName } from "../../console/src/graph/node-text.ts";

/** The graph beside the why panel, at 1280 × 800 and at 1440 × 900. */
const views = [
  { width: 686, height: 528 },
  { width: 846, height: 628 },
];

/** Several sources, then a chain: the shape of a nightly load. */
function chain(sources: number, ranks: number): { ids: string[]; edges: { from: string; to: string }[] } {
  const first = Array.from({ length: sources }, (_, number) => `source-${number}`);
  const rest = Array.from({ length: ranks - 1 }, (_, number) => `step-${number}`);
  const edges = first.map((from) => ({ from, to: "step-0" }));
  rest.slice(1).forEach((to, number) => edges.push({ from: `step-${number}`, to }));
  return { ids: [...first, ...rest], edges };
}

/** Letters of one width are enough to see where a text is broken. */
const measure = (text: string): number => text.length * 7;

describe("the layout of a graph", () => {
  test("shows usual graphs as a whole beside a panel, with text of 11 pixels or more", () => {
    for (const view of views) {
      for (const [sources, ranks] of [
        [1, 2],
        [2, 3],
        [3, 4],
        [5, 6],
        [6, 7],
        [8, 5],
      ] as const) {
        const { ids, edges } = chain(sources, ranks);
        const layout = layoutGraph(ids, edges, view);
        const { k } = fitCamera(layout, view);
        const what = `${sources} sources, ${ranks} ranks at ${view.width}`;
        assert.equal(k, wholeScale(layout, view), `${what} are not seen as a whole`);
        for (const usual of [13, 11]) {
          assert.ok(textSize(usual, k) * k >= 10.99, `${what}: ${textSize(usual, k) * k} px`);
        }
      }
    }
  });

  test("longer graphs begin where they can be read", () => {
    for (const view of views) {
      const { ids, edges } = chain(4, 14);
      const { k } = fitCamera(layoutGraph(ids, edges, view), view);
      assert.ok(textSize(11, k) * k >= 10.99);
    }
  });

  test("nodes are wide where there is room, and leave room for the labels of edges", () => {
    const [view] = views;
    assert.ok(view);
    assert.equal(layoutGraph(["a", "b"], [{ from: "a", to: "b" }], view).node.width, 176);
    const { ids, edges } = chain(2, 6);
    const plain = layoutGraph(ids, edges, view);
    assert.equal(plain.node.width, 112);
    const labelled = layoutGraph(
      ids,
      edges.map((edge) => ({ ...edge, label: "false" })),
      view,
    );
    const gap = (labelled.x[2] ?? 0) - (labelled.x[0] ?? 0) - labelled.node.width;
    assert.ok(gap >= measure("false"), String(gap));
  });
});

describe("the text of a node", () => {
  test("breaks a long name where its words end, and shortens the rest", () => {
    assert.deepEqual(wrapName("load", 70, measure), ["load"]);
    assert.deepEqual(wrapName("extract-orders", 70, measure), ["extract-", "orders"]);
    assert.deepEqual(wrapName("a-verylongwordwithoutend", 70, measure), ["a-verylong", "wordwi…end"]);
    assert.deepEqual(wrapName("每日订单数据提取与校验任务", 70, measure), ["每日订单数据提取与校", "验任务"]);
  });

  test("keeps the duration and the attempt longer than the job", () => {
    assert.equal(fitDetail("load-warehouse · 21.8 s · ×2", 84, measure), "21.8 s · ×2");
    assert.equal(fitDetail("load-warehouse", 70, measure), "load-w…use");
  });
});
