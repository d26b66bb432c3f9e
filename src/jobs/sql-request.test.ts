import assert from "node:assert/strict";
import { test } from "node:test";
import { loadDriver } from "./sql-request.ts";

test("a driver that is not installed is named, with what to do", async () => {
  const missing = Object.assign(new Error("Cannot find package 'pg' imported from x"), {
    code: "ERR_MODULE_NOT_FOUND",
  });
  await assert.rejects(
    loadDriver("pg", () => Promise.reject(missing)),
    { name: "SqlFailed", message: /needs the package pg, which is not installed here; run npm install pg/ },
  );
  await assert.rejects(
    loadDriver("pg", () => Promise.reject(new RangeError("broken"))),
    RangeError,
  );
  assert.equal(await loadDriver("pg", () => Promise.resolve("driver")), "driver");
});
