import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { describeJob } from "../../src/authoring/job-metadata.ts";
import { loadApp } from "../../src/server/config/app-modules.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

test("6.1 a job of a module has its code path, by itself or in a list, and is there once", async (t) => {
  const folder = temporaryFolder(t);
  const file = join(folder, "app.ts");
  const door = join(import.meta.dirname, "../../src/index.ts");
  writeFileSync(
    file,
    `import { defineJob } from "${door}";
     export const pay = defineJob("pay", () => 1);
     export const all = [pay, defineJob("ship", () => 2)];`,
  );
  const { jobs } = await loadApp([file]);
  assert.deepEqual(Object.fromEntries(jobs.map((job) => [job.name, describeJob(job).codePath])), {
    pay: "app.ts#pay",
    ship: "app.ts#all",
  });
});

test("9.4 a schedule that a module exports is found beside its workflow, or alone", async (t) => {
  const folder = temporaryFolder(t);
  const file = join(folder, "schedules.ts");
  const door = join(import.meta.dirname, "../../src/index.ts");
  writeFileSync(
    file,
    `import { defineSchedule } from "${door}";
     export const nightly = defineSchedule("nightly", { workflow: "load", every: { cron: "@daily" } });
     export default [nightly, defineSchedule("hourly", { workflow: "load", every: { cron: "@hourly" } })];`,
  );
  const { schedules = [] } = await loadApp([file]);
  assert.deepEqual(
    schedules.map(({ scheduleId }) => scheduleId),
    ["nightly", "hourly"],
  );
});
