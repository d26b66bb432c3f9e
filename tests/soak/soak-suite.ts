import assert from "node:assert/strict";
import { randomInt } from "node:crypto";
import { test } from "node:test";
import type { ServerKind } from "../databases/databases.ts";
import { soak } from "./soak.ts";

/** On each kind of server; `npm run soak` goes on for longer. */
const minutes = 2.5;

/** `HEDDLE_SEED=123` makes the same work and draws the same faults; where they hit is the machine's random. */
const seed = Number(process.env["HEDDLE_SEED"] ?? randomInt(2 ** 31));

export function soakSuite(kind: ServerKind): void {
  test(
    `${kind}: members in processes of their own survive what befalls them and their server`,
    { timeout: 600_000 },
    async (t) => {
      const say = (line: string): void => t.diagnostic(line);
      const { violations } = await soak({ kind, minutes, memberCount: 3, seed, say });
      assert.deepEqual(violations, [], `seed ${seed}`);
    },
  );
}
