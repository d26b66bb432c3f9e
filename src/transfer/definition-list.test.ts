import assert from "node:assert/strict";
import { test } from "node:test";
import type { DagSpec } from "../kernel/dag/dag-spec.ts";
import { MemoryStore } from "../stores/memory/memory-store.ts";
import { DefinitionList } from "./definition-list.ts";

function row(name: string, version: string, nested: readonly (readonly [string, string])[] = []) {
  const nodes = nested.map(([workflowName, workflowVersion], nodeId) => ({ nodeId, workflowName, workflowVersion }));
  return { name, version, spec: JSON.stringify({ nodes } satisfies DagSpec), createdAt: 1 };
}

test("has what is noted, what that nests, and the newest of each name at its end", async () => {
  const store = new MemoryStore();
  await store.open();
  await store.saveDefinitions([
    row("outer", "3", [["middle", "1"]]),
    row("outer", "1", [["late", "1"]]),
    row("middle", "1", [["inner", "2"]]),
    row("inner", "2"),
    row("inner", "1"),
    row("late", "1"),
    row("unused", "1"),
  ]);
  const list = new DefinitionList(store);
  list.note({ name: "outer", version: "3" });
  list.note({ name: "outer", version: "3" });
  list.note({ name: "gone", version: "1" });
  const found: string[] = [];
  for await (const { name, version } of list.rows()) found.push(`${name} ${version}`);
  assert.deepEqual(found, ["inner 2", "inner 1", "late 1", "middle 1", "outer 3", "outer 1"]);
  list.close();
});
