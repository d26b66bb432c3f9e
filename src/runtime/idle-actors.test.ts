import assert from "node:assert/strict";
import { test } from "node:test";
import { IdleActors } from "./idle-actors.ts";
import type { InstanceActor } from "./instance-actor.ts";
import { InstanceEntry } from "./instance-entry.ts";

interface Standing {
  isIdle: boolean;
  isBusy: boolean;
  isQueued: boolean;
  hasEnded: boolean;
}

/** An entry whose actor is idle, unless the test says otherwise. */
function entryOf(id: string, standing: Partial<Standing> = {}): InstanceEntry {
  const entry = new InstanceEntry({ id, key: 1, workflow: "w", version: "1", status: "Running", at: 0 });
  const actor = { isIdle: true, isBusy: false, isQueued: false, hasEnded: false, ...standing };
  entry.actor = actor as unknown as InstanceActor;
  return entry;
}

const present = (entries: readonly InstanceEntry[]): string =>
  entries.flatMap(({ id, actor }) => (actor === undefined ? [] : id)).join("");

test("above the maximum, the one that moved longest ago leaves", () => {
  const idle = new IdleActors(2);
  const entries = ["a", "b", "c", "d"].map((id) => entryOf(id));
  for (const entry of entries.slice(0, 2)) idle.touch(entry);
  assert.equal(present(entries), "abcd");
  idle.touch(entries[0] as InstanceEntry);
  idle.touch(entries[2] as InstanceEntry);
  assert.equal(present(entries), "acd", "a has moved since");
  idle.touch(entries[3] as InstanceEntry);
  assert.equal(present(entries), "cd");
});

test("what has something under way, or has ended, is not counted", () => {
  const idle = new IdleActors(1);
  const entries = [entryOf("a", { isIdle: false }), entryOf("b", { hasEnded: true }), entryOf("c")];
  for (const entry of entries) idle.touch(entry);
  assert.equal(present(entries), "abc");
});

test("one that has something to do again is passed over, and counts when it moves", () => {
  for (const busy of [{ isIdle: false }, { isBusy: true }, { isQueued: true }]) {
    const idle = new IdleActors(1);
    const [first, second, third] = ["a", "b", "c"].map((id) => entryOf(id)) as [
      InstanceEntry,
      InstanceEntry,
      InstanceEntry,
    ];
    idle.touch(first);
    Object.assign(first.actor as object, busy);
    idle.touch(second);
    assert.equal(present([first, second]), "a", "the other leaves in its place");
    Object.assign(first.actor as object, { isIdle: true, isBusy: false, isQueued: false });
    idle.touch(first);
    idle.touch(third);
    assert.equal(present([first, third]), "c");
  }
});

test("one that has left by itself is forgotten", () => {
  const idle = new IdleActors(1);
  const [first, second] = [entryOf("a"), entryOf("b")];
  idle.touch(first);
  first.actor = undefined;
  idle.touch(first);
  idle.touch(second);
  assert.equal(present([second]), "b");
});
