import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { type NodeRow, Progress } from "./progress.ts";

type Node = Parameters<Progress["take"]>[0][number];

function node(nodeId: number, name: string, status: string): Node {
  return { nodeId, name, status, attempt: 1 };
}

describe("progress", () => {
  test("tells nodes of the same name apart, and each change once", () => {
    const changes: NodeRow[] = [];
    const progress = new Progress((row) => changes.push(row));
    const nodes = [node(0, "step", "Running"), node(1, "step", "Running"), node(2, "other", "Running")];
    progress.take(nodes);
    progress.take(nodes);
    progress.take([node(1, "step", "Success")]);
    assert.deepEqual(
      changes.map(({ label, status }) => `${label} ${status}`),
      ["step Running", "step#2 Running", "other Running", "step#2 Success"],
    );
    assert.deepEqual(
      progress.rows.map(({ label }) => label),
      ["step", "step#2", "other"],
    );
  });

  test("does not confuse the first node of a new generation with the first one before", () => {
    const progress = new Progress(() => undefined);
    progress.take([node(0, "collect", "Success")]);
    progress.take([node(0, "send", "Running")]);
    assert.deepEqual(
      progress.rows.map(({ label }) => label),
      ["collect", "send"],
    );
  });
});
