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

  test("keeps the progress of a running job, which pushed nodes do not have, and reports no change for it", () => {
    const changes: NodeRow[] = [];
    const progress = new Progress((row) => changes.push(row));
    const seen = (): (number | undefined)[] => progress.rows.map((row) => row.progress?.fraction);
    progress.take([node(0, "step", "Running")]);
    progress.take([{ ...node(0, "step", "Running"), progress: { fraction: 0.4 } }]);
    progress.take([node(0, "step", "Running")]);
    assert.deepEqual([seen(), changes.length], [[0.4], 1]);
    progress.take([{ ...node(0, "step", "Running"), attempt: 2 }]);
    assert.deepEqual(seen(), [undefined]);
    progress.take([node(0, "step", "Success")]);
    assert.deepEqual(seen(), [undefined]);
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
