/**
 * What the doors give to users, beside a checked-in list: a name more or less is a visible change of
 * tests/public-api.txt. `UPDATE=1 npm test -- tests/public-api.test.ts` writes the list anew.
 */
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import { pathToFileURL } from "node:url";
import { parseSync } from "oxc-parser";
import packageJson from "../package.json" with { type: "json" };

const root = join(import.meta.dirname, "..");
const listPath = join(root, "tests/public-api.txt");

interface Door {
  /** As users import it: `heddle/dag`. */
  readonly name: string;
  readonly source: string;
}

const doors: readonly Door[] = Object.entries(packageJson.exports).flatMap(([subpath, target]) =>
  typeof target === "string"
    ? []
    : [{ name: join("heddle", subpath), source: target.default.replace(/^\.\/dist\/(.+)\.js$/, "src/$1.ts") }],
);

describe("the public doors", () => {
  test("give the names of the checked-in list", () => {
    assert.ok(doors.length > 0);
    const actual = doors
      .map((door) => [door.name, ...namesOf(door).map((name) => `  ${name}`)].join("\n"))
      .join("\n\n");
    if (process.env["UPDATE"] === "1") writeFileSync(listPath, `${actual}\n`);
    assert.equal(`${actual}\n`, readFileSync(listPath, "utf8"));
  });

  for (const door of doors) {
    test(`${door.name} has at run time what it names`, async () => {
      const module = (await import(pathToFileURL(join(root, door.source)).href)) as object;
      const values = namesOf(door).filter((name) => !name.startsWith("type "));
      assert.deepEqual(Object.keys(module).toSorted(), values.toSorted());
      assert.ok(values.length > 0);
    });
  }
});

/** Read from the text, because types leave no trace at run time. Types are marked. */
function namesOf(door: Door): string[] {
  const { module } = parseSync(door.source, readFileSync(join(root, door.source), "utf8"));
  const names = module.staticExports
    .flatMap((each) => each.entries)
    .map((entry) => `${entry.isType ? "type " : ""}${entry.exportName.name ?? "*"}`);
  // Overloads have one name several times.
  return [...new Set(names)].toSorted((a, b) => bare(a).localeCompare(bare(b), "en"));
}

function bare(name: string): string {
  return name.replace(/^type /, "");
}
