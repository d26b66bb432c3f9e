import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { test } from "node:test";
import { expectViolations } from "./expect-violations.ts";
import { alarming, checkHealth } from "./health.ts";
import { goodRun } from "./evidence-builder.ts";

test("an engine that quarantines an instance; one that only tries again is well", () => {
  const { builder } = goodRun();
  const line = { ...builder.moment(), life: 1, level: "error", fields: { reason: "it broke" } } as const;
  builder.lists.logLines.push({ ...line, message: "an instance was quarantined after an internal error" });
  builder.lists.logLines.push({ ...line, message: "the store does not take writes; no new work is taken" });
  expectViolations(checkHealth, builder, /internal error.*it broke/);
});

test("code that needs attention, and that of a process that does not have it yet", () => {
  for (const [lacksCode, attention, ...what] of [
    [true, "the code of it is not registered in this process"],
    [false, "the code of it is not registered in this process", /a needs attention: the code of it is not registered/],
    [true, "the code does not do what it did before", /a needs attention: the code does not do/],
  ] as const) {
    const { builder, life } = goodRun({ lacksCode });
    builder.answer(builder.ask(life, "status"), { value: { ...builder.view(1), attention } });
    expectViolations(checkHealth, builder, ...what);
  }
});

test("every message that the checker looks for is logged somewhere in the source", () => {
  const root = new URL("../../../src/", import.meta.url);
  const files = readdirSync(root, { recursive: true, encoding: "utf8" }).filter((file) => file.endsWith(".ts"));
  const sources = files.map((file) => readFileSync(new URL(file, root), "utf8"));
  for (const pattern of alarming)
    assert.ok(
      sources.some((source) => pattern.test(source)),
      String(pattern),
    );
});
