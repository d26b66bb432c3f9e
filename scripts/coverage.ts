/**
 * `npm run coverage`: every test under Node's own coverage, then the gates. The kernel is pure, so nothing in it is hard
 * to reach: all of it. The rest has branches that only a broken disk takes: nine tenths.
 */
import { globSync, mkdirSync, readFileSync } from "node:fs";
import { stripTypeScriptTypes } from "node:module";
import { join } from "node:path";
import { add, nothing, percent, ranges, readLcov } from "./lcov.ts";
import type { Covered } from "./lcov.ts";
import { root } from "./run.ts";
import { withTestServers } from "./servers/test-servers.ts";
import { allTests, runTests } from "./test-runner.ts";

const gates = [
  { name: "kernel", percentMin: 100, has: (file: string) => file.startsWith("src/kernel/") },
  { name: "the rest of src", percentMin: 90, has: (file: string) => !file.startsWith("src/kernel/") },
];

mkdirSync(join(root, "coverage"), { recursive: true });
const passed = await withTestServers(() =>
  runTests(allTests, [
    "--experimental-test-coverage",
    "--test-coverage-include=src/**/*.ts",
    "--test-coverage-exclude=src/**/*.test.ts",
    "--test-coverage-exclude=src/**/*.rig.ts",
    "--test-reporter=dot",
    "--test-reporter-destination=stdout",
    "--test-reporter=lcov",
    "--test-reporter-destination=coverage/lcov.info",
  ]),
);
if (!passed) fail("a test failed");

const covered = readLcov(readFileSync(join(root, "coverage/lcov.info"), "utf8"), root);
for (const file of sources()) if (!covered.has(file)) fail(`no test loads ${file}`);

for (const gate of gates) {
  const files = [...covered].filter(([file]) => gate.has(file));
  const sum = files.reduce((sum, [, file]) => add(sum, file), nothing());
  console.log(`${gate.name} (${files.length} files): ${inWords(sum)}`);
  for (const [file, part] of files) {
    if (worst(part) < gate.percentMin) console.log(`  ${file}: ${inWords(part)}; see ${ranges(part.missed)}`);
  }
  if (worst(sum) < gate.percentMin) fail(`${gate.name} is below ${gate.percentMin} %`);
}

/** Files with something in them to run: those of types alone are never loaded. */
function sources(): string[] {
  return globSync("src/**/*.ts", { cwd: root })
    .map((file) => file.replaceAll("\\", "/"))
    .filter((file) => !/\.(?:test|rig)\.ts$/.test(file) && hasCode(readFileSync(join(root, file), "utf8")));
}

function hasCode(source: string): boolean {
  const code = stripTypeScriptTypes(source)
    .replaceAll(/\/\*[\s\S]*?\*\/|\/\/.*/g, "")
    .replaceAll(/export\s*\{\s*\};?/g, "");
  return code.replaceAll(/[\s;]/g, "") !== "";
}

function worst(part: Covered): number {
  return Math.min(percent(part.lines), percent(part.branches), percent(part.functions));
}

function inWords(part: Covered): string {
  const kinds = ["lines", "branches", "functions"] as const;
  return kinds.map((kind) => `${kind} ${percent(part[kind]).toFixed(2)} %`).join(", ");
}

function fail(why: string): void {
  console.error(`Failed: ${why}.`);
  process.exitCode = 1;
}
