/** docs/api/ is what the sources say, and every public name says what it is. */
import assert from "node:assert/strict";
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { before, describe, test } from "node:test";
import { readDoors } from "../../scripts/api-reference/api-reference.ts";
import { Declarations } from "../../scripts/api-reference/declarations.ts";
import { type Door, indexOf, pageOf } from "../../scripts/api-reference/page.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const folder = join(import.meta.dirname, "../../docs/api");

describe("the API reference", () => {
  let doors: readonly Door[] = [];
  before(async () => {
    doors = await readDoors();
  });

  test("is up to date: node scripts/api-reference.ts", () => {
    const pages = new Map([
      ["README.md", indexOf(doors)],
      ...doors.map((door) => [door.page, pageOf(door, doors)] as const),
    ]);
    assert.ok(pages.size > 10);
    assert.deepEqual(readdirSync(folder).toSorted(), [...pages.keys()].toSorted());
    for (const [name, text] of pages) {
      assert.equal(readFileSync(join(folder, name), "utf8"), text, `docs/api/${name} is older than the sources`);
    }
  });

  test("has a comment for every name of every door", () => {
    const names = doors.flatMap((door) =>
      door.declarations.map(({ name, doc }) => ({ name: `${door.name} ${name}`, doc })),
    );
    assert.ok(names.length > 150);
    assert.deepEqual(
      names.filter(({ doc }) => doc === "").map(({ name }) => name),
      [],
    );
  });

  test("says of every door what it is for", () => {
    for (const [, purpose = ""] of indexOf(doors).matchAll(/^\| \[.*\]\(.*\) \| (.*) \|$/gm)) {
      assert.match(purpose, /^[A-Z].{20,}\.$/);
    }
  });
});

describe("what the reference reads", () => {
  const written = (t: Parameters<typeof temporaryFolder>[0]): string => {
    const root = temporaryFolder(t);
    mkdirSync(join(root, "parts"));
    writeFileSync(
      join(root, "door.d.ts"),
      `/** A greeting. */\nexport { greet as hello } from "./parts/greet.ts";\nexport type { Loud } from "./parts/greet.ts";\n`,
    );
    writeFileSync(
      join(root, "parts/greet.d.ts"),
      `import type { Base } from "./base.ts";
/** Greets. */
export declare function greet(name: string): string;
export declare function greet(name: string, times: number): string;
export interface Loud extends Base {
    /** How loud it is. */
    readonly volume: import("./base.ts").Volume;
}
`,
    );
    writeFileSync(
      join(root, "parts/base.d.ts"),
      `export type Volume = 1 | 2;
export interface Base {
    readonly id: string;
}
`,
    );
    return root;
  };

  test("a name is followed to its declaration; overloads are one", (t) => {
    const root = written(t);
    const declarations = new Declarations(root);
    assert.deepEqual(declarations.namesOf(join(root, "door.d.ts")), ["hello", "Loud"]);
    assert.deepEqual(
      declarations.read(join(root, "door.d.ts"), "hello", () => true),
      {
        name: "hello",
        kind: "function",
        file: "src/parts/greet.ts",
        doc: "Greets.",
        signatures: ["function greet(name: string): string", "function greet(name: string, times: number): string"],
        members: [],
      },
    );
  });

  test("members of a parent that users cannot import are those of its heir", (t) => {
    const root = written(t);
    const door = join(root, "door.d.ts");
    const membersOf = (isPublic: boolean): string[] =>
      new Declarations(root).read(door, "Loud", () => isPublic).members.map(({ signature }) => signature);
    assert.deepEqual(membersOf(true), ["readonly volume: Volume"]);
    assert.deepEqual(membersOf(false), ["readonly id: string", "readonly volume: Volume"]);
  });
});
