import assert from "node:assert/strict";
import { test } from "node:test";
import { RaisedEvents } from "./raised-events.ts";

const event = (name: string, data?: string): { name: string; data: string | undefined } => ({ name, data });

test("what nobody waits for is kept by name, first come, first served", () => {
  const events = new RaisedEvents();
  assert.deepEqual([events.take("a"), events.untaken()], [undefined, []]);
  for (const each of [event("a", "1"), event("b", "2"), event("a", "3")]) events.raise(each);
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
  for (const data of ["1", "2", "3"]) events.raise(event("a", data));
  assert.deepEqual([seen, events.untaken()], [["one 1", "two 2"], [event("a", "3")]]);
});

test("whoever gives up takes nothing, and takes nothing from others", () => {
  const events = new RaisedEvents();
  const seen: string[] = [];
  const giveUp = events.wait("a", () => void seen.push("one"));
  events.wait("a", () => void seen.push("two"));
  giveUp();
  giveUp();
  events.raise(event("a"));
  assert.deepEqual(seen, ["two"]);
});

test("once nobody waits any more, what comes is kept", () => {
  const events = new RaisedEvents();
  const giveUp = events.wait("a", () => assert.fail());
  events.forgetTakers();
  events.raise(event("a", "1"));
  giveUp();
  assert.deepEqual(events.take("a"), event("a", "1"));
});
