import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { formatAbout, parseAbout } from "./member-about.ts";

describe("what a member says about itself", () => {
  test("is read as it was written", () => {
    for (const about of [
      { roles: ["server", "worker"], isDraining: false },
      { roles: ["server"], isDraining: true },
    ] as const)
      assert.deepEqual(parseAbout(formatAbout(about)), about);
  });

  test("is nothing where it has said nothing, or what cannot be read", () => {
    for (const text of ["", "null", "7", "[]", "{", '{"roles":"server","isDraining":"no"}', '{"roles":["king"]}'])
      assert.deepEqual(parseAbout(text), { roles: [], isDraining: false }, text);
  });
});
