import assert from "node:assert/strict";
import { test } from "node:test";
import { isJobWorkflowName, jobWorkflowName, scheduleWorkflowName } from "./event.ts";

test("a workflow that runs one job by itself is known by its name", () => {
  assert.equal(jobWorkflowName("extract"), "job:extract");
  assert.ok(isJobWorkflowName(jobWorkflowName("")));
  for (const name of ["job", "extract", "my job:extract", scheduleWorkflowName]) assert.ok(!isJobWorkflowName(name));
});
