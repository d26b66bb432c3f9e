import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { DagSpecBuilder } from "./dag-spec-builder.ts";

describe("a definition built by node ids", () => {
  const built = (): DagSpecBuilder =>
    new DagSpecBuilder("nightly")
      .addNode({ nodeId: 1, nodeName: "dump", jobName: "dump" })
      .addNode({ nodeId: 2, nodeName: "choose", nodeType: 2, nodeParams: "1 > 0" })
      .addNode({ nodeId: 3, nodeName: "index", jobId: 7, skipWhenFailed: true })
      .addEdge(1, 2)
      .addEdge(2, 3, "true");

  test("is a dag-spec, can be submitted, and comes back from JSON as it was", () => {
    const spec = built();
    spec.validate();
    assert.equal(spec.toJSON().name, "nightly");
    assert.deepEqual(spec.toJSON().edges, [
      { from: 1, to: 2 },
      { from: 2, to: 3, property: "true" },
    ]);
    assert.deepEqual(
      [...spec.toWorkflow().tasks.values()].map(({ name }) => name),
      ["dump", "choose", "index"],
    );
    const read = DagSpecBuilder.fromJSON(JSON.parse(JSON.stringify(spec)));
    assert.deepEqual(read.toJSON(), spec.toJSON());
    assert.deepEqual(read.addNode({ nodeId: 4, nodeName: "more", jobName: "j" }).addEdge(3, 4).toJSON().edges?.at(-1), {
      from: 3,
      to: 4,
    });
  });

  test("refuses ids that are taken, edges that lead nowhere and cycles", () => {
    assert.throws(() => built().addNode({ nodeId: 1, nodeName: "again" }), { code: "TASK_DUPLICATE" });
    assert.throws(() => built().addEdge(3, 9).validate());
    assert.throws(() => built().addEdge(3, 1).validate(), { code: "WORKFLOW_CYCLE" });
    assert.throws(() => new DagSpecBuilder().validate(), { code: "WORKFLOW_EMPTY" });
  });
});
