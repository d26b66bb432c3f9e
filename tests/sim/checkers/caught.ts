import assert from "node:assert/strict";
import type { Checker } from "./checker.ts";
import type { Scene } from "./scene.ts";

/** The checker sees what was planted, and nothing that is not like it. */
export function caught(check: Checker, scene: Scene, ...what: readonly RegExp[]): void {
  const found = check(scene.evidence);
  assert.equal(found.length, what.length, found.join("\n"));
  for (const [place, pattern] of what.entries()) assert.match(found[place] ?? "", pattern);
}
