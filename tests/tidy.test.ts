/**
 * A plain test that reads the sources. It holds what compiler and linter do not: who may import whom, functions that
 * must not grow, a kernel without clock, chance or waiting. Each check is proved on planted violations first.
 */
import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import { longFunctions, ratchet, readList } from "./tidy/function-length.ts";
import { importDirection, mayImport } from "./tidy/import-direction.ts";
import { kernelPurity } from "./tidy/kernel-purity.ts";
import { fileName, shape } from "./tidy/shape.ts";
import { parse } from "./tidy/source.ts";
import type { Check, Finding } from "./tidy/source.ts";
import { readSpecification, uncitedLines, undefinedCitations } from "./tidy/specification.ts";
import { comments, places } from "./tidy/words.ts";

const root = join(import.meta.dirname, "..");
const packageJson = JSON.parse(read("package.json")) as { dependencies?: Record<string, string> };
const packages = { dependencies: Object.keys(packageJson.dependencies ?? {}) };
const direction: Check = (source) => importDirection(source, packages);

const specification = readSpecification(read("docs/specification.md"));
const citations = undefinedCitations(specification);

const folders = ["src", "tests", "bench", "examples", "scripts"];
const files = find(folders.map((folder) => `${folder}/**/*`));
const sources = files.filter((path) => path.endsWith(".ts")).map((path) => parse(path, read(path)));

describe("the sources", () => {
  test("are there to be looked at", () => {
    assert.ok(sources.length > 20, `found ${sources.length} sources`);
    for (const folder of Object.keys(mayImport)) {
      assert.ok(
        sources.some((source) => source.path.startsWith(`src/${folder}/`)),
        `src/${folder}/ is in the table of who may import whom, but has no file`,
      );
    }
  });

  test("import downwards only", () => none(sources.flatMap(direction)));
  test("keep clock, chance and waiting out of the kernel", () => none(sources.flatMap(kernelPurity)));
  test("are written in the one shape", () => none(sources.flatMap(shape)));
  test("cite numbers that the specification defines", () => none(sources.flatMap(citations)));
  test("cite every line of the specification that is built", () => {
    assert.ok(specification.builtLines.includes("4.4"), `found ${specification.builtLines.length} lines`);
    none(uncitedLines(specification, sources));
  });
  test("have comments that are for the reader", () => none(sources.flatMap(comments)));
  test("are named in kebab-case, after what they hold", () => none(files.flatMap(fileName)));

  test("have no function that grew past its limit", () => {
    none(ratchet(sources.flatMap(longFunctions), readList(read("tests/tidy/long-functions.txt"))));
  });

  test("name no place that only their writer has", () => {
    const all = [...files, ...find(["*", ".*", ".ci/*", "docs/**/*"])];
    assert.ok(all.includes("package-lock.json") && all.includes(".npmrc"));
    none(all.flatMap((path) => places(path, read(path))));
  });
});

