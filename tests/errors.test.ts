/** The tables of error codes, the sources, docs/errors.md and docs/http-api.md say the same, each in all directions. */
import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import { interfaceErrors } from "../src/api/envelope.ts";
import { errorCodes } from "../src/base/error.ts";
import { EngineError } from "../src/index.ts";

const root = join(import.meta.dirname, "..");
const codes = Object.keys(errorCodes).toSorted();
const docs = readFileSync(join(root, "docs/errors.md"), "utf8");

/** Sections of the page by their heading. */
const sections = new Map(
  docs
    .split(/^### /m)
    .slice(1)
    .map((section) => [section.slice(0, section.indexOf("\n")).trim(), section.slice(section.indexOf("\n"))]),
);

const tables: readonly string[] = [join("src", "base", "error.ts"), join("src", "api", "envelope.ts")];

/** Program text: no tests, and not the tables themselves. */
const sources = globSync("src/**/*.ts", { cwd: root })
  .filter((path) => !/\.(?:test|rig)\.ts$/.test(path) && !tables.includes(path))
  .map((path) => ({ path, text: readFileSync(join(root, path), "utf8") }));

describe("docs/errors.md", () => {
  test("has a section for every code, and none for others", () => {
    assert.deepEqual([...sections.keys()].toSorted(), codes);
  });

  for (const [code, { meaning }] of Object.entries(errorCodes)) {
    test(`says what ${code} means, in the words of the table, and what to do`, () => {
      const paragraphs = (sections.get(code) ?? "").split(/\n{2,}/).map((each) => each.trim());
      const [said, ...toDo] = paragraphs.filter((each) => each !== "" && !each.startsWith("## "));
      assert.equal(said, meaning);
      assert.ok(toDo.join(" ").length > 20, `what to do about ${code}`);
    });
  }

  test("names no code that is not there", () => {
    const known: ReadonlySet<string> = new Set(codes);
    const words = docs.match(/`[A-Z]+(?:_[A-Z]+)+`/g) ?? [];
    assert.ok(words.length > 0);
    assert.deepEqual(
      words.filter((word) => !known.has(word.slice(1, -1))),
      [],
    );
  });
});

describe("docs/http-api.md", () => {
  const page = readFileSync(join(root, "docs/http-api.md"), "utf8");

  test("has a row for every code of the HTTP interface, with its status, and none for others", () => {
    const rows = rowsOfCodes(page);
    assert.ok(rows.size > 10);
    assert.deepEqual(Object.fromEntries(rows), interfaceErrors);
  });

  test("would not pass with a code that has no row, or another status", () => {
    assert.deepEqual(
      [...rowsOfCodes("| `A_B` | 409 | Why. |\n| `INTERNAL` | 500 | Why. |\n| A_C | 409 | Why. |")],
      [
        ["A_B", 409],
        ["INTERNAL", 500],
      ],
    );
  });

  test("names no code that is not there", () => {
    const known: ReadonlySet<string> = new Set([...codes, ...Object.keys(interfaceErrors)]);
    const words = (page.match(/`[A-Z]+(?:_[A-Z]+)+`/g) ?? []).map((word) => word.slice(1, -1));
    assert.deepEqual(
      words.filter((word) => !known.has(word) && !word.startsWith("HEDDLE_")),
      [],
    );
  });

  test("lists no code of the engine", () => {
    assert.deepEqual(
      codes.filter((code) => Object.hasOwn(interfaceErrors, code)),
      [],
    );
  });
});

describe("the sources", () => {
  const text = sources.map((source) => withoutQuestions(source.text)).join("\n");

  test("were read", () => assert.ok(sources.length > 50));

  for (const code of [...codes, ...Object.keys(interfaceErrors)]) {
    test(`give ${code}`, () => assert.ok(text.includes(`"${code}"`), `nobody gives ${code}: take it out of the table`));
  }

  test("make every EngineError with a code of the table", () => {
    const known: ReadonlySet<string> = new Set(codes);
    const made = sources.flatMap((source) => codesMade(source.text).map((code) => ({ path: source.path, code })));
    assert.ok(made.length > 50);
    assert.deepEqual(
      made.filter(({ code }) => !known.has(code)),
      [],
    );
  });

  test("would not pass with a code that nobody gives, or one that is not in the table", () => {
    assert.ok(!withoutQuestions('if (hasCode(error, "ONLY_ASKED_FOR")) return;').includes("ONLY_ASKED_FOR"));
    assert.deepEqual(codesMade('throw new EngineError(\n  "MADE_UP",\n  message);'), ["MADE_UP"]);
  });
});

test("an error knows its code, and whether to try again", () => {
  const error = new EngineError("QUEUE_FULL", "the queue is full", { cause: "why" });
  assert.equal(error.code, "QUEUE_FULL");
  assert.equal(error.retryable, true);
  assert.equal(error.cause, "why");
  assert.equal(new EngineError("JOB_MISSING", "no job").retryable, false);
});

/** Asking for a code is not giving it. */
function withoutQuestions(text: string): string {
  return text.replaceAll(/hasCode\([^;{]*?"[A-Z_]+"\)/g, "");
}

/** Rows `| code | status | meaning |` of a table. */
function rowsOfCodes(page: string): Map<string, number> {
  const rows = page.matchAll(/^\| `([A-Z_]+)` \| (\d{3}) \| \S/gm);
  return new Map(Array.from(rows, ([, code = "", status]) => [code, Number(status)]));
}

function codesMade(text: string): string[] {
  return Array.from(text.matchAll(/(?:new EngineError|super)\(\s*"([^"]*)"/g), (match) => match[1] ?? "");
}
