import assert from "node:assert/strict";
import { test } from "node:test";
import { Context } from "./context.ts";
import { payloadBytes, payloadBytesMax } from "./payload.ts";
import { refuseLargeContext, refuseLargeOutput } from "./size-limits.ts";

test("a payload's size is that of its text in UTF-8, or what its reference says", () => {
  assert.equal(payloadBytes(`"ä😀"`), 2 + 2 + 4);
  assert.equal(payloadBytes({ ref: 1, bytes: 12 }), 12);
});

test("an output of 10,485,760 bytes passes, one more is refused", () => {
  assert.equal(payloadBytesMax, 10_485_760);
  refuseLargeOutput({ ref: 1, bytes: payloadBytesMax }, "it");
  assert.throws(() => refuseLargeOutput({ ref: 1, bytes: payloadBytesMax + 1 }, "the output"), {
    code: "OUTPUT_TOO_LARGE",
    message: "the output takes 10485761 bytes; at most 10485760 are allowed",
  });
});

test("a context of 10,485,760 bytes passes, one more is refused", () => {
  const around = `{"a":}`.length;
  refuseLargeContext(Context.of({ a: { ref: 1, bytes: payloadBytesMax - around } }), "it");
  const large = Context.of({ a: { ref: 1, bytes: payloadBytesMax - around + 1 } });
  assert.throws(() => refuseLargeContext(large, "the context"), {
    code: "CONTEXT_TOO_LARGE",
    message: "the context takes 10485761 bytes; at most 10485760 are allowed",
  });
});
