import assert from "node:assert/strict";
import { test } from "node:test";
import { SimRandom } from "./sim-random.ts";
import { drawSchedules } from "./schedule-workload.ts";

test("the simulator draws schedules whose times are whole, so that an engine does not refuse them for that", () => {
  let ending = 0;
  for (let seed = 1; seed <= 300; seed++) {
    for (const { spec, acts } of drawSchedules(new SimRandom(seed), { spanMs: 60_000 })) {
      const specs = [spec, ...acts.flatMap((act) => (act.what === "change" ? [act.spec] : []))];
      for (const { startAt = 0, endAt = 0, jitterMs = 0 } of specs) {
        assert.deepEqual([startAt, endAt, jitterMs].map(Number.isSafeInteger), [true, true, true], `seed ${seed}`);
        if (endAt > 0) ending++;
      }
    }
  }
  assert.ok(ending > 10, `${ending} schedules have an end`);
});
