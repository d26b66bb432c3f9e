import assert from "node:assert/strict";
import { randomInt } from "node:crypto";
import { test } from "node:test";
import { judge } from "./checkers.ts";
import { planted } from "./planted.ts";
import { soak } from "./soak.ts";

/** For each kind of server: `npm run soak` goes on for longer. */
const minutes = 2.5;

/** `HEDDLE_SEED=123` makes the same work and draws the same faults; where they hit is the machine's chance. */
const seed = Number(process.env["HEDDLE_SEED"] ?? randomInt(2 ** 31));

for (const kind of ["postgres", "mysql"] as const) {
  test(`${kind}: members in processes of their own survive what befalls them and their server`, async (t) => {
    const say = (line: string): void => t.diagnostic(line);
    const { violations, testimony } = await soak({ kind, minutes, memberCount: 3, seed, say });
    assert.deepEqual(violations, [], `seed ${seed}`);
    await t.test("what is planted is caught", () => {
      for (const { name, checker, doctored } of planted(testimony)) {
        assert.ok(judge(doctored, [checker]).length > 0, `${checker} sees ${name}`);
      }
    });
  });
}
