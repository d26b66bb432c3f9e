import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { checkWorkflowName, nameProblem } from "./workflow-name.ts";

describe("the name of a workflow", () => {
  for (const name of [
    "etl",
    "Nightly load",
    "é",
    "日次",
    "a.b",
    "a..b",
    "com",
    "console",
    "x".repeat(200),
    "-rf",
    "~",
  ]) {
    test(`${JSON.stringify(name.slice(0, 20))} is one`, () => assert.equal(nameProblem(name), undefined));
  }

  const leaving = [
    "",
    " ",
    ".",
    "..",
    "../x",
    "a/b",
    "/etc/passwd",
    "a\\b",
    "\\\\host\\share",
    "C:",
    "c:x",
    "a\0b",
    "a\nb",
  ];
  const special = [".git", ".heddle", "con", "NUL", "nul.txt", "com1", "LPT9.x", "a.", "a ", " a"];
  const noNames = ["x".repeat(201), "é".repeat(101), "\ud800", undefined, null, 7, {}];
  const refused: readonly unknown[] = [...leaving, ...special, ...noNames];
  for (const name of refused) {
    test(`${JSON.stringify(name)?.slice(0, 20)} is none`, () => {
      assert.throws(() => checkWorkflowName(name), { code: "WORKFLOW_INVALID" });
    });
  }
});
