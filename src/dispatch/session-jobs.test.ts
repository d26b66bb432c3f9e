import assert from "node:assert/strict";
import { test } from "node:test";
import { SessionJobs } from "./session-jobs.ts";

test("a worker has its jobs by id, and by a name that only one of them has", () => {
  const jobs = new SessionJobs("acme", ["a@1", "b@1", "b@2", "plain"]);
  assert.deepEqual(jobs.ids, ["@acme/a@1", "@acme/b@1", "@acme/b@2", "@acme/plain"]);
  const asked = ["@acme/a@1", "@acme/a", "@acme/b", "@acme/b@2", "@acme/plain", "a", "@acme/c"];
  assert.deepEqual(
    asked.map((id) => jobs.has(id)),
    [true, true, false, true, true, false, false],
  );
  assert.equal(new SessionJobs("default", ["a@1"]).has("a"), true);
});
