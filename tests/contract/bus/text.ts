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

export function textSuite(name: string, makeBus: MakeBus): void {
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
