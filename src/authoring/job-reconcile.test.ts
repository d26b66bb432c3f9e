import assert from "node:assert/strict";
import { test } from "node:test";
import type { JobDescription, JobMetadata } from "./job-metadata.ts";
import { reconcileJobs } from "./job-reconcile.ts";

function present(name: string, signature: string, sourceHash = "s1"): JobDescription {
  return { id: `${name}@${signature}`, name, signature, parameters: "{}", codePath: null, sourceHash };
}

function stored(name: string, signature: string, more: Partial<JobMetadata> = {}): JobMetadata {
  return { ...present(name, signature), createdAt: 1, updatedAt: 1, missing: false, ...more };
}

const nowMs = 100;

test("an unchanged function is mapped and nothing is written", () => {
  const result = reconcileJobs({ present: [present("a", "1")], stored: [stored("a", "1")], nowMs });
  assert.deepEqual(result, { save: [], remove: [], changes: [{ kind: "mapped", name: "a", id: "a@1" }] });
});

test("a function with another body is updated and keeps its creation time", () => {
  const result = reconcileJobs({ present: [present("a", "1", "s2")], stored: [stored("a", "1")], nowMs });
  assert.deepEqual(result, {
    save: [stored("a", "1", { sourceHash: "s2", updatedAt: nowMs })],
    remove: [],
    changes: [{ kind: "updated", name: "a", id: "a@1" }],
  });
});

test("a function that moved, or came back, is mapped and written", () => {
  const before = [stored("a", "1", { codePath: "old#a" }), stored("b", "1", { missing: true })];
  const result = reconcileJobs({ present: [present("a", "1"), present("b", "1")], stored: before, nowMs });
  assert.deepEqual(result.save, [stored("a", "1", { updatedAt: nowMs }), stored("b", "1", { updatedAt: nowMs })]);
  assert.deepEqual(
    result.changes.map(({ kind }) => kind),
    ["mapped", "mapped"],
  );
});

test("a new signature under the same name replaces the old", () => {
  const result = reconcileJobs({ present: [present("a", "2")], stored: [stored("a", "1")], nowMs });
  assert.deepEqual(result, {
    save: [stored("a", "2", { createdAt: nowMs, updatedAt: nowMs })],
    remove: ["a@1"],
    changes: [{ kind: "replaced", name: "a", id: "a@2" }],
  });
});

test("a second signature beside the first is new, and the first stays", () => {
  const result = reconcileJobs({ present: [present("a", "1"), present("a", "2")], stored: [stored("a", "1")], nowMs });
  assert.deepEqual(result.remove, []);
  assert.deepEqual(result.changes, [
    { kind: "mapped", name: "a", id: "a@1" },
    { kind: "new", name: "a", id: "a@2" },
  ]);
});

test("a function that is gone is missing: written once, told each time", () => {
  const first = reconcileJobs({ present: [], stored: [stored("a", "1")], nowMs });
  assert.deepEqual(first, {
    save: [stored("a", "1", { missing: true, updatedAt: nowMs })],
    remove: [],
    changes: [{ kind: "missing", name: "a", id: "a@1" }],
  });

  const second = reconcileJobs({ present: [], stored: first.save, nowMs: 200 });
  assert.deepEqual(second, { save: [], remove: [], changes: first.changes });
});
