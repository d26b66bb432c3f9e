/**
 * A plain test that reads the sources. It holds what compiler and linter do not: who may import whom, functions that
 * must not grow, a kernel without clock, chance or waiting. Each check is proved on planted violations first.
 */
import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import { cycleRatchet, fileCycles, folderCycles, readCycles } from "./tidy/cycles.ts";
import { contributing, importTable, withImportTable } from "./tidy/documents.ts";
import { longFunctions, ratchet, readList } from "./tidy/function-length.ts";
import { importDirection, mayImport } from "./tidy/import-direction.ts";
import { kernelPurity } from "./tidy/kernel-purity.ts";
import { fileName, shape } from "./tidy/shape.ts";
import { readLarge, sizeRatchet, sizes } from "./tidy/sizes.ts";
import { parse } from "./tidy/source.ts";
import type { Check, Finding, Source } from "./tidy/source.ts";
import { readSpecification, uncitedLines, undefinedCitations } from "./tidy/specification.ts";
import { thrownCodes } from "./tidy/thrown-codes.ts";
import { unusedExports } from "./tidy/unused-exports.ts";
import { actionNames } from "./tidy/action-names.ts";
import { glossary, vocabulary } from "./tidy/vocabulary.ts";
import { comments, places } from "./tidy/words.ts";

const root = join(import.meta.dirname, "..");
const packageJson = JSON.parse(read("package.json")) as { dependencies?: Record<string, string> };
const packages = { dependencies: Object.keys(packageJson.dependencies ?? {}) };
const direction: Check = (source) => importDirection(source, packages);

const specification = readSpecification(read("docs/specification.md"));
const citations = undefinedCitations(specification);

const folders = ["src", "tests", "bench", "examples", "scripts", "console"];
const files = find(folders.map((folder) => `${folder}/**/*`));
const sources = files.filter((path) => /\.tsx?$/.test(path)).map((path) => parse(path, read(path)));

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

  test("have no class or file that grew past its limit", () => {
    none(sizeRatchet(sources.flatMap(sizes), readLarge(read("tests/tidy/large.txt"))));
  });

  test("import each other in no circle, be it by type", () => {
    const known = readCycles(read("tests/tidy/known-cycles.txt"));
    none(cycleRatchet([...fileCycles(sources), ...folderCycles(sources)], known));
  });

  test("export nothing that only tests use", () => none(unusedExports(sources)));
  test("promise no error that is not thrown", () => none(thrownCodes(sources)));
  test("use the field's words", () => none(sources.flatMap(vocabulary)));
  test("name actions by verbs", () => none(sources.flatMap(actionNames)));
  test("of tests have tests in them: what tests share is in a *.rig.ts", () => none(sources.flatMap(holdsTests)));

  test("name no place that only their writer has", () => {
    const all = [...files, ...find(["*", ".*", ".ci/*", "docs/**/*"])];
    assert.ok(all.includes("package-lock.json") && all.includes(".npmrc"));
    none(all.flatMap((path) => places(path, read(path))));
  });
});

