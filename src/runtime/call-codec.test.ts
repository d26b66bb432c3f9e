import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { CallType } from "./call.ts";
import { decodeCall, decodeHint, decodeResult, isUserWrite } from "./call-codec.ts";
import { callTable } from "./call-table.ts";

const callTypes = Object.keys(callTable) as CallType[];

describe("the body of a request", () => {
  test("is a call if its type is in the table", () => {
    const body: unknown = JSON.parse('{"type":"PauseInstance","id":"x"}');
    assert.deepEqual(decodeCall(body), { type: "PauseInstance", id: "x" });
  });

  test("of a type that this member does not know is refused with a plain error", () => {
    for (const body of [{ type: "Dance", id: "x" }, { type: "toString" }, { type: 7 }, {}, "PauseInstance", null]) {
      assert.throws(() => decodeCall(body), /^Error: not a call that this member knows/);
      assert.equal(isUserWrite(body), false);
    }
  });
});

test("a result that JSON turned into null is undefined again", () => {
  assert.equal(decodeResult("AwaitEnd", null), undefined);
  assert.equal(decodeResult("PurgeInstances", 0), 0);
  assert.deepEqual(decodeResult("RenewAttempts", ["a"]), ["a"]);
});

test("a hint of a type that this member does not know is ignored", () => {
  assert.deepEqual(decodeHint({ type: "ShardFreed", shard: 3 }), { type: "ShardFreed", shard: 3 });
  assert.equal(decodeHint({ type: "Rumour" }), undefined);
  assert.equal(decodeHint(undefined), undefined);
});

describe("a call that changes something for a user", () => {
  test("is none that reads, and none that members make for themselves", () => {
    const others = callTypes.filter((type) => !isUserWrite({ type }));
    assert.deepEqual(others.toSorted(), [
      "AddItems",
      "AwaitEnd",
      "AwaitUpdate",
      "GetBreakpoint",
      "GetEnd",
      "GetIdentity",
      "GetItems",
      "GetStatus",
      "GetTask",
      "QueryCode",
      "RenewAttempts",
      "ReportAttempt",
      "ReportSlots",
    ]);
  });

  test("records its key, unless a repetition does no harm", () => {
    const writes = callTypes.filter((type) => isUserWrite({ type }));
    const harmless = writes.filter((type) => callTable[type].repetition === "harmless");
    assert.deepEqual(harmless, ["PurgeInstances"]);
  });

  test("never waits for something that the instance may not do", () => {
    for (const type of callTypes) {
      const { effect, waitsFor } = callTable[type];
      assert.ok(effect === "read" || waitsFor !== "instance", type);
    }
  });
});
