import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { loadPlace } from "./load-place.ts";

function thrown(stack: string): Error {
  return Object.assign(new Error("no luck"), { stack });
}

describe("the place of a problem", () => {
  test("is a line of the user's own module", () => {
    const stack = "Error: no luck\n    at run (file:///app/jobs.ts:12:5)\n    at node:internal/modules/esm/loader:77:1";
    assert.equal(loadPlace(thrown(stack)), "/app/jobs.ts:12");
    assert.equal(loadPlace(thrown("/app/broken.ts:3\nexport const = 1;\n\nSyntaxError: no")), "/app/broken.ts:3");
  });

  test("is never inside Node or a package", () => {
    for (const frame of [
      "at packageResolve (node:internal/modules/esm/resolve:272:11)",
      "at node:internal/modules/package_json_reader:331:9",
      "at process.processTicksAndRejections (node:internal/process/task_queues:104:5)",
      "at file:///app/node_modules/pg/lib/index.js:3:1",
    ]) {
      assert.equal(loadPlace(thrown(`Error: no luck\n    ${frame}`)), undefined);
    }
  });
});
