import assert from "node:assert/strict";
import { describe, test } from "node:test";
import * as fc from "fast-check";
import { EngineError, type ErrorCode, errorCodes, hasCode } from "../base/error.ts";
import { carryError, type Envelope, formatEnvelope, parseEnvelope, rebuildError } from "./envelope.ts";

const text = fc.string({ unit: "binary" });
const shard = fc.nat();
const body = fc.jsonValue({ noUnicodeString: false }).map((value): unknown => JSON.parse(JSON.stringify(value)));
const code = fc.constantFrom(...(Object.keys(errorCodes) as ErrorCode[]));

const envelope: fc.Arbitrary<Envelope> = fc.oneof(
  fc.record({ kind: fc.constant("request" as const), id: text, key: text, from: text, shard, body }),
  fc.record({
    kind: fc.constant("answer" as const),
    id: text,
    from: text,
    outcome: fc.oneof(
      fc.record({ value: body }),
      fc.record({ error: fc.record({ message: text, code }, { requiredKeys: ["message"] }) }),
    ),
  }),
  fc.record({ kind: fc.constant("hint" as const), from: text, body }),
);

describe("an envelope", () => {
  test("says the same on the other side", () => {
    fc.assert(fc.property(envelope, (sent) => assert.deepEqual(parseEnvelope(formatEnvelope(sent)), unproto(sent))));
  });

  test("may carry nothing", () => {
    const answer = formatEnvelope({ kind: "answer", id: "1", from: "a", outcome: { value: undefined } });
    assert.deepEqual(parseEnvelope(answer), { kind: "answer", id: "1", from: "a", outcome: { value: undefined } });
    const hint = formatEnvelope({ kind: "hint", from: "a", body: undefined });
    assert.deepEqual(parseEnvelope(hint), { kind: "hint", from: "a", body: undefined });
  });

  test("leaves out what is not its own", () => {
    const parsed = parseEnvelope('{"kind":"hint","from":"a","body":1,"stack":"x"}');
    assert.deepEqual(parsed, { kind: "hint", from: "a", body: 1 });
  });

  test("that cannot be written as JSON is refused", () => {
    const circle: unknown[] = [];
    circle.push(circle);
    for (const body of [circle, 1n]) {
      assert.throws(
        () => formatEnvelope({ kind: "hint", from: "a", body }),
        (error) => hasCode(error, "VALUE_NOT_SERIALIZABLE") && error.message.startsWith("a hint between members"),
      );
    }
  });
});

describe("a text that no member has written", () => {
  const request = { kind: "request", id: "1", key: "k", from: "a", shard: 1, body: null };
  const answer = { kind: "answer", id: "1", from: "a", outcome: { value: 1 } };
  const foreign: Record<string, unknown> = {
    nothing: undefined,
    "no object": [],
    null: null,
    "another kind": { ...request, kind: "reply" },
    "a hint from nobody": { kind: "hint", body: 1 },
    "a request without an id": { ...request, id: undefined },
    "a request without a key": { ...request, key: 1 },
    "a request from nobody": { ...request, from: undefined },
    "a request to half a shard": { ...request, shard: 0.5 },
    "a request to a shard below all others": { ...request, shard: -1 },
    "a request to a text": { ...request, shard: "1" },
    "an answer without an outcome": { ...answer, outcome: undefined },
    "an answer whose error is a text": { ...answer, outcome: { error: "x" } },
    "an answer whose error says nothing": { ...answer, outcome: { error: { code: "SHARD_MOVED" } } },
  };
  for (const [what, value] of Object.entries(foreign)) {
    test(`is refused: ${what}`, () => {
      assert.throws(() => parseEnvelope(JSON.stringify(value) ?? ""), /^Error: not a message between members: "/);
    });
  }

  test("is refused whatever it is", () => {
    fc.assert(fc.property(fc.oneof(text, fc.json()), (text) => assert.throws(() => parseEnvelope(text))));
  });

  test("is shown in part only", () => {
    assert.throws(
      () => parseEnvelope("x".repeat(10_000)),
      (error) => error instanceof Error && error.message.length < 200,
    );
  });
});

describe("an error that travels", () => {
  test("keeps its code and its message, and nothing else", () => {
    const error = new EngineError("QUEUE_FULL", "no room", { cause: new Error("secret") });
    assert.deepEqual(carryError(error), { code: "QUEUE_FULL", message: "no room" });
    const rebuilt = rebuildError(carryError(error));
    assert.ok(hasCode(rebuilt, "QUEUE_FULL") && rebuilt instanceof EngineError);
    assert.equal(rebuilt.message, "no room");
    assert.equal(rebuilt.retryable, true);
    assert.equal(rebuilt.cause, undefined);
  });

  test("that is not Heddle's becomes a plain one", () => {
    const missing = Object.assign(new TypeError("no such file"), { code: "ENOENT" });
    for (const [thrown, message] of [
      [missing, "no such file"],
      ["a text", "a text"],
      [undefined, "undefined"],
    ]) {
      assert.deepEqual(carryError(thrown), { message });
    }
    const rebuilt = rebuildError(carryError(missing));
    assert.equal(Object.getPrototypeOf(rebuilt), Error.prototype);
    assert.equal("code" in rebuilt, false);
  });

  test("with a code that this version does not know becomes a plain one", () => {
    const text = '{"kind":"answer","id":"1","from":"a","outcome":{"error":{"code":"toString","message":"x"}}}';
    assert.deepEqual(parseEnvelope(text), { kind: "answer", id: "1", from: "a", outcome: { error: { message: "x" } } });
  });
});

/** fast-check's records may have no prototype. */
function unproto(envelope: Envelope): unknown {
  return JSON.parse(JSON.stringify(envelope));
}
