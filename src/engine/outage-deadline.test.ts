import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { hasCode, messageOf } from "../base/error.ts";
import { TestClock } from "../testing/test-clock.ts";
import { OutageDeadline, outageAnswerMs } from "./outage-deadline.ts";

describe("a caller whose write is under way while the store takes none", () => {
  test("is told after a while that nobody knows whether it is accepted", async () => {
    const clock = new TestClock();
    const outage = new OutageDeadline(clock);
    let error = undefined as unknown;
    const answer = outage.bound("StartInstance", "a", new Promise<never>(() => undefined));
    answer.catch((given: unknown) => (error = given));
    await clock.advance(10 * outageAnswerMs);
    assert.equal(error, undefined, "while the store takes writes it waits");
    outage.onHealth(new Error("disk full"));
    await clock.advance(outageAnswerMs - 1);
    assert.equal(error, undefined);
    await clock.advance(1);
    assert.ok(hasCode(error, "CALL_UNANSWERED"));
    assert.match(messageOf(error), /whether "StartInstance" of instance "a" is accepted is not known yet.*disk full/);
    outage.stop();
    assert.equal(clock.timerCount, 0);
  });

  test("gets its answer if the store is back in time", async () => {
    const clock = new TestClock();
    const outage = new OutageDeadline(clock);
    const { promise, resolve } = Promise.withResolvers<number>();
    const answer = outage.bound("StartInstance", "a", promise);
    outage.onHealth(new Error("disk full"));
    await clock.advance(outageAnswerMs / 2);
    outage.onHealth(undefined);
    await clock.advance(outageAnswerMs);
    resolve(1);
    assert.equal(await answer, 1);
    assert.equal(clock.timerCount, 0);
  });

  test("is the only reason for a timer, which would keep the process alive", async () => {
    const clock = new TestClock();
    const outage = new OutageDeadline(clock);
    outage.onHealth(new Error("disk full"));
    assert.equal(clock.timerCount, 0, "nobody waits");
    const answer = assert.rejects(outage.bound("StartInstance", "a", new Promise<never>(() => undefined)));
    assert.equal(clock.timerCount, 1);
    await clock.advance(outageAnswerMs);
    await answer;
    assert.equal(clock.timerCount, 0, "everybody was answered");
    outage.stop();
    outage.onHealth(new Error("the store is closed"));
    void outage.bound("StartInstance", "a", new Promise<never>(() => undefined));
    assert.equal(clock.timerCount, 0, "the engine has stopped");
  });
});
