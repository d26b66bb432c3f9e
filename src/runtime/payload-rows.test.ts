import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { Input } from "./input.ts";
import { payloadInlineBytesMax } from "../kernel/payload.ts";
import { PayloadRows } from "./payload-rows.ts";

/** JSON text of so many bytes. */
function text(bytes: number): string {
  return JSON.stringify("x".repeat(bytes - 2));
}

const small = text(payloadInlineBytesMax);
const large = text(payloadInlineBytesMax + 1);

function completed(outcome: Extract<Input, { type: "AttemptEnded" }>["outcome"]): Input {
  return { type: "AttemptEnded", task: 0, attempt: 1, generation: 1, outcome };
}

describe("large values of a message", () => {
  test("become rows, and references in their place", () => {
    const payloads = new PayloadRows(7, 3);
    const input = payloads.extract(
      completed({ kind: "success", output: large, patch: { a: large, b: small, c: null } }),
    );
    const bytes = payloadInlineBytesMax + 1;
    const ref = 3 * 2 ** 16;
    assert.deepEqual(
      input,
      completed({
        kind: "success",
        output: { ref, bytes },
        patch: { a: { ref: ref + 1, bytes }, b: small, c: null },
      }),
    );
    assert.deepEqual(payloads.rows, [
      { instance: 7, ref, body: large },
      { instance: 7, ref: ref + 1, body: large },
    ]);
  });

  test("are counted in bytes, not in characters", () => {
    const payloads = new PayloadRows(1, 0);
    const euros = JSON.stringify("€".repeat(1400));
    payloads.extract({ type: "SucceedTask", task: 0, output: euros });
    assert.equal(payloads.rows.length, 1);
    payloads.extract({ type: "SucceedTask", task: 0, output: JSON.stringify("€".repeat(1300)) });
    assert.equal(payloads.rows.length, 1);
  });

  test("are found wherever users put them", () => {
    const inputs: Input[] = [
      {
        type: "StartInstance",
        workflow: "w",
        version: "1",
        generation: 1,
        context: { a: large },
        trigger: "api",
        admission: "run",
      },
      { type: "UpdateContext", patch: { a: large } },
      { type: "SucceedTask", task: 0, output: large },
      { type: "ChildEnded", task: 0, attempt: 1, generation: 1, status: "Success", output: large },
      { type: "ChildEnded", task: 0, attempt: 1, generation: 1, status: "Success", patch: { a: large } },
    ];
    for (const input of inputs) {
      const payloads = new PayloadRows(1, 0);
      const extracted = payloads.extract(input);
      assert.equal(payloads.rows.length, 1, input.type);
      assert.ok(!JSON.stringify(extracted).includes("xxx"), input.type);
    }
  });

  test("a message without any comes back as it is", () => {
    const inputs: Input[] = [
      completed({ kind: "success" }),
      completed({ kind: "success", output: "1" }),
      completed({ kind: "lost" }),
      { type: "SucceedTask", task: 0 },
      { type: "PauseInstance" },
      { type: "TimerDue" },
    ];
    for (const input of inputs) {
      const payloads = new PayloadRows(1, 0);
      assert.deepEqual(payloads.extract(input), input, input.type);
      assert.deepEqual(payloads.rows, []);
    }
  });
});
