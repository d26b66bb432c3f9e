import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { noticesOf, type NodeRow, Progress } from "./progress.ts";

type Node = Parameters<Progress["take"]>[0][number];
type Task = Parameters<typeof noticesOf>[0]["tasks"][number];

function node(nodeId: number, name: string, status: string): Node {
  return { nodeId, name, status, attempt: 1 };
}

function task(name: string, more: Partial<Task>): Task {
  return { number: 0, nodeId: 0, name, kind: "job", status: "Pending", attempt: 0, ...more };
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

describe("notices", () => {
  test("say why code was stopped", () => {
    assert.deepEqual(noticesOf({ attention: "the code has changed", tasks: [] }), ["the code has changed"]);
  });

  test("say what nobody can run, once for each reason, and only while nothing runs", () => {
    const tasks = [
      task("a", { waitingFor: 'job "x" is not registered on any worker' }),
      task("b", { waitingFor: 'job "x" is not registered on any worker' }),
      task("c", { waitingFor: "a free slot", retryAt: 5 }),
      task("d", { status: "Success" }),
    ];
    assert.deepEqual(noticesOf({ tasks }), ['a and 1 more waits: job "x" is not registered on any worker']);
    assert.deepEqual(noticesOf({ tasks: [...tasks, task("e", { status: "Running" })] }), []);
  });
});
