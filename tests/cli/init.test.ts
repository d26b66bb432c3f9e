/** `heddle init`: the project that it makes compiles, passes its tests, and runs. */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import { promisify } from "node:util";
import packageJson from "../../package.json" with { type: "json" };
import { begin, heddle, root } from "./program.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const run = promisify(execFile);

/** The sources stand in for the package. */
function linkPackage(project: string): void {
  const folder = join(project, "node_modules/heddle");
  mkdirSync(folder, { recursive: true });
  symlinkSync(join(root, "src"), join(folder, "src"), "junction");
  const doors = Object.keys(packageJson.exports).filter((door) => !door.endsWith(".json"));
  const source = (door: string): string => `./src/${door === "." ? "index" : door.slice(2)}.ts`;
  const exported = Object.fromEntries(doors.map((door) => [door, source(door)]));
  writeFileSync(join(folder, "package.json"), JSON.stringify({ name: "heddle", type: "module", exports: exported }));
  symlinkSync(join(root, "node_modules/@types"), join(project, "node_modules/@types"), "junction");
}

describe("heddle init", () => {
  test("makes a project that compiles, passes its tests and runs", async (t) => {
    const folder = temporaryFolder(t);
    const made = await heddle(["init", "My Flows"], { cwd: folder });
    assert.equal(made.code, 0, made.stderr);
    assert.match(made.stdout, /Next: cd 'My Flows' && npm install "\$\(npm pack --silent \S+\)" && npm start/);
    const project = join(folder, "My Flows");
    const { name, scripts } = JSON.parse(readFileSync(join(project, "package.json"), "utf8")) as {
      name: string;
      scripts: Record<string, string>;
    };
    assert.deepEqual([name, scripts["start"]], ["my-flows", "heddle dev app.ts"]);
    // The program says which Node it needs, where "node --test" of an older one finds no tests and is content.
    assert.equal(scripts["pretest"], "heddle --version");
    linkPackage(project);

    // The sources that stand in for the package are written for the stricter setting.
    const tsc = [join(root, "node_modules/typescript/bin/tsc"), "--exactOptionalPropertyTypes"];
    await run(process.execPath, tsc, { cwd: project });
    // Within a test, node would take the inner tests for its own.
    const { NODE_TEST_CONTEXT: _outer, ...env } = process.env;
    const tested = await run(process.execPath, ["--test"], { cwd: project, env });
    assert.match(tested.stdout, /pass 2/);

    const dev = begin(t, ["dev", "app.ts", "--port", "0"], { cwd: project });
    const [url] = await dev.says(/http:\/\/\S+/);
    const ran = await heddle(["run", "welcome", "--input", '{"name":"Ada"}', "--json", "--url", url]);
    assert.equal(ran.code, 0, ran.stderr);
    assert.equal((JSON.parse(ran.stdout) as { output: string }).output, "Hello, Ada! Good to have you here.");
    assert.match((await heddle(["run", "hello", "--url", url])).stdout, /HELLO, WORLD!/);
  });

  test("says in words that its folder is a file", async (t) => {
    const folder = temporaryFolder(t);
    writeFileSync(join(folder, "taken"), "mine");
    const { code, stderr } = await heddle(["init", "taken"], { cwd: folder });
    assert.equal(code, 1);
    assert.match(stderr, /taken is a file; name a new folder/);
  });

  test("leaves a folder alone that is not empty", async (t) => {
    const folder = temporaryFolder(t);
    writeFileSync(join(folder, "precious.txt"), "mine");
    const { code, stderr } = await heddle(["init"], { cwd: folder });
    assert.equal(code, 1);
    assert.match(stderr, /not empty.*precious\.txt/);
    const made = await heddle(["init", "new", "--json"], { cwd: folder });
    const { files } = JSON.parse(made.stdout) as { files: string[] };
    assert.deepEqual(files, [
      "package.json",
      "tsconfig.json",
      "app.ts",
      "app.test.ts",
      "README.md",
      ".gitignore",
      ".dockerignore",
    ]);
  });
});
