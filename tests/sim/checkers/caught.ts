import assert from "node:assert/strict";
import type { Checker, PatientChecker } from "./checker.ts";
import type { Scene } from "./scene.ts";

/** The checker sees what was planted, and nothing that is not like it. */
export function caught(check: Checker, scene: Scene, ...what: readonly RegExp[]): void {
  compare(check(scene.evidence), what);
}

export async function caughtInTime(check: PatientChecker, scene: Scene, ...what: readonly RegExp[]): Promise<void> {
  compare(await check(scene.evidence), what);
}

function compare(found: readonly string[], what: readonly RegExp[]): void {
  assert.equal(found.length, what.length, found.join("\n"));
  for (const [place, pattern] of what.entries()) assert.match(found[place] ?? "", pattern);
}
