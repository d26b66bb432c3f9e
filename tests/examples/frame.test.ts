import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { frame, type FrameOptions } from "../../examples/pipeline/frame.ts";
import type { Row } from "../../examples/pipeline/progress.ts";

const now = 1_000_000;
const options: FrameOptions = { now, elapsedMs: 12_340, columns: 80, lines: 40, remarks: new Map([["a", "a remark"]]) };

describe("a frame", () => {
  test("shows each task with its state, time and what there is to say", () => {
    const failure = { type: "Error", message: "no answer", retryable: true };
    const rows = [
      row("a", { status: "Success", startedAt: now - 3000, endedAt: now - 1000 }),
      row("b", { status: "Pending", attempt: 1, retryAt: now + 1500, failure }),
      row("c", { status: "Running", startedAt: now - 400, depth: 1 }),
      row("d", { status: "Canceled", cause: "branch" }),
      row("e", { status: "Failed", attempt: 2, startedAt: now - 400, endedAt: now, failure }),
      row("f", { status: "Pending", wait: { reason: "slot", text: "a free slot", since: 0 } }),
    ];
    assert.deepEqual(texts(rows, options), [
      " ✓ a      2.0 s  a remark",
      " ↻ b             attempt 2 in 1.5 s: no answer",
      " ⠋ └ c    0.4 s",
      " – d             not needed: the decision went the other way",
      " ✗ e      0.4 s  attempt 2: no answer",
      " · f             waits for a free slot",
      "",
      ` ${"█".repeat(20)}${"░".repeat(20)}  3 of 6 tasks  12.3 s`,
    ]);
  });

  test("is never wider than the window", () => {
    const rows = [
      row("a-task-with-a-long-name", {
        status: "Pending",
        wait: { reason: "slot", text: "something that takes long to say", since: 0 },
      }),
    ];
    for (const columns of [1, 10, 20, 40, 80]) {
      for (const text of texts(rows, { ...options, columns })) assert.ok(text.length <= Math.max(1, columns - 1), text);
    }
  });

  test("folds what is done and what is to come where the window is low, and keeps what runs", () => {
    const rows = Array.from({ length: 40 }, (_, place) =>
      row(
        `task-${place}`,
        place < 20 ? { status: "Success", endedAt: place } : { status: place % 7 === 0 ? "Running" : "Pending" },
      ),
    );
    const lines = texts(rows, { ...options, lines: 20 });
    assert.equal(lines.length, 20);
    for (const running of ["task-21", "task-28", "task-35"]) {
      assert.ok(
        lines.some((line) => line.includes(running)),
        running,
      );
    }
    assert.match(lines[0] ?? "", /^ ✓ 14 more done$/);
    assert.match(lines.at(-3) ?? "", /^ · 10 more to come$/);
    assert.ok(lines.some((line) => line.includes("task-19")) && lines.some((line) => line.includes("task-20")));
  });
});

function row(name: string, known: Partial<Row>): Row {
  return {
    name,
    status: "Pending",
    cause: undefined,
    attempt: 1,
    startedAt: undefined,
    endedAt: undefined,
    failure: undefined,
    retryAt: undefined,
    wait: undefined,
    depth: 0,
    ...known,
  };
}

function texts(rows: readonly Row[], options: FrameOptions): string[] {
  return frame(rows, options).map((line) =>
    line
      .map(({ text }) => text)
      .join("")
      .trimEnd(),
  );
}
