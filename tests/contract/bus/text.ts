import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { busTextLengthMax } from "../../../src/cluster/bus.ts";
import { Ears, Meeting } from "./subject.ts";
import type { MakeBus } from "./subject.ts";

/** Well-formed Unicode of any kind: members write JSON, which escapes what is not. */
const texts: [what: string, text: string][] = [
  ["nothing", ""],
  ["a zero character", "a\u0000b\u0000"],
  ["emoji and Chinese", "业务域 😀 👩‍👩‍👧"],
  ["a byte order mark", "\ufeffa"],
  ["the ends of Unicode", "\uffff\u{10ffff}"],
  ["line ends and quotes", "\r\n\t'\"\\`;--"],
  ["both forms of one letter", "é e\u0301"],
  ["the longest there may be", "x".repeat(busTextLengthMax)],
  ["the longest there may be, in wide letters", "域".repeat(busTextLengthMax)],
];

/** Addresses that no member has: whoever writes to a member says where the answer goes. */
const addresses: [what: string, address: string][] = [
  ["none", ""],
  ["a long one", "x".repeat(5000)],
  ["one that is long when it is escaped", "域".repeat(500)],
  ["wildcards", "*.>"],
  ["line ends", "a\r\nPUB x 0\r\n"],
];

export function textSuite(name: string, makeBus: MakeBus): void {
  describe(`${name}: a message to an odd address does not harm the connection`, () => {
    for (const [what, address] of addresses) {
      test(what, async (t) => {
        const meeting = await Meeting.of(t, makeBus);
        const ears = new Ears();
        const connection = await meeting.connect("a", ears.listener);
        connection.send(address, "lost");
        await meeting.settle();
        connection.send(meeting.address("a"), "heard");
        await meeting.settle();
        assert.deepEqual(ears.heard, ["heard"]);
        assert.equal(connection.isConnected, true);
      });
    }
  });

  describe(`${name}: text arrives as it was`, () => {
    for (const [what, text] of texts) {
      test(what, async (t) => {
        const meeting = await Meeting.of(t, makeBus);
        const ears = new Ears();
        const connection = await meeting.connect("a", ears.listener);
        connection.send(meeting.address("a"), text);
        await meeting.settle();
        assert.equal(ears.heard.length, 1);
        assert.ok(ears.heard[0] === text);
      });
    }
  });
}
