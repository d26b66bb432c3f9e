/**
 * Histories that earlier releases have written are read for ever: the code that lies beside them takes the same steps
 * over them. `UPDATE=1 npm test -- tests/histories/histories.test.ts` writes those of this release anew.
 */
import assert from "node:assert/strict";
import { join } from "node:path";
import { describe, test } from "node:test";
import { pathToFileURL } from "node:url";
import { type CodeWorkflow, defineWorkflow, type Event } from "../../src/index.ts";
import { hasCode } from "../../src/base/error.ts";
import { silentLogger } from "../../src/base/logger.ts";
import { CodeRun } from "../../src/code/code-run.ts";
import { CodeMachine } from "../../src/kernel/code/code-machine.ts";
import type { Step } from "../../src/kernel/code/step.ts";
import { defaultLimits } from "../../src/kernel/machine.ts";
import { hasEnded } from "../../src/kernel/status.ts";
import { identityOfRun, type PastEvent, replay } from "../../src/code/code-replay.ts";
import { failureFrom } from "../../src/worker/failure-from.ts";
import { folder, type HistoryFile, namesOf, readHistory, releases } from "./history-file.ts";
import { record } from "./record.ts";
import { whenDrained } from "../../src/code/code-run.rig.ts";

if (process.env["UPDATE"] === "1") await record();

interface Replayed {
  readonly machine: CodeMachine;
  /** Those that are not on record. */
  readonly steps: readonly Step[];
}

/** The code over the first turns of the history, or over all of them. */
async function replayed(workflow: CodeWorkflow, file: HistoryFile, turns = file.turns.length): Promise<Replayed> {
  const past: PastEvent[] = file.turns
    .slice(0, turns)
    .flatMap(({ turn, at, events }) => events.map((event) => ({ event, turn, at })));
  const machine = new CodeMachine({ id: file.instanceId, key: 1, limits: defaultLimits, timeoutMs: undefined });
  for (const { event, at } of past) machine.apply(event, at);
  const run = new CodeRun({
    ...identityOfRun(file.instanceId, machine.state),
    workflow,
    logger: silentLogger,
    services: {
      whenDrained,
      failureFrom,
      versionOf: (name) => versionOf(file, name),
      hasDomain: () => true,
      within: (call) => call(),
    },
    owner: {
      onStray: (_, error) => {
        throw error;
      },
    },
  });
  const reader = { read: () => Promise.reject(new Error("all values are small here")) };
  const steps = await replay(run, past, machine.state, reader);
  return { machine, steps };
}

/** Of a child that is known by name: the one it had. */
function versionOf({ turns }: HistoryFile, name: string): string | undefined {
  for (const event of turns.flatMap(({ events }) => events)) {
    if (event.type === "TaskAdded" && event.node.workflowName === name) return event.node.workflowVersion;
  }
  return undefined;
}

async function workflowsOf(release: string): Promise<readonly CodeWorkflow[]> {
  const url = pathToFileURL(join(folder, release, "workflows.ts")).href;
  return ((await import(url)) as { workflows: readonly CodeWorkflow[] }).workflows;
}

/** The end is no step on record; what the code says at its end is what stands there. */
function checkEnd(steps: readonly Step[], end: Event): void {
  assert.ok(end.type === "InstanceEnded");
  const [last, ...more] = steps;
  assert.deepEqual(more, []);
  if (end.status === "Success") assert.deepEqual(last, { type: "complete", output: end.output });
  else if (end.status === "Failed") assert.equal(last?.type === "fail" && last.failure.message, end.reason);
  else assert.deepEqual(last, { type: "cancel", reason: end.reason });
}

for (const release of releases()) {
  describe(`histories of ${release}`, async () => {
    const workflows = await workflowsOf(release);
    assert.ok(namesOf(release).length > 10);
    for (const name of namesOf(release)) {
      const file = readHistory(release, name);
      const workflow = workflows.find((each) => each.name === file.workflow);

      test(`${name}: the code does what it did`, async () => {
        assert.ok(workflow !== undefined);
        const { machine, steps } = await replayed(workflow, file);
        assert.equal(machine.status, file.status);
        if (hasEnded(machine.status)) checkEnd(steps, file.turns.at(-1)?.events.at(-1) as Event);
        else assert.deepEqual(steps, []);
      });

      test(`${name}: from every turn on`, async () => {
        assert.ok(workflow !== undefined);
        for (let turns = 1; turns < file.turns.length; turns++) {
          assert.deepEqual((await replayed(workflow, file, turns)).steps, [], `after ${turns} turns`);
        }
      });
    }
  });
}

test("code that does something else is found out", async () => {
  const other = defineWorkflow("activities", (ctx) => ctx.run("note", "another"));
  await assert.rejects(
    replayed(other, readHistory("0.1.0", "activities")),
    (error) =>
      hasCode(error, "WORKFLOW_CHANGED") &&
      error.message.includes(
        'step 0 is on record as activity "note" with "a", but the code now asks for activity "note" with "another"',
      ),
  );
});
