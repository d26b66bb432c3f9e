/** What is loaded, and what is not: a client runs in a browser, and a short command is not to load an engine. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { describe, test } from "node:test";
import { parseSync } from "oxc-parser";

const root = join(import.meta.dirname, "../..");

/** All that a module loads before it runs: files of ours, and the names of packages. */
function loadedBy(file: string, found = new Set<string>()): Set<string> {
  const path = join(root, file);
  const { module } = parseSync(path, readFileSync(path, "utf8"));
  const names = [
    ...module.staticImports
      .filter(({ entries }) => entries.length === 0 || entries.some(({ isType }) => !isType))
      .map(({ moduleRequest }) => moduleRequest.value),
    ...module.staticExports.flatMap(({ entries }) =>
      entries.flatMap(({ isType, moduleRequest }) => (isType || moduleRequest === null ? [] : [moduleRequest.value])),
    ),
  ];
  for (const name of names) {
    const target = name.startsWith(".") ? relative(root, join(dirname(path), name)) : name;
    if (found.has(target)) continue;
    found.add(target);
    if (name.startsWith(".")) loadedBy(target, found);
  }
  return found;
}

describe("loading", () => {
  test("the client needs nothing but itself, the paths and plain functions", () => {
    const loaded = [...loadedBy("src/client.ts")];
    assert.deepEqual(loaded.filter((name) => !name.startsWith("src/client/")).toSorted(), [
      "src/api/paths.ts",
      "src/base/closest-name.ts",
      "src/base/error.ts",
      "src/base/namespace.ts",
      "src/base/preview.ts",
      "src/base/url-text.ts",
      "src/base/uuid.ts",
    ]);
  });

  test("the program begins without the engine, the server and their packages", () => {
    const loaded = [...loadedBy("src/cli/program/main.ts")];
    assert.ok(loaded.includes("src/cli/commands/dev.ts"));
    const others = loaded.filter(
      (name) => !/^(src\/(cli|client|base)\/|src\/api\/paths\.ts|node:|commander$)/.test(name),
    );
    assert.deepEqual(others, ["src/server/config/config-key.ts"]);
  });
});
