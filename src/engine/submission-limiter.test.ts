import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { SubmissionLimiter, submissionsMax } from "./submission-limiter.ts";
import { systemClock } from "./system-clock.ts";

async function run<Result>(limiter: SubmissionLimiter, work: () => Promise<Result>): Promise<Result> {
  await limiter.enter();
  try {
    return await work();
  } finally {
    limiter.leave();
  }
}

describe("back-pressure for submissions", () => {
  test("lets in so many at once, the others in order, and turns the event loop in between", async () => {
    const limiter = new SubmissionLimiter(systemClock);
    const total = 5 * submissionsMax;
    let underWay = 0;
    let turns = 0;
    const begun: number[] = [];
    const timer = setInterval(() => turns++, 0);
    const loop = (): void => void setImmediate(() => begun.length < total && (turns++, loop()));
    loop();
    const all = Array.from({ length: total }, (_, number) =>
      run(limiter, async () => {
        begun.push(number);
        assert.ok(++underWay <= submissionsMax);
        await Promise.resolve();
        underWay--;
        return number;
      }),
    );
    assert.deepEqual(await Promise.all(all), [...begun.keys()]);
    clearInterval(timer);
    assert.deepEqual(begun, [...begun.keys()]);
    assert.ok(turns >= 3, `${turns} turns of the loop`);
  });

  test("goes on after one that fails", async () => {
    const limiter = new SubmissionLimiter(systemClock);
    const all = Array.from({ length: 2 * submissionsMax }, (_, number) =>
      run(limiter, () => (number % 2 === 0 ? Promise.reject(new Error("no")) : Promise.resolve(number))),
    );
    const settled = await Promise.allSettled(all);
    assert.equal(settled.filter(({ status }) => status === "fulfilled").length, submissionsMax);
  });
});
