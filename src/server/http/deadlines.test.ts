import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { HandClock } from "../../dispatch/dispatcher.rig.ts";
import { Deadlines } from "./deadlines.ts";

const never = new Promise<never>(() => undefined);

describe("deadlines", () => {
  test("bound queries and changes, each with its own error", async () => {
    const clock = new HandClock();
    const deadlines = new Deadlines(clock);
    const late = [deadlines.query(never), deadlines.change(never, 30_000)].map((each) =>
      each.catch((error: unknown) => error),
    );
    assert.equal(await deadlines.query(Promise.resolve(7)), 7);
    await clock.advance(30_000);
    const codes = (await Promise.all(late)).map((error) => (error as { code: string }).code);
    assert.deepEqual(codes, ["QUERY_TIMEOUT", "DEADLINE_EXCEEDED"]);
    assert.equal(clock.timerCount, 0);
  });

  test("hold no timer once they are stopped", () => {
    const clock = new HandClock();
    const deadlines = new Deadlines(clock);
    void deadlines.change(never, 30_000);
    assert.equal(clock.timerCount, 1);
    deadlines.stop();
    assert.equal(clock.timerCount, 0);
  });
});
