import { test } from "node:test";
import { caught } from "./caught.ts";
import { checkHealth } from "./health.ts";
import { goodRun } from "./scene.ts";

test("an engine that parks an instance; one that only tries again is well", () => {
  const { scene } = goodRun();
  const line = { ...scene.moment(), life: 1, level: "error", fields: { reason: "it broke" } } as const;
  scene.lists.logLines.push({ ...line, message: "an instance was parked after an internal error" });
  scene.lists.logLines.push({ ...line, message: "the store does not take writes; no new work is taken" });
  caught(checkHealth, scene, /internal error.*it broke/);
});
