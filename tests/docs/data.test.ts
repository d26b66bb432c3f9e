/** Spec §14.3: settings, definitions and messages that the documents show as JSON are accepted by what reads them. */
import assert from "node:assert/strict";
import { globSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import { parseWorkerMessage } from "../../src/dispatch/session-schema.ts";
import { defineJob, Workflow } from "../../src/index.ts";
import { loadConfig } from "../../src/server.ts";
import { testEngine } from "../../src/testing.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const root = join(import.meta.dirname, "../..");

/** Pages with JSON; docs/typescript.md has a test of its own. */
const shown = [
  "coming-from",
  "configuration",
  "http-api",
  "observability",
  "operations",
  "push",
  "typescript",
  "worker-protocol",
];

function jsonOf(page: string): string[] {
  const text = readFileSync(join(root, "docs", `${page}.md`), "utf8");
  return [...text.matchAll(/^```json\n(.*?)^```$/gms)].map(([, json = ""]) => json);
}

describe("14.3 JSON in the documents", () => {
  test("is on pages that are looked at here", () => {
    const names = globSync("*.md", { cwd: join(root, "docs") }).map((file) => file.slice(0, -".md".length));
    assert.deepEqual(names.filter((name) => jsonOf(name).length > 0).toSorted(), shown);
  });

  for (const page of ["configuration", "observability"]) {
    test(`docs/${page}.md shows settings that a server takes`, (t) => {
      const [settings = ""] = jsonOf(page);
      const folder = temporaryFolder(t);
      writeFileSync(join(folder, "heddle.config.json"), settings);
      const config = loadConfig({ environment: {}, folder });
      for (const key of Object.keys(JSON.parse(settings) as object)) assert.ok(key in config, key);
    });
  }

  test("docs/coming-from.md shows a definition of TIS that runs", async () => {
    const [definition = ""] = jsonOf("coming-from");
    const [dump, build] = [
      defineJob("dump", ({ table }: { table: string }) => table),
      defineJob("build", () => "built"),
    ];
    await using kit = await testEngine({ jobs: [dump, build] });
    const run = await kit.engine.submitWorkflow(Workflow.fromJSON(JSON.parse(definition), { name: "sync" }));
    assert.deepEqual(await kit.clock.until(run.result()), { dump_order: "order", build_index: "built" });
  });

  test("docs/worker-protocol.md shows outcomes that a member takes", () => {
    const outcomes = jsonOf("worker-protocol").flatMap((block) => block.trim().split("\n"));
    assert.ok(outcomes.length >= 5);
    for (const text of outcomes) {
      const outcome: unknown = JSON.parse(text);
      const result = { type: "Result", attemptId: "i:0:1:1", grant: 1, startedAt: 1, outcome };
      assert.deepEqual(parseWorkerMessage(JSON.stringify(result)), result);
    }
  });

  test("docs/push.md and docs/operations.md show a change and a log line that are JSON", () => {
    for (const page of ["push", "operations"]) for (const json of jsonOf(page)) JSON.parse(json);
  });
});
