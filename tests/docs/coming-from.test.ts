/** Spec §14.2: what docs/coming-from.md says of this engine is so. */
import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import { defineJob, Engine, hasCode, TaskBuilder, type Workflow, WorkflowBuilder } from "../../src/index.ts";
import { memoryStore } from "../../src/testing.ts";

const root = join(import.meta.dirname, "../..");
const page = readFileSync(join(root, "docs/coming-from.md"), "utf8");
const sections = page.split(/^## /m).slice(1);

const systems = [
  "TIS and Akka",
  "PowerJob",
  "Dapr Workflow and Durable Task",
  "The asynchronous task engine",
  "Temporal",
  "Airflow",
  "BullMQ",
  "Inngest",
  "DBOS",
  "Restate",
];

describe("14.2 the page for those who come from elsewhere", () => {
  test("has, of each system, terms, gains, differences, what does not carry over, and both programs", () => {
    assert.deepEqual(
      sections.map((section) => section.split("\n", 1)[0]),
      systems,
    );
    for (const section of sections) {
      const [name] = section.split("\n", 1);
      for (const paragraph of ["**What you gain.**", "**What differs.**", "**What does not carry over.**"]) {
        assert.ok(section.includes(paragraph), `${name} has no ${paragraph}`);
      }
      assert.match(section, /^\|---\|---\|$/m, `${name} has no table of terms`);
      assert.match(section, /^```(?:json|java|typescript|go|python)$/m, `${name} shows no program of the other system`);
      assert.match(section, /^```ts$/m, `${name} shows no program of Heddle`);
    }
  });

  test("names messages, methods and files that exist", () => {
    const paths = globSync("src/**/*.ts", { cwd: root });
    const words = new Set(paths.flatMap((path) => readFileSync(join(root, path), "utf8").match(/\w+/g) ?? []));
    const messages = tableAfter("The messages of the actor design").flatMap(([, ours = ""]) => codeOf(ours));
    assert.ok(messages.length >= 9, messages.join(" "));
    assert.deepEqual(
      messages.filter((name) => /^\w+$/.test(name) && !words.has(name)),
      [],
    );
    // The right column of a table of terms is about Heddle.
    const ours = [...page.matchAll(/^\| .* \| (.*) \|$/gm)].map((row) => row[1] ?? "").join("\n");
    const methods = [...ours.matchAll(/`(?:ctx|engine|engine\.executor|handle)\.(\w+)/g)].map((call) => call[1] ?? "");
    assert.ok(methods.length > 30, `found ${methods.length} methods`);
    assert.deepEqual(
      methods.filter((name) => !words.has(name)),
      [],
    );
  });

  test("has decisions in CEL that an engine takes, beside Groovy that it refuses", async () => {
    const rows = tableAfter("a file with a Groovy decision loads").map((cells) => cells.flatMap(codeOf));
    assert.ok(rows.length >= 4);
    const engine = new Engine({ storage: memoryStore(), jobs: [defineJob("any", () => 1)] });
    await engine.start();
    const context = { rows: "1200", dryRun: true, region: "eu", closed: false, kind: "a" };
    const refused: string[] = [];
    for (const [groovy = "", cel = ""] of rows) {
      const run = await engine.submitWorkflow(deciding(cel), { params: context });
      assert.equal((await run.result())["decide"], true, cel);
      if (groovy === cel) continue;
      try {
        await engine.submitWorkflow(deciding(groovy), { params: context });
      } catch (error) {
        assert.ok(hasCode(error, "DECISION_INVALID"), String(error));
        refused.push(groovy);
      }
    }
    await engine.stop();
    assert.equal(refused.length, 3);
  });
});

function deciding(expression: string): Workflow {
  return new WorkflowBuilder()
    .withName("deciding")
    .withTask(new TaskBuilder("decide").withDecision(expression))
    .withTask(new TaskBuilder("yes").withJobFunction("any").withDependency("decide", { when: true }))
    .build();
}

/** The cells of the rows of the first table after a text. */
function tableAfter(text: string): string[][] {
  const lines = page.slice(page.indexOf(text)).split("\n");
  const first = lines.findIndex((line) => line.startsWith("|---"));
  const rest = lines.slice(first + 1);
  const end = rest.findIndex((line) => !line.startsWith("|"));
  return rest.slice(0, end).map((line) => line.slice(2, -2).split(" | "));
}

function codeOf(cell: string): string[] {
  return [...cell.matchAll(/`([^`]+)`/g)].map((match) => match[1] ?? "");
}
