import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { uuid } from "./uuid.ts";

const now = Date.UTC(2026, 0, 5);

describe("a UUID", () => {
  test("is of version 7 and begins with the time", () => {
    const id = uuid(now);
    assert.match(id, /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    assert.equal(Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16), now);
  });

  test("is made once", () => {
    assert.equal(new Set(Array.from({ length: 5000 }, () => uuid(now))).size, 5000);
  });
});
