import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { Ears, Meeting } from "./subject.ts";
import type { MakeBus } from "./subject.ts";

export function deliverySuite(name: string, makeBus: MakeBus): void {
  describe(`${name}: delivery`, () => {
    test("a message reaches the address it was sent to, and nobody else", async (t) => {
      const meeting = await Meeting.of(t, makeBus);
      const [a, b, c] = [new Ears(), new Ears(), new Ears()];
      const sender = await meeting.connect("a", a.listener);
      await meeting.connect("b", b.listener);
      await meeting.connect("c", c.listener, "other");
      sender.send(meeting.address("b"), "to b");
      sender.send(meeting.address("c"), "to c");
      await meeting.settle();
      assert.deepEqual([a.heard, b.heard, c.heard], [[], ["to b"], ["to c"]]);
    });

    test("members answer each other", async (t) => {
      const meeting = await Meeting.of(t, makeBus);
      const ears = new Ears();
      const asking = await meeting.connect("a", ears.listener);
      const answering = await meeting.connect("b", (text) => answering.send(meeting.address("a"), `${text}!`), "other");
      for (const text of ["1", "2", "3"]) asking.send(meeting.address("b"), text);
      await meeting.settle();
      assert.deepEqual(ears.heard.toSorted(), ["1!", "2!", "3!"]);
    });

    test("a member may write to itself", async (t) => {
      const meeting = await Meeting.of(t, makeBus);
      const ears = new Ears();
      const connection = await meeting.connect("a", ears.listener);
      connection.send(meeting.address("a"), "to myself");
      await meeting.settle();
      assert.deepEqual(ears.heard, ["to myself"]);
    });

    test("an address where nobody listens is no error", async (t) => {
      const meeting = await Meeting.of(t, makeBus);
      const ears = new Ears();
      const connection = await meeting.connect("a", ears.listener);
      connection.send(meeting.address("nobody"), "hello?");
      connection.send(meeting.address("a"), "still here");
      await meeting.settle();
      assert.deepEqual(ears.heard, ["still here"]);
    });

    test("addresses that begin alike are different ones", async (t) => {
      const meeting = await Meeting.of(t, makeBus);
      const [short, long] = [new Ears(), new Ears()];
      const connection = await meeting.connect("a", short.listener);
      await meeting.connect("aa", long.listener);
      connection.send(meeting.address("a"), "short");
      connection.send(meeting.address("aa"), "long");
      await meeting.settle();
      assert.deepEqual([short.heard, long.heard], [["short"], ["long"]]);
    });

    test("a listener that throws harms nobody", async (t) => {
      const meeting = await Meeting.of(t, makeBus);
      const ears = new Ears();
      let thrown = 0;
      const connection = await meeting.connect("a", () => {
        thrown++;
        throw new Error("no ears");
      });
      await meeting.connect("b", ears.listener);
      for (const to of ["a", "b", "a", "b"]) connection.send(meeting.address(to), to);
      await meeting.settle();
      assert.equal(thrown, 2);
      assert.deepEqual(ears.heard, ["b", "b"]);
    });
  });
}
