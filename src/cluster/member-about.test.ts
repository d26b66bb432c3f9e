import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { formatAbout, leaversAmong, parseAbout, poolsAmong, serversAmong } from "./member-about.ts";

const pool = { slots: 10, free: 4 };

describe("what a member says about itself", () => {
  test("is read as it was written", () => {
    for (const about of [
      { roles: ["server", "worker"], isDraining: false, version: "0.1.0" },
      { roles: ["server"], isDraining: true, version: "" },
    ] as const)
      for (const isLeaving of [false, true])
        assert.deepEqual(parseAbout(formatAbout(about, { isLeaving, pool })), about);
  });

  test("tells whether it is about to leave", () => {
    const about = { roles: ["server"], isDraining: true, version: "" } as const;
    const members = [
      { id: "a", about: formatAbout(about, { isLeaving: true, pool }) },
      { id: "b", about: formatAbout(about, { isLeaving: false, pool }) },
      { id: "c", about: "" },
    ];
    assert.deepEqual(leaversAmong(members), ["a"]);
  });

  test("publishes its pool, from which others take slots unless it is draining or leaving", () => {
    const about = { roles: ["worker"], isDraining: false, version: "" } as const;
    const members = [
      { id: "a", about: formatAbout(about, { isLeaving: false, pool }) },
      { id: "b", about: formatAbout({ ...about, isDraining: true }, { isLeaving: false, pool }) },
      { id: "c", about: formatAbout(about, { isLeaving: true, pool }) },
      { id: "d", about: formatAbout(about, { isLeaving: false, pool: { slots: 0, free: 0 } }) },
      { id: "e", about: '{"pool":{"slots":"many"}}' },
      { id: "f", about: "" },
    ];
    assert.deepEqual(poolsAmong(members), [{ member: "a", slots: 10, free: 4 }]);
  });

  test("11.1 says by its roles whether shards are placed on it", () => {
    const about = { isDraining: false, version: "" } as const;
    const facts = { isLeaving: false, pool };
    const members = [
      { id: "a", about: formatAbout({ ...about, roles: ["worker"] }, facts) },
      { id: "b", about: formatAbout({ ...about, roles: ["server"] }, facts) },
      { id: "c", about: formatAbout({ ...about, roles: ["server", "worker"] }, facts) },
      { id: "d", about: "" },
    ];
    assert.deepEqual(serversAmong(members), ["b", "c"]);
    assert.deepEqual(serversAmong(members.filter(({ id }) => "ad".includes(id))), ["d"]);
    assert.deepEqual(serversAmong(members.slice(0, 1)), []);
  });

  test("is nothing where it has said nothing, or what cannot be read", () => {
    for (const text of ["", "null", "7", "[]", "{", '{"roles":"server","isDraining":"no"}', '{"roles":["king"]}'])
      assert.deepEqual(parseAbout(text), { roles: [], isDraining: false, version: "" }, text);
  });
});
