import assert from "node:assert/strict";
import { test } from "node:test";
import { RaisedEvents } from "./raised-events.ts";

const event = (name: string, data?: string): { name: string; data: string | undefined; at: number } => ({
  name,
  data,
  at: 1000,
});

test("what nobody waits for is kept by name, first come, first served", () => {
  const events = new RaisedEvents();
  assert.deepEqual([events.take("a"), events.untaken()], [undefined, []]);
  for (const each of [event("a", "1"), event("b", "2"), event("a", "3")]) events.raise(each, 1000);
  assert.deepEqual(events.untaken(), [event("a", "1"), event("a", "3"), event("b", "2")]);
  assert.deepEqual(
    [events.take("a"), events.take("a"), events.take("a")],
    [event("a", "1"), event("a", "3"), undefined],
  );
  assert.deepEqual(events.untaken(), [event("b", "2")]);
});

test("whoever waits longest is served first, and once", () => {
  const events = new RaisedEvents();
  const seen: string[] = [];
  events.wait("a", ({ data }) => void seen.push(`one ${data}`));
  events.wait("a", ({ data }) => void seen.push(`two ${data}`));
  for (const data of ["1", "2", "3"]) events.raise(event("a", data), 1000);
  assert.deepEqual([seen, events.untaken()], [["one 1", "two 2"], [event("a", "3")]]);
});

test("whoever gives up takes nothing, and takes nothing from others", () => {
  const events = new RaisedEvents();
  const seen: string[] = [];
  const giveUp = events.wait("a", () => void seen.push("one"));
  events.wait("a", () => void seen.push("two"));
  giveUp();
  giveUp();
  events.raise(event("a"), 1000);
  assert.deepEqual(seen, ["two"]);
});

test("once nobody waits any more, what comes is kept", () => {
  const events = new RaisedEvents();
  const giveUp = events.wait("a", () => assert.fail());
  events.forgetTakers();
  events.raise(event("a", "1"), 1000);
  giveUp();
  assert.deepEqual(events.take("a"), event("a", "1"));
});

test("what nobody has taken is counted by name, since the oldest of them", () => {
  const events = new RaisedEvents();
  events.raise(event("a"), 1000);
  events.raise(event("b"), 2000);
  events.raise(event("a"), 3000);
  const first = events.take("a");
  events.take("b");
  assert.deepEqual(events.countUntaken(), [{ name: "a", count: 1, since: 3000 }]);
  if (first !== undefined) events.putBack(first);
  assert.deepEqual(events.countUntaken(), [{ name: "a", count: 2, since: 1000 }]);
});
