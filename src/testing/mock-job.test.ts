import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { z } from "zod";
import { defineJob, type JobContext } from "../authoring/job.ts";
import { mockJob } from "./mock-job.ts";

const ctx = {} as JobContext;

describe("a mocked job", () => {
  const input = z.object({ amount: z.coerce.number() });
  const charge = defineJob(
    "charge",
    { input, jobId: 7, isolation: "thread", source: { module: "file:///charge.ts", export: "charge" } },
    ({ amount }) => ({ receipt: `real ${amount}` }),
  );

  test("keeps name, number and schema, does what it is told, on the event loop, and says what it was called with", () => {
    const mock = mockJob(charge, ({ amount }) => ({ receipt: `mock ${amount}` }));
    const { name, jobId, isolation, source } = mock;
    assert.deepEqual(
      { name, jobId, isolation, source },
      { name: "charge", jobId: 7, isolation: "inline", source: undefined },
    );
    assert.equal(mock.input, input);
    assert.deepEqual(mock.fn({ amount: 1 }, ctx), { receipt: "mock 1" });
    assert.deepEqual(mock.fn({ amount: 2 }, ctx), { receipt: "mock 2" });
    assert.deepEqual(mock.calls, [{ amount: 1 }, { amount: 2 }]);
    assert.equal(charge.isolation, "thread");
  });

  test("fails as often as it is told to, and those calls count", async () => {
    const mock = mockJob(charge, async () => ({ receipt: "at last" }), { failures: 2 });
    assert.throws(() => mock.fn({ amount: 1 }, ctx), { message: 'mocked failure 1 of 2 of job "charge"' });
    assert.throws(() => mock.fn({ amount: 1 }, ctx), { message: 'mocked failure 2 of 2 of job "charge"' });
    assert.deepEqual(await mock.fn({ amount: 1 }, ctx), { receipt: "at last" });
    assert.equal(mock.calls.length, 3);
  });

  test("takes and gives what the job does", () => {
    // @ts-expect-error: the job gives a receipt
    mockJob(charge, () => "something else");
    // @ts-expect-error: there is no such parameter
    mockJob(charge, ({ sum }) => ({ receipt: String(sum) }));
    const [first] = mockJob(charge, () => ({ receipt: "" })).calls;
    const amount: number | undefined = first?.amount;
    assert.equal(amount, undefined);
  });
});
