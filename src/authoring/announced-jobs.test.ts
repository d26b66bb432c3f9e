import assert from "node:assert/strict";
import { test } from "node:test";
import type { AnnouncedJob } from "./announced-job.ts";
import { AnnouncedJobs } from "./announced-jobs.ts";
import { JobRegistry } from "./job-registry.ts";
import { defineJob } from "./job.ts";

function job(id: string, announcedAt: number, schema: unknown = {}): AnnouncedJob {
  const [name = "", signature = ""] = id.split("@");
  return { id, name, signature, parameters: JSON.stringify(schema), codePath: null, sourceHash: "", announcedAt };
}

test("a name alone means the signature that was announced last, among those that fit", () => {
  const jobs = new AnnouncedJobs();
  jobs.add(job("resize@text", 10, { type: "string" }));
  jobs.add(job("resize@count", 20, { type: "number" }));
  jobs.add(job("plain@1", 5, "(file)"));
  assert.equal(jobs.find("resize", 7)?.id, "resize@count");
  assert.equal(jobs.find("resize", "file")?.id, "resize@text");
  assert.equal(jobs.find("resize", true)?.id, "resize@count");
  assert.equal(jobs.find("resize@text", 7)?.id, "resize@text");
  assert.equal(jobs.find("plain", { anything: 1 })?.id, "plain@1");
  assert.equal(jobs.find("nothing", 1), undefined);
  assert.deepEqual(
    [jobs.isLatest("resize@count"), jobs.isLatest("resize@text"), jobs.isLatest("x@1")],
    [true, false, false],
  );
  jobs.add(job("resize@text", 30, { type: ["string", "boolean"] }));
  assert.equal(jobs.find("resize", true)?.id, "resize@text");
  jobs.add(job("resize@text", 25, { type: "null" }));
  assert.equal(jobs.get("resize@text")?.announcedAt, 30);
  assert.deepEqual(jobs.names, ["resize", "plain"]);
  assert.deepEqual(jobs.all.map(({ id }) => id).toSorted(), ["plain@1", "resize@count", "resize@text"]);
});

test("jobs with a function come first; what nobody announced is missing", () => {
  const registry = new JobRegistry();
  const id = registry.register(defineJob("here", () => 1));
  registry.announced.add(job("here@other", 10));
  registry.announced.add(job("there@1", 10));
  assert.equal(registry.resolve({ jobName: "here" }).id, id);
  assert.equal(registry.resolve({ jobName: "here@other" }).id, "here@other");
  assert.equal(registry.resolve({ jobName: "there" }).id, "there@1");
  assert.equal(registry.referenceTo(registry.resolve({ jobName: "there" })), "there");
  assert.equal(registry.referenceTo(registry.resolve({ jobName: "here@other" })), "here@other");
  assert.equal(registry.find("there"), undefined);
  assert.deepEqual(registry.names, ["here", "there"]);
  assert.throws(() => registry.resolve({ jobName: "ther" }), { code: "JOB_MISSING", message: /did you mean "there"/ });
});
