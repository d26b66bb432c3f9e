import { test } from "node:test";
import { caught } from "./caught.ts";
import { checkHealth } from "./health.ts";
import { goodRun } from "./scene.ts";

test("an engine that quarantines an instance; one that only tries again is well", () => {
  const { scene } = goodRun();
  const line = { ...scene.moment(), life: 1, level: "error", fields: { reason: "it broke" } } as const;
  scene.lists.logLines.push({ ...line, message: "an instance was quarantined after an internal error" });
  scene.lists.logLines.push({ ...line, message: "the store does not take writes; no new work is taken" });
  caught(checkHealth, scene, /internal error.*it broke/);
});

test("code that needs attention, and that of a process that does not have it yet", () => {
  for (const [lacksCode, attention, ...what] of [
    [true, "the code of it is not registered in this process"],
    [false, "the code of it is not registered in this process", /a needs attention: the code of it is not registered/],
    [true, "the code does not do what it did before", /a needs attention: the code does not do/],
  ] as const) {
    const { scene, life } = goodRun({ lacksCode });
    scene.answer(scene.ask(life, "status"), { value: { ...scene.view(1), attention } });
    caught(checkHealth, scene, ...what);
  }
});
