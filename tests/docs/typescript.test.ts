/** The settings that docs/typescript.md shows are those that are tested. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { projectFiles } from "../../src/cli/project-files.ts";

const root = join(import.meta.dirname, "../..");

test("docs/typescript.md shows the settings of heddle init, and those that the package is compiled with", () => {
  const page = readFileSync(join(root, "docs/typescript.md"), "utf8");
  const shown = [...page.matchAll(/^```json\n(.*?)^```$/gms)].map((block) => JSON.parse(block[1] ?? "") as unknown);
  const compiled = readFileSync(join(root, "tests/package/tsconfig.json"), "utf8").replaceAll(/^\s*\/\/.*$/gm, "");
  assert.deepEqual(shown, [JSON.parse(projectFiles("app")["tsconfig.json"] ?? ""), JSON.parse(compiled)]);
});
