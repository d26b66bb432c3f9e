import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { Ears, Meeting } from "./subject.ts";
import type { MakeBus } from "./subject.ts";

export function closingSuite(name: string, makeBus: MakeBus): void {
  describe(`${name}: closing`, () => {
    test("a closed listener hears nothing more, not even what was on its way", async (t) => {
      const meeting = await Meeting.of(t, makeBus);
      const [closed, open] = [new Ears(), new Ears()];
      const sender = await meeting.connect("a", open.listener);
      const connection = await meeting.connect("b", closed.listener);
      sender.send(meeting.address("b"), "before");
      await meeting.settle();
      sender.send(meeting.address("b"), "on its way");
      const closing = connection.close();
      sender.send(meeting.address("b"), "after");
      sender.send(meeting.address("a"), "to another");
      await closing;
      await meeting.settle();
      assert.deepEqual(closed.heard, ["before"]);
      assert.equal(connection.isConnected, false);
      assert.equal(connection.send(meeting.address("a"), "from the closed one"), false);
      assert.deepEqual(open.heard, ["to another"]);
    });

    test("closing twice is closing", async (t) => {
      const meeting = await Meeting.of(t, makeBus);
      const ears = new Ears();
      const connection = await meeting.connect("a", ears.listener);
      await connection.close();
      await connection.close();
      const again = await meeting.connect("a", ears.listener);
      await connection.close();
      again.send(meeting.address("a"), "again");
      await meeting.settle();
      assert.deepEqual(ears.heard, ["again"]);
    });
  });
}
