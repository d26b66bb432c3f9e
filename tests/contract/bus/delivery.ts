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

    test("a message is taken, whoever it is for, and a connection says that it is there", async (t) => {
      const meeting = await Meeting.of(t, makeBus);
      const connection = await meeting.connect("a", () => undefined);
      assert.equal(connection.isConnected, true);
      assert.equal(connection.send(meeting.address("a"), "to myself"), true);
      assert.equal(connection.send(meeting.address("nobody"), "to nobody"), true);
    });

    test("two clusters do not hear each other, whatever their addresses", async (t) => {
      const meeting = await Meeting.of(t, makeBus);
      const [a, b, foreignA, foreignB] = [new Ears(), new Ears(), new Ears(), new Ears()];
      const own = await meeting.connect("a", a.listener);
      await meeting.connect("b", b.listener, "other");
      const foreign = await meeting.connect("a", foreignA.listener, "foreign");
      await meeting.connect("b", foreignB.listener, "foreign");
      own.send(meeting.address("b"), "from here");
      foreign.send(meeting.address("b"), "from there");
      foreign.send(meeting.address("a"), "to itself");
      await meeting.settle();
      assert.deepEqual([a.heard, b.heard], [[], ["from here"]]);
      assert.deepEqual([foreignA.heard, foreignB.heard], [["to itself"], ["from there"]]);
    });

    test("of two connections at one address, at least one hears", async (t) => {
      const meeting = await Meeting.of(t, makeBus);
      const [first, second] = [new Ears(), new Ears()];
      const connection = await meeting.connect("a", first.listener);
      await meeting.connect("a", second.listener);
      connection.send(meeting.address("a"), "to both or one");
      await meeting.settle();
      assert.ok(first.heard.length + second.heard.length >= 1);
    });

    test("addresses may have any characters", async (t) => {
      const meeting = await Meeting.of(t, makeBus);
      const names = [
        "a.b",
        "*",
        ">",
        "host.example.org:1234:01J9",
        "with space",
        "äß域😀",
        "%2E",
        "x".repeat(200),
        "a/b?c=d#e",
      ];
      const heard: string[] = [];
      for (const name of names) await meeting.connect(name, (text) => void heard.push(`${name} hears ${text}`));
      const sender = await meeting.connect("sender", () => undefined, "other");
      for (const name of names) sender.send(meeting.address(name), name);
      await meeting.settle();
      assert.deepEqual(heard.toSorted(), names.map((name) => `${name} hears ${name}`).toSorted());
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
