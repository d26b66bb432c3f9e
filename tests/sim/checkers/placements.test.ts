import { test } from "node:test";
import { EvidenceBuilder } from "./evidence-builder.ts";
import { expectViolations } from "./expect-violations.ts";
import { checkPlacements } from "./placements.ts";

test("an attempt that ran on a worker without the tag that its task requires", () => {
  for (const { tag, role, isWrong } of [
    { tag: {}, role: "member", isWrong: false },
    { tag: { tag: "worker" }, role: "worker", isWrong: false },
    { tag: { tag: "worker" }, role: "member", isWrong: true },
    { tag: { tag: "member" }, role: "worker", isWrong: true },
  ] as const) {
    const builder = new EvidenceBuilder();
    builder.run(builder.life("p1", role), "a::1::0::1", tag);
    if (isWrong) expectViolations(checkPlacements, builder, /requires a worker with the tag/);
    else expectViolations(checkPlacements, builder);
  }
});
