/** The files of deploy/ name settings, paths and files that exist. */
import assert from "node:assert/strict";
import { existsSync, globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";

const root = join(import.meta.dirname, "../..");
const read = (path: string): string => readFileSync(join(root, path), "utf8");
const files = globSync(["deploy/Containerfile", "deploy/*.yaml", "deploy/systemd/*"], { cwd: root });

test("the files of deploy/ name variables that the server reads", () => {
  const known = new Set([...(read("docs/configuration.md").match(/HEDDLE_\w+/g) ?? []), "HEDDLE_TOKEN"]);
  const named = files.flatMap((path) => read(path).match(/\bHEDDLE_[A-Z_]+/g) ?? []);
  assert.ok(named.length > 5 && files.length >= 4);
  assert.deepEqual(
    named.filter((name) => !known.has(name)),
    [],
  );
});

test("the files of deploy/ ask for the health of the server under its paths", () => {
  const routes = read("src/server/routes/actuator-routes.ts");
  const paths = files.flatMap((path) => read(path).match(/\/actuator\/[\w/]+/g) ?? []);
  assert.ok(paths.length >= 4);
  for (const path of paths) assert.ok(routes.includes(`"${path}"`), path);
});

test("the files of deploy/ name files that are there", () => {
  const paths = files.flatMap((path) => read(path).match(/\bdeploy\/\w[\w/.-]*\w/g) ?? []);
  for (const path of paths) assert.ok(existsSync(join(root, path)), path);
});
