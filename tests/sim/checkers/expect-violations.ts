import assert from "node:assert/strict";
import type { Checker, AsyncChecker } from "./checker.ts";
import type { EvidenceBuilder } from "./evidence-builder.ts";

/** Asserts that the checker finds the planted violations, and no others. */
export function expectViolations(check: Checker, builder: EvidenceBuilder, ...what: readonly RegExp[]): void {
  compare(check(builder.evidence), what);
}

export async function expectAsyncViolations(
  check: AsyncChecker,
  builder: EvidenceBuilder,
  ...what: readonly RegExp[]
): Promise<void> {
  compare(await check(builder.evidence), what);
}

function compare(found: readonly string[], what: readonly RegExp[]): void {
  assert.equal(found.length, what.length, found.join("\n"));
  for (const [place, pattern] of what.entries()) assert.match(found[place] ?? "", pattern);
}
