import assert from "node:assert/strict";
import { test } from "node:test";
import { ServerList } from "./server-list.ts";

function taken(random: number, urls: readonly string[]): string[] {
  const servers = new ServerList(urls, { next: () => random });
  return Array.from({ length: 4 }, () => servers.take());
}

test("a worker goes from one server to the next, and begins at any of them", () => {
  assert.deepEqual(taken(0, ["a", "b", "c"]), ["a", "b", "c", "a"]);
  assert.deepEqual(taken(0.99, ["a", "b", "c"]), ["c", "a", "b", "c"]);
  assert.deepEqual(taken(0.5, ["a"]), ["a", "a", "a", "a"]);
});
