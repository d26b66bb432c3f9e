import assert from "node:assert/strict";
import { test } from "node:test";
import { WorkerAnnouncement } from "./worker-announcement.ts";

test("a worker has its jobs by id, and by a name that only one of them has", () => {
  const announced = new WorkerAnnouncement("acme", { jobs: ["a@1", "b@1", "b@2", "plain"], slots: 3 });
  assert.deepEqual(announced.jobs, ["@acme/a@1", "@acme/b@1", "@acme/b@2", "@acme/plain"]);
  const asked = ["@acme/a@1", "@acme/a", "@acme/b", "@acme/b@2", "@acme/plain", "a", "@acme/c"];
  assert.deepEqual(
    asked.map((id) => announced.hasJob(id)),
    [true, true, false, true, true, false, false],
  );
  assert.equal(new WorkerAnnouncement("default", { jobs: ["a@1"], slots: 1 }).hasJob("a"), true);
});
