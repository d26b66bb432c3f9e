import { deepEqual, ok } from "node:assert/strict";
import { randomInt } from "node:crypto";
import { test } from "node:test";
import { runChaos } from "./chaos.ts";
import { checkers } from "./checkers.ts";
import { gatherEvidence } from "./evidence.ts";
import type { Evidence } from "./evidence.ts";
import { checkOutputs } from "./outputs.ts";
import { planted } from "./planted.ts";
import { workload } from "./workload.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const killsWanted = 32;
const instances = 300;

/** `HEDDLE_SEED=123` makes the same workload and draws the same moments to kill at; the machine adds its own chance. */
const seed = Number(process.env["HEDDLE_SEED"] ?? randomInt(2 ** 31));

test(`${instances} mixed instances survive ${killsWanted} kills at random moments`, { timeout: 240_000 }, async (t) => {
  t.diagnostic(`seed ${seed}`);
  const folder = temporaryFolder(t);
  const scenarios = workload(seed, instances);
  const chaos = await runChaos({
    folder,
    seed,
    instances,
    submitEveryMs: 40,
    isKillWanted: (life) => life <= killsWanted,
  });
  const evidence = await gatherEvidence(chaos);

  t.diagnostic(summary(evidence));
  const atStartUp = chaos.kills.filter((kill) => kill.atStartUp).length;
  t.diagnostic(`${chaos.kills.length} kills, ${atStartUp} of them while the process was starting`);
  ok(chaos.kills.length >= 30, "there were enough kills");
  ok(atStartUp > 0 && atStartUp < chaos.kills.length, "kills hit the start and the work");

  for (const [name, check] of Object.entries(checkers)) {
    await t.test(name, () => deepEqual(check(evidence, scenarios), [], `seed ${seed}`));
  }
  await t.test("a new engine knows every output", async () => {
    deepEqual(await checkOutputs(chaos, scenarios), [], `seed ${seed}`);
    deepEqual(
      (await gatherEvidence(chaos)).log.filter(({ life }) => life === 0),
      [],
      "looking starts nothing",
    );
  });
  await t.test("the engine had no error to report in any life", () => {
    const errors = chaos.stderr.split("\n").filter((line) => line !== "" && !line.includes("ExperimentalWarning"));
    deepEqual(errors, [], `seed ${seed}`);
  });
  await t.test("what is planted is caught", () => {
    for (const { name, check, doctored } of planted(evidence)) ok(check(doctored, scenarios).length > 0, name);
  });
});

/** How much there was to get wrong. */
function summary({ log, instances }: Evidence): string {
  const starts = log.filter(({ what }) => what === "start");
  const again = starts.length - new Set(starts.map(({ id }) => id)).size;
  let interruptions = 0;
  for (const { turns } of instances.values()) {
    for (const { events } of turns) interruptions += events.filter(({ type }) => type === "TaskInterrupted").length;
  }
  return `${instances.size} instances, ${starts.length} starts, ${again} of them again after a kill, ${interruptions} interruptions counted`;
}
