import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { createInstanceRequest, getInstanceResponse, purgeInstancesRequest } from "./client-messages.ts";
import { flag, integer, integers, list, message, optionalTime, text, textMap } from "./message.ts";
import { WireError } from "./wire.ts";

const bytes = (hex: string): Buffer => Buffer.from(hex.replaceAll(" ", ""), "hex");

describe("a message of Protocol Buffers", () => {
  test("is written as the format says", () => {
    const pair = message({ name: text(1), id: integer(2), isNew: flag(3), codes: integers(4) });
    const value = { name: "ab", id: -1, isNew: true, codes: [1, 300] };
    const written = pair.encode(value);
    assert.equal(written.toString("hex"), bytes("0a026162 10ffffffffffffffffff01 1801 220301ac02").toString("hex"));
    assert.deepEqual(pair.decode(written), value);
  });

  test("has its defaults where nothing was sent, and sends none of them", () => {
    const { instanceId, version, tags, reusePolicy } = createInstanceRequest.decode(new Uint8Array());
    assert.deepEqual({ instanceId, version, tags, reusePolicy }, defaults);
    assert.equal(createInstanceRequest.encode({ instanceId: "", tags: new Map() }).length, 0);
  });
  const defaults = { instanceId: "", version: undefined, tags: new Map(), reusePolicy: undefined };

  test("tells an empty text from none in a wrapper, and keeps times, maps and lists", () => {
    const state = { instanceId: "a", status: 7, created: 1_700_000_000_123, output: "", tags: new Map([["k", "v"]]) };
    const read = getInstanceResponse.decode(getInstanceResponse.encode({ exists: true, state }));
    assert.equal(read.exists, true);
    assert.equal(read.state?.output, "");
    assert.equal(read.state.input, undefined);
    assert.equal(read.state.created, 1_700_000_000_123);
    assert.deepEqual(read.state.tags, state.tags);
    const timed = message({ at: optionalTime(1), each: list(2, message({ map: textMap(1) })) });
    const long = { at: -62_135_596_800_000, each: [{ map: new Map([["x", ""]]) }, { map: new Map() }] };
    assert.deepEqual(timed.decode(timed.encode(long)), long);
  });

  test("skips unknown fields, and those whose wire type is another dialect's", () => {
    // Field 4 is a message with ids in one dialect and a flag in the other.
    assert.equal(
      purgeInstancesRequest.decode(bytes("0a0161 2001 5200 5d00000000 6100000000000000 00")).instanceId,
      "a",
    );
    assert.equal(purgeInstancesRequest.decode(bytes("0a0161 2001")).batch, undefined);
    assert.deepEqual(purgeInstancesRequest.decode(bytes("2203 0a0162")).batch, { instanceIds: ["b"] });
  });

  test("reads repeated numbers whether they are packed or not", () => {
    const codes = message({ codes: integers(1) });
    assert.deepEqual(codes.decode(bytes("0801 0803 0a020507")), { codes: [1, 3, 5, 7] });
  });

  test("is refused if it is cut off, nested without end, or not UTF-8", () => {
    for (const hex of ["0a05 61", "0a", "10ff", "0b", "0a02 c328", "10ffffffffffffffffffff01"])
      assert.throws(() => createInstanceRequest.decode(bytes(hex)), WireError, hex);
    let failure = Buffer.alloc(0);
    for (let depth = 0; depth < 100; depth++) failure = Buffer.concat([bytes("22"), lengthOf(failure), failure]);
    const nested = Buffer.concat([bytes("5a"), lengthOf(failure), failure]);
    const state = Buffer.concat([bytes("12"), lengthOf(nested), nested]);
    assert.throws(() => getInstanceResponse.decode(state), /nested more than 64 times/);
  });
});

function lengthOf({ length }: Buffer): Buffer {
  return length < 128 ? Buffer.from([length]) : Buffer.from([(length & 0x7f) | 0x80, length >> 7]);
}
