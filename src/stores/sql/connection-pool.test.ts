import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { ConnectionPool, type PooledConnection } from "./connection-pool.ts";
import { Deadline, NoAnswer } from "./deadline.ts";

class FakeConnection implements PooledConnection {
  isLost = false;
  isEnded = false;
  #listener: (() => void) | undefined;

  onLost(listener: () => void): void {
    this.#listener = listener;
  }

  lose(): void {
    this.isLost = true;
    this.#listener?.();
  }

  async end(): Promise<void> {
    this.isEnded = true;
  }
}

/** An error that the server answered with. */
class Answer extends Error {}

class Rig {
  readonly made: FakeConnection[] = [];
  failure: Error | undefined;
  readonly pool: ConnectionPool<FakeConnection>;

  constructor(size: number) {
    this.pool = new ConnectionPool({
      size,
      isAnswer: (error) => error instanceof Answer,
      connect: async () => {
        if (this.failure) throw this.failure;
        const connection = new FakeConnection();
        this.made.push(connection);
        return connection;
      },
    });
  }

  /** A call that lasts until it is settled. */
  call(limitMs = 60_000): { settled: Promise<FakeConnection>; end: () => void; fail: (error: Error) => void } {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const settled = this.pool.use(new Deadline(limitMs), async (connection) => {
      await promise;
      return connection;
    });
    return { settled, end: resolve, fail: reject };
  }

  get ended(): boolean[] {
    return this.made.map(({ isEnded }) => isEnded);
  }
}

const tick = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe("a connection pool", () => {
  test("reuses a connection", async () => {
    const rig = new Rig(2);
    for (let round = 0; round < 3; round++) {
      const call = rig.call();
      call.end();
      await call.settled;
    }
    assert.equal(rig.made.length, 1);
  });

  test("P1: makes no more connections than its size", async () => {
    const rig = new Rig(2);
    const calls = Array.from({ length: 5 }, () => rig.call());
    await tick();
    assert.equal(rig.made.length, 2);
    for (const { end } of calls) end();
    await Promise.all(calls.map(({ settled }) => settled));
    assert.equal(rig.made.length, 2);
  });

  test("P2: gives turns in the order of the calls", async () => {
    const { pool } = new Rig(1);
    const begun: number[] = [];
    const begin = async (index: number): Promise<void> => {
      begun.push(index);
      await tick();
    };
    await Promise.all([0, 1, 2, 3].map((index) => pool.use(new Deadline(60_000), () => begin(index))));
    assert.deepEqual(begun, [0, 1, 2, 3]);
  });

  test("P3: ends a connection on which a call failed, and keeps the idle ones after an answer of the server", async () => {
    const rig = new Rig(2);
    const [good, bad] = [rig.call(), rig.call()];
    good.end();
    await good.settled;
    bad.fail(new Answer("no"));
    await assert.rejects(bad.settled, Answer);
    assert.deepEqual(rig.ended, [false, true]);
  });

  test("ends the idle connections too after an error that is no answer", async () => {
    const rig = new Rig(2);
    const [good, bad] = [rig.call(), rig.call()];
    good.end();
    await good.settled;
    bad.fail(new Error("cut off"));
    await assert.rejects(bad.settled, /cut off/);
    assert.deepEqual(rig.ended, [true, true]);
  });

  test("does not reuse a connection that was lost, while idle or in use", async () => {
    const rig = new Rig(1);
    const first = rig.call();
    first.end();
    (await first.settled).lose();
    const second = rig.call();
    await tick();
    rig.made[1]?.lose();
    second.end();
    await second.settled;
    const third = rig.call();
    third.end();
    assert.equal(await third.settled, rig.made[2]);
  });

  test("gives the turn of a call that could not connect to the next", async () => {
    const rig = new Rig(1);
    rig.failure = new Error("refused");
    const first = rig.call();
    const second = rig.call();
    await assert.rejects(first.settled, /refused/);
    rig.failure = undefined;
    second.end();
    await second.settled;
    assert.equal(rig.made.length, 1);
  });

  test("fails a call that waits past its deadline, and goes on", async () => {
    const rig = new Rig(1);
    const first = rig.call();
    await assert.rejects(rig.call(1).settled, NoAnswer);
    const third = rig.call();
    first.end();
    third.end();
    assert.equal(await third.settled, await first.settled);
  });

  test("makes new connections after a renewal, also for calls in use then", async () => {
    const rig = new Rig(2);
    const [idle, busy] = [rig.call(), rig.call()];
    idle.end();
    await idle.settled;
    rig.pool.renew();
    busy.end();
    await busy.settled;
    assert.deepEqual(rig.ended, [true, true]);
    const next = rig.call();
    next.end();
    assert.equal(await next.settled, rig.made[2]);
  });

  test("ends everything when it is closed, and fails calls that wait or come later", async () => {
    const rig = new Rig(1);
    const [busy, waiting] = [rig.call(), rig.call()];
    await tick();
    const failed = assert.rejects(waiting.settled, /the store was closed/);
    await rig.pool.close();
    await failed;
    assert.deepEqual(rig.ended, [true]);
    busy.end();
    await busy.settled;
    await assert.rejects(rig.call().settled, /the store was closed/);
    assert.equal(rig.made.length, 1);
  });
});