describe("the documents", () => {
  test("have who may import whom as it is tested", () => none(importTable(read("ARCHITECTURE.md"))));
  test("explain our own terms, and no others", () => none(glossary(read("docs/glossary.md"), sources)));
  test("tell contributors of every folder, and of files that are there", () => {
    none(contributing(read("CONTRIBUTING.md"), Object.keys(mayImport), new Set([...files, ...find(["docs/**/*"])])));
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
    { check: vocabulary, path: "src/a.ts", text: `class MessageCourier {}`, what: /courier is router/ },
    { check: vocabulary, path: "src/a.ts", text: `class A { #pen = 1; }`, what: /pen is fencing token/ },
    { check: vocabulary, path: "src/caretaker.ts", text: `f();`, what: /caretaker is maintenance/ },
    { check: actionNames, path: "src/a.ts", text: `class A { #ended(): void {} }`, what: /ended is an action/ },
    { check: actionNames, path: "src/a.ts", text: `class A { async settled(): Promise<void> {} }`, what: /settled is/ },
    {
      check: actionNames,
      path: "src/a.ts",
      text: `class A { readonly movedTo = (b: B): void => f(b); }`,
      what: /movedTo/,
    },
    { check: actionNames, path: "src/a.ts", text: `interface A { started(b: B): void }`, what: /started is an action/ },
    { check: actionNames, path: "src/a.ts", text: `interface A { readonly lifted: () => void }`, what: /lifted is/ },
    { check: actionNames, path: "src/a.ts", text: `function consumed(a: A): void {}`, what: /consumed is an action/ },
    { check: holdsTests, path: "src/a.test.ts", text: `export const rig = test;`, what: /no tests/ },
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

  test("classes and files that are too large", () => {
    const methods = Array.from({ length: 41 }, (_, number) => `  f${number}() {}\n`).join("");
    const fields = Array.from({ length: 21 }, (_, number) => `  #a${number} = 1;\n`).join("");
    const text = `export class A {\n  constructor() {}\n${methods}${fields}}\n${"f();\n".repeat(436)}`;
    const found = sizes(parse("src/a.ts", text));
    assert.deepEqual(
      found.map(({ name, what, count }) => `${name} ${what} ${count}`),
      ["file lines 501", "A methods 41", "A fields 21"],
    );
    assert.equal(sizeRatchet(found, []).length, 3);
    const list =
      "src/a.ts A methods 41 -- b\nsrc/a.ts A fields 20 -- c\nsrc/a.ts file lines 600\nsrc/b.ts B fields 30 -- d\n";
    assert.deepEqual(
      sizeRatchet(found, readLarge(list)).map(({ what }) => what),
      [
        "A has 21 fields; at most 20 are allowed",
        "file is on the list of large ones without a reason",
        "B has no more than 20 fields: take it off the list",
      ],
    );
  });

  test("files that import each other, by type too, and folders that do", () => {
    const planted = [
      parse("src/a/a.ts", `import type { B } from "./b.ts";`),
      parse("src/a/b.ts", `import { c } from "./c/c.ts"; import "./d.test.ts";`),
      parse("src/a/c/c.ts", `type A = import("../a.ts").A;`),
      parse("src/a/d.test.ts", `import "./a.ts";`),
      parse("src/a/e/e.ts", `import "../c/f.ts";`),
      parse("src/a/c/f.ts", `import "../e/g.ts";`),
      parse("src/a/e/g.ts", `import "../../base/h.ts";`),
    ];
    const cycle = ["src/a/a.ts", "src/a/b.ts", "src/a/c/c.ts"];
    assert.deepEqual(fileCycles(planted), [cycle]);
    assert.deepEqual(folderCycles(planted.slice(0, 3)), [["src/a", "src/a/c"]]);
    assert.deepEqual(folderCycles(planted.slice(4)), [["src/a/c", "src/a/e"]]);
    assert.equal(cycleRatchet([cycle], []).length, 1);
    assert.deepEqual(cycleRatchet([cycle], readCycles(`# known\n${cycle.join(" ")} -- recursive types\n`)), []);
    assert.deepEqual(
      cycleRatchet([cycle.slice(0, 2)], readCycles(cycle.join(" "))).map(({ what }) => what),
      ["is in a known cycle without a reason", "take off the list what is in no cycle: src/a/c/c.ts"],
    );
  });

  test("exports that nothing, or only a test, uses", () => {
    const text = `export const a = 1; /* dead */ export const dead = 2; export interface T {} export function f(t: T) {} const b = 1; export { b };`;
    const planted = [
      parse("src/a/a.ts", text),
      parse("src/a/b.ts", `import { a, f } from "./a.ts";`),
      parse("src/a/a.test.ts", `import { dead } from "./a.ts";`),
      parse("src/door.ts", `export { x } from "./a/c.ts"; export const y = 1;`),
      parse("src/a/c.ts", `export const x = 1;`),
      parse("src/a/d.ts", `export const all = 1;`),
      parse("src/a/e.ts", `import * as d from "./d.ts";`),
    ];
    assert.deepEqual(
      unusedExports(planted).map(({ path, what }) => `${path} ${what}`),
      ["src/a/a.ts exports dead, which nothing in the product uses"],
    );
  });

  test("error codes that are promised and not thrown", () => {
    const planted = [
      parse(
        "src/a/a.ts",
        `import { b } from "./b.ts"; /** Throws SCHEDULE_INVALID, TASK_INVALID, or \`TASK_UNKNOWN\`. */ f();`,
      ),
      parse("src/a/b.ts", `throw new EngineError("SCHEDULE_INVALID");`),
      parse("src/a/c.ts", `import { a } from "./a.ts"; give("TASK_UNKNOWN");`),
      parse(
        "src/a/d.ts",
        `/** Throws OPTION_INVALID; TOKEN_LAST; NOT_OURS */ throw new EngineError("SCHEDULE_INVALID");`,
      ),
    ];
    assert.deepEqual(
      thrownCodes(planted).map(({ path, what }) => `${path} ${what.slice(0, 25)}`),
      [
        "src/a/a.ts promises TASK_INVALID, wh",
        "src/a/d.ts promises OPTION_INVALID, ",
        "src/a/d.ts promises TOKEN_LAST, whic",
      ],
    );
  });

  test("documents that say something else than the sources", () => {
    const table = { up: ["down", "stores"], down: [], stores: [] };
    const text = "| `src/down/` | d | nothing |\n| `src/up/` | u | all |\n| `src/gone/` | g | x |\n";
    assert.deepEqual(
      importTable(text, table).map(({ what }) => what),
      [
        "src/up/ imports from src/down/, which stands above it",
        "src/stores/ is not in the table of folders",
        "src/gone/ is in the table, but is no folder",
        "its table is not what is tested: node scripts/import-table.ts",
      ],
    );
    assert.match(withImportTable(text, table), /\| `src\/up\/` \| u \| down, stores' interface \|/);
    const guide = "`src/a/` and `tests/gone.ts`, `docs/b/`";
    assert.deepEqual(
      contributing(guide, ["a", "c"], new Set(["src/a/a.ts"])).map(({ what }) => what),
      [
        "does not say what is in src/c/",
        "names tests/gone.ts, which is not there",
        "names docs/b/, which is not there",
      ],
    );
    const words = "| word | meaning | elsewhere |\n|---|---|---|\n| turn | a | b |\n| letter | a | b |\n";
    assert.deepEqual(
      glossary(words, [parse("src/a.ts", "turn();")], ["turn", "epoch"]).map(({ what }) => what),
      [
        "has no entry for epoch",
        "letter is none of our own terms",
        "letter is out of order",
        "epoch does not occur in the code",
      ],
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
    { check: vocabulary, path: "src/a.ts", text: `const open = "the pen"; // parked` },
    {
      check: actionNames,
      path: "src/a.ts",
      text: `class A { onEnded(): void {} succeed(): void {} whenSettled(): Promise<void> {} }`,
    },
    { check: actionNames, path: "src/a.ts", text: `function sorted(a: A[]): A[] {} function refused(): Error {}` },
    { check: actionNames, path: "src/a.rig.ts", text: `class A { ended(): void {} }` },
    { check: holdsTests, path: "src/a.test.ts", text: `describe("a", () => { test("b", f); });` },
    { check: holdsTests, path: "src/a.rig.ts", text: `export const a = 1;` },
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

/** A file that the runner runs has something to run: a call of `test`, `describe`, or of a suite that makes tests. */
function holdsTests(source: Source): Finding[] {
  const isRun = source.path.endsWith(".test.ts");
  return isRun && !/\b(?:test|it|describe|suite|\w+Suite|\w+Tests|\w+Contract)(?:\.\w+)?\(/.test(source.text)
    ? [{ path: source.path, line: 0, what: "has no tests in it: call it *.rig.ts" }]
    : [];
}

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
