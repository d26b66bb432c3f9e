import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { fresh } from "./subject.ts";
import type { MakeStore } from "./subject.ts";
import { jobRow } from "./rows.ts";

export function jobsSuite(name: string, makeStore: MakeStore): void {
  describe(`${name}: jobs`, () => {
    test("they are saved, replaced and deleted by id", async (t) => {
      const store = await fresh(t, makeStore);
      await store.saveJobs([jobRow({ id: "b" }), jobRow({ id: "a" })]);
      const replaced = jobRow({ id: "b", codePath: null, missing: true, sourceHash: "def", updatedAt: 5 });
      await store.saveJobs([replaced, jobRow({ id: "c" })]);
      assert.deepEqual(await store.loadJobs(), [jobRow({ id: "a" }), replaced, jobRow({ id: "c" })]);
      await store.deleteJobs(["a", "c", "unknown"]);
      assert.deepEqual(await store.loadJobs(), [replaced]);
    });

    test("none is no trouble", async (t) => {
      const store = await fresh(t, makeStore);
      await store.saveJobs([]);
      await store.deleteJobs([]);
      assert.deepEqual(await store.loadJobs(), []);
    });
  });
}