describe("a planted violation is caught:", () => {
  const planted: readonly { check: Check; path: string; text: string; what: RegExp }[] = [
    {
      check: direction,
      path: "src/kernel/a.ts",
      text: `import { x } from "../stores/store.ts";`,
      what: /may not see stores/,
    },
    {
      check: direction,
      path: "src/kernel/a.ts",
      text: `import type { X } from "../engine/x.ts";`,
      what: /may not see engine/,
    },
    { check: direction, path: "src/stores/mysql/a.ts", text: `import { Pool } from "pg";`, what: /only src\/stores/ },
    {
      check: direction,
      path: "src/base/a.ts",
      text: `export { x } from "../kernel/event.ts";`,
      what: /may not see kernel/,
    },
    {
      check: direction,
      path: "src/base/a.ts",
      text: `const a = await import("../kernel/event.ts");`,
      what: /may not see/,
    },
    {
      check: direction,
      path: "src/base/a.ts",
      text: `type A = import("../kernel/event.ts").Event;`,
      what: /may not see/,
    },
    { check: direction, path: "src/kernel/a.ts", text: `import fs from "node:fs";`, what: /nothing of Node's/ },
    { check: direction, path: "src/kernel/dag/a.ts", text: `import "../replay/b.ts";`, what: /do not know each other/ },
    {
      check: direction,
      path: "src/stores/sql/a.ts",
      text: `import "../sqlite/b.ts";`,
      what: /do not know each other/,
    },
    {
      check: direction,
      path: "src/stores/memory/a.ts",
      text: `import "../sqlite/b.ts";`,
      what: /do not know each other/,
    },
    { check: direction, path: "src/runtime/a.ts", text: `import "../stores/sqlite/b.ts";`, what: /only the interface/ },
    { check: direction, path: "src/engine/a.ts", text: `import "../stores/memory/b.ts";`, what: /only the interface/ },
    { check: direction, path: "src/engine/a.ts", text: `import { Engine } from "../index.ts";`, what: /door/ },
    { check: direction, path: "src/engine/a.ts", text: `import { z } from "zod";`, what: /only src\/api/ },
    {
      check: direction,
      path: "src/engine/a.ts",
      text: `import x from "left-pad";`,
      what: /not among the dependencies/,
    },
    { check: direction, path: "src/engine/a.ts", text: `import "../base/clock.test.ts";`, what: /a test/ },
    { check: direction, path: "src/engine/a.ts", text: `import "../base/clock.rig.ts";`, what: /a test/ },
    { check: direction, path: "src/engine/a.ts", text: `import "../../tests/tidy/source.ts";`, what: /outside src/ },
    { check: direction, path: "src/engine/a.rig.ts", text: `import "../../tests/a.ts";`, what: /outside src/ },
    { check: direction, path: "src/engine/a.test.ts", text: `import "./b.test.ts";`, what: /share is in a \*\.rig/ },
    { check: direction, path: "src/novelty/a.ts", text: `import "../base/clock.ts";`, what: /no line in the table/ },
    { check: kernelPurity, path: "src/kernel/a.ts", text: `export const now = () => Date.now();`, what: /^Date/ },
    { check: kernelPurity, path: "src/kernel/a.ts", text: `export const now = new Date();`, what: /^Date/ },
    { check: kernelPurity, path: "src/kernel/a.ts", text: `const chance = Math.random();`, what: /^Math\.random/ },
    { check: kernelPurity, path: "src/kernel/a.ts", text: `const chance = Math["random"]();`, what: /^Math\.random/ },
    { check: kernelPurity, path: "src/kernel/a.ts", text: `setTimeout(f, 1);`, what: /^setTimeout/ },
    { check: kernelPurity, path: "src/kernel/a.ts", text: `if (process.pid) f({ console });`, what: /^process/ },
    { check: kernelPurity, path: "src/kernel/a.ts", text: `f({ console });`, what: /^console/ },
    { check: kernelPurity, path: "src/kernel/a.ts", text: `export async function f() {}`, what: /^async/ },
    { check: kernelPurity, path: "src/kernel/a.ts", text: `class A { async f() {} }`, what: /^async/ },
    { check: kernelPurity, path: "src/kernel/a.ts", text: `await f();`, what: /^await/ },
    { check: kernelPurity, path: "src/kernel/a.ts", text: `for await (const a of b) f(a);`, what: /^for await/ },
    { check: kernelPurity, path: "src/kernel/a.ts", text: `function f(): Promise<void> {}`, what: /^Promise/ },
    { check: shape, path: "src/a.ts", text: `export default 1;`, what: /default export/ },
    { check: shape, path: "src/a.ts", text: `export * from "./b.ts";`, what: /export \*/ },
    { check: shape, path: "src/a.ts", text: `enum A { B }`, what: /enum/ },
    { check: shape, path: "src/a.ts", text: `class A { private b = 1; }`, what: /private/ },
    { check: shape, path: "src/a.ts", text: `const a = b as any;`, what: /as any/ },
    { check: shape, path: "src/a.ts", text: `try { f(); } catch {}`, what: /empty catch/ },
    { check: shape, path: "src/a.test.ts", text: `test.only("a", f);`, what: /only/ },
    { check: shape, path: "src/a.ts", text: `new URL("./b.ts", import.meta.url);`, what: /URL/ },
    {
      check: citations,
      path: "src/a.test.ts",
      text: `test("4.99 waits for a slot", f);`,
      what: /cites 4\.99, which docs\/specification\.md/,
    },
    { check: citations, path: "src/a.test.ts", text: "describe(`99.1 a ${b}`, f);", what: /cites 99\.1/ },
    { check: citations, path: "tests/a.test.ts", text: `await t.test("4.99 and so on", f);`, what: /cites 4\.99/ },
    { check: citations, path: "tests/engine/spec-99-a.test.ts", text: `f();`, what: /cites 99/ },
    { check: citations, path: "tests/a.ts", text: `/** Spec §4.3–§4.99: attempts. */`, what: /cites 4\.99/ },
    { check: citations, path: "tests/a.ts", text: `/** Spec 99: attempts. */`, what: /cites 99/ },
    { check: comments, path: "src/a.ts", text: `f(); // TODO later`, what: /note to oneself/ },
    { check: comments, path: "src/a.ts", text: `/* FIXME */ f();`, what: /note to oneself/ },
    { check: comments, path: "src/a.ts", text: `// @ts-ignore\nf();`, what: /switched off/ },
    { check: comments, path: "src/a.ts", text: `// @ts-expect-error\nf();`, what: /without its reason/ },
    {
      check: comments,
      path: "src/a.ts",
      text: `// oxlint-disable-next-line no-console\nf();`,
      what: /without its reason/,
    },
  ];
  for (const { check, path, text, what } of planted) {
    test(`${path}: ${text.replaceAll("\n", " ⏎ ")}`, () => {
      const found = check(parse(path, text));
      assert.ok(
        found.some((finding) => what.test(finding.what.replace(/^imports \S+: /, ""))),
        `found ${JSON.stringify(found)}`,
      );
    });
  }

  test("a function that is too long, wherever it hides", () => {
    const body = "f();\n".repeat(70);
    const text = `class Shard {\n  #open() {\n${body}}\n}\nexport const make = () => {\n${body}};\nfunction short() {}`;
    const found = longFunctions(parse("src/a.ts", text));
    assert.deepEqual(found, [
      { path: "src/a.ts", name: "Shard.#open", lines: 72, line: 2 },
      { path: "src/a.ts", name: "make", lines: 72, line: 75 },
    ]);
    assert.equal(ratchet(found, []).length, 2);
    const list = readList("# known\nsrc/a.ts Shard.#open 72\nsrc/a.ts make 71\nsrc/a.ts gone 90\n");
    assert.deepEqual(
      ratchet(found, list).map((each) => each.what),
      ["make grew from 71 lines to 72", "gone shrank: let its line in the list follow"],
    );
  });

  test("a number that the specification defines twice, and a line that no test cites", () => {
    assert.throws(() => readSpecification("## 4. A\n\n### 4.1 B\n\nb\n\n### 4.1 C\n\nc\n"), /defines 4\.1 twice/);
    const lines = ["4.1 A\n\na", "4.2 B\n\nb", "4.3 C\n\nc", "4.4 D\n\nd", "4.5 E\n\n**Planned.** e", "4.6 F\n\nf"];
    const planted = readSpecification(lines.map((line) => `### ${line}\n`).join("\n"));
    const source = parse("tests/a.test.ts", `/** Spec §4.2–§4.4 */ test("4.1 a", f); // §4`);
    assert.deepEqual(
      uncitedLines(planted, [source]).map(({ what }) => what),
      ["4.6 is cited by no test"],
    );
  });

  test("file names", () => {
    for (const path of [
      "src/Engine.ts",
      "src/shardLease.ts",
      "src/shard_lease.ts",
      "src/base/utils.ts",
      "tests/types.ts",
    ]) {
      assert.equal(fileName(path).length, 1, path);
    }
  });

  test("places", () => {
    // Put together here, because this file is read too.
    const planted = [
      "https://regi|stry.example.org/x",
      "regi|stry=x",
      '"resol|ved": "http://x"',
      "in /ro|ot/x",
      "<<<|<<<< HEAD",
    ];
    for (const text of planted) assert.equal(places("a", text.replace("|", "")).length, 1, text);
  });
});

describe("what is allowed is left alone:", () => {
  const allowed: readonly { check: Check; path: string; text: string }[] = [
    { check: direction, path: "src/sqlite.ts", text: `import { a } from "./stores/sqlite/sqlite-store.ts";` },
    { check: direction, path: "src/runtime/a.ts", text: `import type { Store } from "../stores/store.ts";` },
    { check: direction, path: "src/runtime/a.ts", text: `import { parse } from "@marcbachmann/cel-js/evaluate";` },
    { check: direction, path: "src/kernel/dag/a.ts", text: `import { e } from "../event.ts"; import "./b.ts";` },
    {
      check: direction,
      path: "src/kernel/a.test.ts",
      text: `import test from "node:test"; import "../stores/memory/a.ts"; import "./a.rig.ts";`,
    },
    {
      check: direction,
      path: "src/kernel/a.ts",
      text: `const text = 'import "../engine/x.ts"'; // import "../engine/x.ts"`,
    },
    {
      check: kernelPurity,
      path: "src/kernel/a.ts",
      text: `interface A { process: 1; Date(): 2 } a.process; f({ Date: 1 });`,
    },
    {
      check: kernelPurity,
      path: "src/kernel/a.ts",
      text: `/** Date, Promise, await */ const a = "process" + Math.max(1);`,
    },
    { check: kernelPurity, path: "src/kernel/a.test.ts", text: `await Promise.resolve(Date.now());` },
    { check: kernelPurity, path: "src/engine/a.ts", text: `export const now = () => Date.now();` },
    { check: shape, path: "src/a.ts", text: `try { f(); } catch { /* it was gone already */ }` },
    { check: shape, path: "src/a.ts", text: `const a = { enum: 1, default: 2 } as const; class B { #c = "as any"; }` },
    { check: shape, path: "src/a.ts", text: `new URL("./queries/a.sql", import.meta.url);` },
    {
      check: citations,
      path: "src/a.test.ts",
      text: `test("4.4 retries", f); test("10 MB", f); test("1000 tasks", f);`,
    },
    {
      check: citations,
      path: "tests/engine/spec-4-a.test.ts",
      text: `/** Spec §4 and §4.3. */ f("99.1 is no title");`,
    },
    { check: citations, path: "src/a.ts", text: `/** RFC 9110 §99.1 */` },
    { check: comments, path: "src/a.ts", text: `// @ts-expect-error: params do not fit\nf("TODO");` },
    { check: comments, path: "src/a.ts", text: `// oxlint-disable-next-line no-console -- this is the terminal\nf();` },
  ];
  for (const { check, path, text } of allowed) {
    test(`${path}: ${text.replaceAll("\n", " ⏎ ")}`, () => none(check(parse(path, text))));
  }

  test("file names", () => {
    none(
      [
        "src/shard-lease.test.ts",
        "src/shard-lease.rig.ts",
        "src/a/0001_first-tables.sql",
        "tests/histories/0.1.0-chain.json",
        "examples/README.md",
      ].flatMap(fileName),
    );
  });

  test("places", () => {
    none(
      ["https://nodejs.org/api", "the registry of jobs", "/tmp/x", "../home/x/", "=======", "job-registry.ts"].flatMap(
        (text) => places("a", text),
      ),
    );
  });
});

function none(findings: readonly Finding[]): void {
  assert.equal(findings.map(({ path, line, what }) => `${path}:${line} ${what}`).join("\n"), "");
}

function find(patterns: string[]): string[] {
  return globSync(patterns, { cwd: root, withFileTypes: true, exclude: ({ name }) => name === "node_modules" })
    .filter((entry) => entry.isFile())
    .map((entry) =>
      join(entry.parentPath, entry.name)
        .slice(root.length + 1)
        .replaceAll("\\", "/"),
    )
    .filter((path) => !path.endsWith(".tgz"))
    .toSorted();
}

function read(path: string): string {
  return readFileSync(join(root, path), "utf8");
}
