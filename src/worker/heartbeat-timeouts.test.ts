import assert from "node:assert/strict";
import { beforeEach, describe, test } from "node:test";
import { defineJob, type Isolation } from "../authoring/job.ts";
import { silentLogger } from "../base/logger.ts";
import { Abort } from "../dispatch/abort.ts";
import { makeRun, RecordingListener, success } from "../dispatch/dispatcher.rig.ts";
import type { Outcome } from "../kernel/input.ts";
import { TestClock } from "../testing/test-clock.ts";
import { HeartbeatTimeouts } from "./heartbeat-timeouts.ts";
import { JobCall } from "./job-call.ts";

/** A clock whose process may stand still: timers that are due meanwhile fire when it goes on. */
class FrozenClock extends TestClock {
  #frozenMs = 0;

  override monotonic(): number {
    return super.monotonic() + this.#frozenMs;
  }

  stepForward(ms: number): void {
    this.#frozenMs += ms;
  }
}

describe("the heartbeat timeout of a job", () => {
  let clock: FrozenClock;
  let heartbeats: HeartbeatTimeouts;
  let silent: string[];
  let abort: Abort;

  beforeEach(() => {
    clock = new FrozenClock();
    silent = [];
    heartbeats = new HeartbeatTimeouts(clock, (id, { code, message }) => silent.push(`${id} ${code}: ${message}`));
    abort = new Abort();
  });

  function watch(outcome: Outcome | Promise<Outcome>, isolation: Isolation = "inline") {
    const source = { module: import.meta.url, export: "job" };
    const job = defineJob("job", { isolation, source }, () => undefined);
    const run = makeRun(new RecordingListener(), "a", { heartbeatTimeoutMs: 1000, workflowName: "w", taskName: "t" });
    const services = { logger: silentLogger, subTasksMax: 0 };
    const unused = { checkSubTasks: undefined, aroundJob: undefined, loopWatch: undefined };
    const inputs = { context: {}, outputs: {} };
    const call = new JobCall({ job, run, abort, inputs, params: undefined, services: { ...services, ...unused } });
    return heartbeats.watch(call, () => outcome);
  }

  const endless = (): Promise<Outcome> => new Promise(() => undefined);

  test("passes once it has been silent for so long", async () => {
    void watch(endless());
    await clock.advance(999);
    assert.deepEqual(silent, []);
    heartbeats.onHeartbeat("a");
    heartbeats.onHeartbeat("another");
    await clock.advance(999);
    assert.deepEqual(silent, []);
    await clock.advance(5000);
    assert.deepEqual(silent, [
      'a HEARTBEAT_TIMEOUT: task "t" of workflow "w" sent no heartbeat within its heartbeat timeout of 1 s',
    ]);
  });

  test("needs no timer for a job that ends inside its call", () => {
    assert.equal(watch(success), success);
    assert.equal(clock.timerCount, 0);
  });

  test("ends with the job", async () => {
    const { promise, resolve } = Promise.withResolvers<Outcome>();
    const watched = watch(promise);
    await clock.advance(500);
    resolve(success);
    assert.equal(await watched, success);
    await clock.advance(5000);
    assert.deepEqual([silent, clock.timerCount], [[], 0]);
  });

  test("does not pass after an abort", async () => {
    void watch(endless());
    abort.abort(new Error("stop"));
    await clock.advance(5000);
    assert.deepEqual(silent, []);
  });

  test("counts from the first heartbeat of a job that runs outside this event loop", async () => {
    void watch(endless(), "thread");
    await clock.advance(60_000);
    assert.deepEqual(silent, []);
    heartbeats.onHeartbeat("a");
    await clock.advance(999);
    assert.deepEqual(silent, []);
    await clock.advance(1);
    assert.equal(silent.length, 1);
  });

  test("does not count the time for which the process stood still", async () => {
    void watch(endless());
    await clock.advance(900);
    clock.stepForward(600);
    await clock.advance(100);
    assert.deepEqual(silent, [], "the timer was 600 ms late");
    await clock.advance(599);
    assert.deepEqual(silent, []);
    await clock.advance(1);
    assert.equal(silent.length, 1);
  });
});
