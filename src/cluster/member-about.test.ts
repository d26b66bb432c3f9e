import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { formatAbout, leaversAmong, parseAbout } from "./member-about.ts";

describe("what a member says about itself", () => {
  test("is read as it was written", () => {
    for (const about of [
      { roles: ["server", "worker"], isDraining: false, version: "0.1.0" },
      { roles: ["server"], isDraining: true, version: "" },
    ] as const)
      for (const isLeaving of [false, true]) assert.deepEqual(parseAbout(formatAbout(about, isLeaving)), about);
  });

  test("tells whether it is about to leave", () => {
    const about = { roles: ["server"], isDraining: true, version: "" } as const;
    const members = [
      { id: "a", about: formatAbout(about, true) },
      { id: "b", about: formatAbout(about, false) },
      { id: "c", about: "" },
    ];
    assert.deepEqual(leaversAmong(members), ["a"]);
  });

  test("is nothing where it has said nothing, or what cannot be read", () => {
    for (const text of ["", "null", "7", "[]", "{", '{"roles":"server","isDraining":"no"}', '{"roles":["king"]}'])
      assert.deepEqual(parseAbout(text), { roles: [], isDraining: false, version: "" }, text);
  });
});
