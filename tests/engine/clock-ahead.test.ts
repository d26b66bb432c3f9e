/** A clock that was ahead for a while, as that of a machine that boots before it has the time. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { defineWorkflow } from "../../src/index.ts";
import { startEngine } from "./rig.ts";
import { SetClock } from "./set-clock.ts";
import { LogBook } from "../../src/testing/log-book.rig.ts";

const yearMs = 365 * 86_400_000;

test("an instance that had a turn while the clock was ahead is named in the log, and others are not", async (t) => {
  const clock = new SetClock();
  const logger = new LogBook();
  const talk = defineWorkflow("talk", async (ctx) => {
    for (;;) await ctx.waitForEvent("go");
  });
  const engine = await startEngine(t, { clock, logger, workflows: [talk] });
  const warnings = (): unknown[] =>
    logger.lines.filter(({ message }) => message.startsWith("the clock is behind")).map(({ fields }) => fields);
  await clock.until(engine.startWorkflow(talk, undefined, { instanceId: "before" }));
  clock.aheadMs = yearMs;
  await clock.until(engine.startWorkflow(talk, undefined, { instanceId: "during" }));
  clock.aheadMs = 0;
  await clock.until(engine.raiseEvent("before", "go"));
  assert.deepEqual(warnings(), []);
  for (let i = 0; i < 3; i++) await clock.until(engine.raiseEvent("during", "go"));
  const [warning, ...more] = warnings() as { instanceId: string; behindMs: number }[];
  assert.equal(warning?.instanceId, "during");
  assert.ok(warning.behindMs > yearMs - 60_000);
  assert.deepEqual(more, [], "once a minute");
});
